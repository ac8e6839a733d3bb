//! Our own program as the MCP server of an agent: it connects its standard streams to the socket of a call.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::{fs, thread};

use super::{KEY_FILE, SOCKET};

/// The hidden first argument that makes our program a relay.
pub const ARGUMENT: &str = "__verdict";

/// Relays the standard streams until the call is over, and returns the exit code. The only argument is the directory
/// of the call.
pub fn relay(arguments: &[OsString]) -> u8 {
    let [directory] = arguments else { return 2 };
    match connect(Path::new(directory)).and_then(|stream| exchange(&stream)) {
        Ok(()) => 0,
        Err(error) => {
            // Standard error may have no reader; the exit code says it too.
            let _ = io::stderr().write_all(format!("saihai: the turn is over: {error}\n").as_bytes());
            1
        }
    }
}

/// Connects to the call and shows its key.
fn connect(directory: &Path) -> io::Result<UnixStream> {
    let key = fs::read_to_string(directory.join(KEY_FILE))?;
    let mut stream = UnixStream::connect(directory.join(SOCKET))?;
    stream.write_all(format!("{key}\n").as_bytes())?;
    Ok(stream)
}

fn exchange(stream: &UnixStream) -> io::Result<()> {
    let mut to_call = stream.try_clone()?;
    // This thread ends with the process: a read from standard input cannot be interrupted.
    thread::spawn(move || {
        let _ = pass(&mut io::stdin().lock(), &mut to_call);
        let _ = to_call.shutdown(Shutdown::Write);
    });
    let mut from_call = stream;
    pass(&mut from_call, &mut io::stdout().lock())
}

/// Copies everything at once as it arrives.
fn pass(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(&buffer[..count])?;
        to.flush()?;
    }
}
