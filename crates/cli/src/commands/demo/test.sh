#!/bin/sh
# Says one line for each check; exits with 1 if one of them fails.
failed=0
check() {
    if [ "$2" = "$3" ]; then
        echo "ok: $1"
    else
        echo "FAILED: $1: expected '$2', got '$3'"
        failed=1
    fi
}

check "a name" "Hello, Ada!" "$(sh greet.sh Ada)"
check "no name" "Hello, world!" "$(sh greet.sh)"
exit $failed
