//! `git_diff`, `git_log`, `git_show` and `git_blame`: the history of files.
//!
//! An agent that writes project files can also write `.git/config`. So these tools use the hardened git,
//! which runs no other program. They only read commits, and no text from a model becomes an option.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{LONGEST_PAGE, ModelTool, ToolContext, ToolInput, cut};

pub(super) static DIFF: ModelTool = ModelTool {
    name: "git_diff",
    description: "Shows what differs between two revisions, as a unified diff.",
    schema: || {
        object(
            &json!({
                "from": { "type": "string", "description": "a revision: a branch, a tag, a commit, `HEAD~2`" },
                "to": { "type": "string", "description": "the other one; HEAD if absent" },
                "paths": { "type": "array", "items": { "type": "string" }, "description": "only these files and directories" },
                "context": { "type": "integer", "minimum": 0, "maximum": 50, "description": "lines around each change; 3 if absent" },
            }),
            &["from"],
        )
    },
    run: |reach, input| {
        let (from, to) = (revision(input.required("from")?)?, revision(input.text("to")?.unwrap_or("HEAD"))?);
        let context = format!("--unified={}", input.number_of("context", 0..=50)?.unwrap_or(3));
        GitComparison { command: "diff", how: &[&context], of: &[from, to] }
            .told(reach, &paths(reach, input)?)
    },
};

pub(super) static LOG: ModelTool = ModelTool {
    name: "git_log",
    description: "Lists commits, newest first: hash, day, author and subject.",
    schema: || {
        object(
            &json!({
                "rev": { "type": "string", "description": "where to begin; HEAD if absent" },
                "paths": { "type": "array", "items": { "type": "string" }, "description": "only commits that touch these" },
                "max": { "type": "integer", "minimum": 1, "maximum": 100, "description": "how many; 20 if absent" },
            }),
            &[],
        )
    },
    run: |reach, input| {
        let rev = revision(input.text("rev")?.unwrap_or("HEAD"))?;
        let max = format!("--max-count={}", input.number("max", 100)?.unwrap_or(20));
        let mut arguments = words(&["log", "--no-color", "--no-ext-diff", "--no-textconv", "--no-patch"]);
        arguments.extend(words(&["--format=%H %as %an: %s", &max, "--end-of-options", rev, "--"]));
        arguments.extend(paths(reach, input)?);
        run_git(reach, &arguments)
    },
};

pub(super) static SHOW: ModelTool = ModelTool {
    name: "git_show",
    description: "Shows a commit with its changes, or a file as it was in a revision.",
    schema: || {
        object(
            &json!({
                "rev": { "type": "string", "description": "a revision" },
                "path": { "type": "string", "description": "the file; the commit itself if absent" },
            }),
            &["rev"],
        )
    },
    run: |reach, input| {
        let rev = revision(input.required("rev")?)?;
        let Some(path) = input.text("path")? else {
            let commit = format!("{rev}^{{commit}}");
            let how = ["--format=%H %as %an: %B"];
            return GitComparison { command: "show", how: &how, of: &[&commit] }.told(reach, &[]);
        };
        let file = format!("{rev}:{}", reach.allowed(path)?);
        let mut arguments = words(&["show", "--no-color", "--no-ext-diff", "--no-textconv"]);
        arguments.extend(words(&["--end-of-options", &file, "--"]));
        run_git(reach, &arguments)
    },
};

pub(super) static BLAME: ModelTool = ModelTool {
    name: "git_blame",
    description: "Shows for each line of a file in which commit it was last changed, when and by whom.",
    schema: || {
        let line = json!({ "type": "integer", "minimum": 1 });
        object(
            &json!({
                "path": { "type": "string", "description": "the file" },
                "rev": { "type": "string", "description": "as it was in this revision; HEAD if absent" },
                "start_line": line,
                "end_line": line,
            }),
            &["path"],
        )
    },
    run: |reach, input| {
        let path = reach.allowed(input.required("path")?)?;
        let rev = revision(input.text("rev")?.unwrap_or("HEAD"))?;
        let start = input.number("start_line", MOST_LINES)?.unwrap_or(1);
        let end = input.number("end_line", MOST_LINES)?;
        let range = end.map_or_else(|| format!("{start},"), |end| format!("{start},{end}"));
        let mut arguments = words(&["blame", "--no-textconv", "--date=short", "-L", &range]);
        // `blame` has no `--end-of-options`, but a revision never looks like an option.
        arguments.extend(words(&[rev, "--", &path]));
        run_git(reach, &arguments)
    },
};

const MOST_LINES: u64 = 100_000_000;

/// Returns the named paths, if a model may see all of them.
fn paths(reach: &ToolContext, input: &ToolInput<'_>) -> Result<Vec<String>, String> {
    input.texts("paths")?.into_iter().map(|path| reach.allowed(path)).collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

struct GitComparison<'a> {
    command: &'a str,
    /// Flags for the output only.
    how: &'a [&'a str],
    of: &'a [&'a str],
}

/// Flags that override the configuration of every diff. Git never runs in a submodule, which has its own.
const DIFF_FLAGS: [&str; 5] =
    ["--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--relative"];

impl GitComparison<'_> {
    /// Returns the diff of the files below these paths. It first lists the changed files: an ignored file may
    /// have been committed once, and a visible directory may contain a hidden file.
    fn told(&self, reach: &ToolContext, paths: &[String]) -> Result<String, String> {
        let named = self.named(reach, paths)?;
        let hidden = match named.hidden {
            0 => String::new(),
            1 => "[1 file is left out: it is ignored by git or belongs to it]\n".to_owned(),
            several => format!("[{several} files are left out: they are ignored by git or belong to it]\n"),
        };
        let mut arguments = self.arguments(self.how);
        match named.seen.as_slice() {
            [] if self.command == "diff" && !hidden.is_empty() => return Ok(hidden),
            // Without a path git would show all files.
            [] => arguments.insert(1, "--no-patch".into()),
            seen => arguments.extend(seen.iter().cloned()),
        }
        let cut = if named.is_cut { "[cut; ask for less]\n" } else { "" };
        Ok(run_git_by_content(reach, &arguments)? + &hidden + cut)
    }

    /// Lists the changed files. A renamed file has both names, because either may name a secret.
    fn named(&self, reach: &ToolContext, paths: &[String]) -> Result<ComparedFiles, String> {
        let mut arguments = self.arguments(&["--name-only", "-z", "--no-renames"]);
        if self.command == "show" {
            arguments.insert(1, "--format=".into());
        }
        arguments.extend(paths.iter().map(OsString::from));
        let said = git_output(reach, &arguments)?;
        // The last name may be incomplete.
        let whole = if said.len() > LONGEST_PAGE {
            said.rsplitn(2, |byte| *byte == 0).nth(1)
        } else {
            Some(&said[..])
        };
        let mut named = ComparedFiles { is_cut: said.len() > LONGEST_PAGE, ..ComparedFiles::default() };
        let mut length = 0;
        let names: Vec<&[u8]> =
            whole.unwrap_or_default().split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect();
        let shown = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let hidden = reach.hidden(names.iter().map(|name| shown(name)).collect())?;
        for name in names {
            if hidden.contains(&shown(name)) {
                named.hidden += 1;
            } else if length <= ROOM {
                length += name.len();
                named.seen.push(OsStr::from_bytes(name).to_owned());
            }
        }
        Ok(named)
    }

    fn arguments(&self, how: &[&str]) -> Vec<OsString> {
        let options = ["--end-of-options"];
        let words = [&[self.command], &DIFF_FLAGS[..], how, &options, self.of, &["--"]].concat();
        words.into_iter().map(OsString::from).collect()
    }
}

/// Maximum length of all names. A header contains its name twice, so more would be cut anyway.
const ROOM: usize = LONGEST_PAGE / 2;

#[derive(Default)]
struct ComparedFiles {
    /// Files that a model may see, from the working directory.
    seen: Vec<OsString>,
    /// Number of files that it may not see.
    hidden: usize,
    is_cut: bool,
}

/// Interval between checks for a stopped tool.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// Runs git in the working directory and cuts its output to the limit.
fn run_git(reach: &ToolContext, arguments: &[String]) -> Result<String, String> {
    let said = git_output(reach, arguments)?;
    Ok(shown(&said, said.len() > LONGEST_PAGE))
}

/// Runs git without attributes. They are project files and could hide other files from a diff.
fn run_git_by_content(reach: &ToolContext, arguments: &[impl AsRef<OsStr>]) -> Result<String, String> {
    let no_files = git_output(reach, &["hash-object", "-t", "tree", "--stdin"])?;
    let mut git = git_command(reach);
    git.env("GIT_ATTR_SOURCE", String::from_utf8_lossy(&no_files).trim()).args(arguments);
    let said = heard(reach, &mut git)?;
    Ok(shown(&said, said.len() > LONGEST_PAGE))
}

/// Returns git's unchanged output; longer than [`LONGEST_PAGE`] if there is more.
fn git_output(reach: &ToolContext, arguments: &[impl AsRef<OsStr>]) -> Result<Vec<u8>, String> {
    heard(reach, git_command(reach).args(arguments))
}

fn heard(reach: &ToolContext, git: &mut Command) -> Result<Vec<u8>, String> {
    reach.stop.check()?;
    let mut child = git.spawn().map_err(|error| format!("git cannot be started: {error}"))?;
    let said =
        child.stdout.take().map(|stdout| listen(stdout, &mut child, reach)).transpose()?.unwrap_or_default();
    let is_cut = said.len() > LONGEST_PAGE;
    // The rest of the output is not needed.
    if is_cut {
        drop(child.kill());
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if !is_cut && !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let why = why.lines().find(|line| !line.trim().is_empty()).unwrap_or("git did not say why");
        return Err(cut(why.trim(), 500).to_owned());
    }
    Ok(said)
}

fn shown(said: &[u8], is_cut: bool) -> String {
    let text = String::from_utf8_lossy(said);
    match (text.is_empty(), is_cut) {
        (true, _) => "[nothing]\n".to_owned(),
        (false, false) => text.into_owned(),
        (false, true) => format!("{}\n[cut; ask for less]\n", cut(&text, LONGEST_PAGE - 100)),
    }
}

/// Reads the output until git ends, the limit is reached, or the tool must stop.
fn listen(mut stdout: ChildStdout, child: &mut Child, reach: &ToolContext) -> Result<Vec<u8>, String> {
    let (tell, hear) = mpsc::channel();
    thread::spawn(move || {
        let mut said = Vec::new();
        let heard = stdout.by_ref().take(LONGEST_PAGE as u64 + 1).read_to_end(&mut said);
        // The receiver may be gone.
        drop(tell.send(heard.map(|_| said)));
    });
    loop {
        match hear.recv_timeout(STOP_INTERVAL) {
            Ok(said) => return said.map_err(|error| error.to_string()),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err("git was not heard".to_owned()),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if let Err(stopped) = reach.stop.check() {
                    drop(child.kill());
                    drop(child.wait());
                    return Err(stopped);
                }
            }
        }
    }
}

fn git_command(reach: &ToolContext) -> Command {
    let mut git = reach.git();
    git.args(["-c", "log.showSignature=false", "-c", "diff.trustExitCode=false"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    git
}

/// Returns the text if it is a single revision, which git cannot take for an option.
fn revision(text: &str) -> Result<&str, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._/@{}^~+-".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let is_one =
        begins && text.len() <= 200 && !text.contains("..") && text.chars().all(|c| allowed(c) || c == '_');
    if is_one { Ok(text) } else { Err(format!("`{}` is not a revision", cut(text, 100))) }
}
