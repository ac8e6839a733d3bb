"""Writes the corpora of this directory: what Python's `re` and `fnmatch` answer, and which agents a selection takes.

Run it with Python 3.13, whose rules the patterns of review agents follow: `python3.13 generate.py`. The numbers are drawn
from a fixed seed, so the same version writes the same files. Each line after the first is one JSON array.
"""

import fnmatch
import json
import random
import re
import sys
import warnings

assert sys.version_info[:2] == (3, 13), "the expected values are those of Python 3.13"
warnings.simplefilter("ignore")

TEXTS = [
    "", "a", "b", "ab", "ba", "aab", "abab", "A", "aB", "a b", "a\n", "a\nb", "\n", "b\na\n", "a-b", "a1", "12", "_a",
    "a.b", "{a}", "[a]", "a|b", "x{2}", "é", "漢字", "ſ", "İ", "½", "\x1c", "a\rb", "#a", "(a)", "^a$", "a\\b", "aaa", "a=1",
]
# The word boundary of Saihai does not count these as letters; the manual says so.
OTHER_WORDS = set("½")

LEAVES = [
    "a", "b", "A", "1", "x", "-", "_", "=", ".", "^", "$", r"\b", r"\B", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\Z",
    r"\A", r"\n", r"\.", r"\\", r"\x61", r"\u0061", r"\141", r"\0", "é", "漢", " ", "#", "{", "}", "]", "{a}", "a{,2}",
    "x{2}", "[ab]", "[^ab]", "[a-c]", "[]a]", "[^]a]", "[a-]", r"[\w-]", r"[\d\s]", "[[a]", "[a&&b]", "[a||b]", "[A-Z_]",
    "[é-漢]", r"[\b]", r"[\x41-\x5a]", "[{}]", "[.^$]",
]
REPEATS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,1}", "{1,}", "{0}", "*+", "++", "?+", "{1,2}?", "{1,2}+"]
FLAGS = ["i", "m", "s", "x", "a", "im", "is", "u"]
NOISE = list("ab1(){}[]?*+^$|.\\,:=!<>PiLmsxu#-&~\n ") + [r"\1", r"\2", "(?", "(?P<n>", "(?P=n)", "(?(1)", r"\N{DIGIT ONE}"]


def expression(draw, depth):
    kind = draw.random()
    if depth == 0 or kind < 0.30:
        return draw.choice(LEAVES)
    inner = lambda: expression(draw, depth - 1)
    if kind < 0.52:
        return "".join(inner() for _ in range(draw.randint(2, 3)))
    if kind < 0.66:
        return "(?:" + inner() + ")" + draw.choice(REPEATS)
    if kind < 0.74:
        return draw.choice(LEAVES[:28]) + draw.choice(REPEATS)
    if kind < 0.82:
        return "(" + inner() + "|" + inner() + ")"
    if kind < 0.86:
        return draw.choice(["(?=", "(?!"]) + inner() + ")" + inner()
    if kind < 0.89:
        return draw.choice(["(?<=", "(?<!"]) + draw.choice(LEAVES) + ")" + inner()
    if kind < 0.92:
        return "(" + inner() + ")" + inner() + r"\1"
    if kind < 0.94:
        return "(?P<n>" + inner() + ")(?P=n)"
    if kind < 0.96:
        # A group that has matched an empty text counts differently; the manual says so.
        return "([ab1]" + inner() + ")?(?(1)" + inner() + "|" + inner() + ")"
    if kind < 0.98:
        return "(?>" + inner() + ")" + inner()
    return "(?" + draw.choice(["i", "m", "s", "i-s", "-i", "a"]) + ":" + inner() + ")"


def patterns(draw, count):
    seen = {}
    while len(seen) < count:
        kind = draw.random()
        if kind < 0.12:
            pattern = "".join(draw.choice(NOISE) for _ in range(draw.randint(1, 9)))
        else:
            pattern = expression(draw, draw.randint(0, 3))
            if kind < 0.22:
                pattern = "(?" + draw.choice(FLAGS) + ")" + pattern
            elif kind < 0.30 and pattern:
                at = draw.randrange(len(pattern))
                pattern = pattern[:at] + draw.choice(NOISE) + pattern[at + draw.randint(0, 1):]
        if len(pattern) <= 60:
            seen[pattern] = None
    return list(seen)


def place(compiled, pattern, text):
    """One character: `-` for no match, `?` where the answer is known to differ, else the place of the match."""
    if re.search(r"\\[bB]", pattern) and OTHER_WORDS & set(text):
        return "?"
    found = compiled.search(text)
    return "-" if found is None else chr(ord("0") + found.start())


def write(name, head, rows):
    with open(name, "w", encoding="utf-8", newline="\n") as file:
        for row in [head, *rows]:
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def write_expressions(draw):
    rows = []
    for pattern in patterns(draw, 4000):
        try:
            compiled = re.compile(pattern)
        except (re.error, OverflowError, RecursionError):
            rows.append([pattern, "!"])
            continue
        rows.append([pattern, "".join(place(compiled, pattern, text) for text in TEXTS)])
    write("expressions.jsonl", TEXTS, rows)


NAMES = [
    "a", "b", "ab", "a.py", "b.rs", ".a", ".env", "A.PY", "a.b.c", "a b", "a-b", "^", "^a", "!", "[", "]", "[a]", "a]",
    "{a,b}", "**", "é", "漢字.md", "a\n", "a.py\n", "-", "z", "0", "a&b", "a|b", "~", "\\", "a\\b", "test_a.py", "Makefile",
    "package.json", "",
]
NAME_LEAVES = [
    "a", "b", ".", "-", "*", "*", "?", "?", "[ab]", "[!ab]", "[^a]", "[a-z]", "[!a-z]", "[z-a]", "[!z-a]", "[]a]", "[!]a]",
    "[a-]", "[-a]", "[a-c-e]", "[", "]", "{a,b}", "**", "[[:alpha:]]", "[a&&b]", "[a||b]", "[~~a]", "\\", "^", "!", "é", "漢",
    ".py", "*.py", "*.PY", "test_*", "[*]", "[?]", "[", "\n", "[A-Z]", "[0-9]",
]


def write_names(draw):
    seen = {}
    while len(seen) < 1700:
        seen["".join(draw.choice(NAME_LEAVES) for _ in range(draw.randint(0, 4)))] = None
    rows = [[one, "".join("1" if fnmatch.fnmatchcase(name, one) else "0" for name in NAMES)] for one in seen]
    write("names.jsonl", NAMES, rows)


PATHS = ["a.py", "src/b.rs", "src/deep/c.py", "web/d.ts", "README.md", ".env", "Makefile", "tests/test_a.py", "x"]
LINES = ["try:", "except E:", "fn main() {", "# TODO", "let x = 1;", "eval(x)", "", "SELECT a FROM b", "é 漢字", "  pass"]
FILE_PATTERNS = ["*.py", "*.rs", "test_*", "*", "[Mm]akefile", "*.md", ".env*", "?", "src/*.py", "*.{ts,js}"]
CONTENTS = ["try", r"(?m)^except\b", "TODO|FIXME", r"\beval\(", r"fn \w+\(", "(?i)select", "^let", r"x$", "", "漢", r"\s{2}pass"]
PHASES = {"early": 0, "main": 1, "final": 2}


def applies(agent, files):
    """The rule of the first design: always, or a file pattern on any basename, or a content pattern in any text."""
    _, _, always, names, contents = agent
    if always:
        return True
    if any(fnmatch.fnmatchcase(path.rsplit("/", 1)[-1], one) for path, _ in files for one in names):
        return True
    return any(re.search(one, text) for _, text in files for one in contents)


def write_selections(draw):
    rows = []
    for _ in range(900):
        agents = []
        for name in draw.sample(["a", "a-1", "a1", "b", "b2", "z", "zz", "0", "m-n"], draw.randint(1, 5)):
            some = lambda words: draw.sample(words, draw.choice([0, 0, 1, 1, 2]))
            agents.append([name, draw.choice(list(PHASES)), draw.random() < 0.15, some(FILE_PATTERNS), some(CONTENTS)])
        files = [
            [path, "".join(line + "\n" for line in draw.sample(LINES, draw.randint(1, 3)))]
            for path in draw.sample(PATHS, draw.randint(1, 3))
        ]
        selected = [agent for agent in agents if applies(agent, files)]
        selected.sort(key=lambda agent: (PHASES[agent[1]], agent[0]))
        rows.append([agents, files, [agent[0] for agent in selected]])
    write("selections.jsonl", ["agents: name, phase, always, file patterns, content patterns", "files", "selected"], rows)


write_expressions(random.Random(1))
write_names(random.Random(2))
write_selections(random.Random(3))
