//! A command with its streams, whatever protocol carries them: what the client asked for, the pipes between, and how its end is told.

use serde_json::{Value, json};
use tokio::io::{DuplexStream, duplex};
use tokio::sync::watch;

use super::exec::{ExecEnd, ExecFuture, ExecStreams, TerminalSize, TerminalSizes};

/// How many bytes wait between a command and its client, in each direction.
const BUFFER: usize = 64 * 1024;
/// How much of a terminal's size may be on its way.
const MAX_SIZE: usize = 1024;

/// The streams that a client asks for.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "these are the parameters of the request")]
pub(crate) struct Wanted {
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
    pub(crate) tty: bool,
}

/// Whether what a client sends has an end other than that of the connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StdinEnds(pub(crate) bool);

/// A command that waits for its streams.
pub(crate) struct RemoteCommand {
    pub(crate) wanted: Wanted,
    /// Why upstream's nodes would not take the request. Clients of version 5 hear it once their connection is upgraded.
    pub(crate) refusal: Option<&'static str>,
    /// What upstream says went wrong where a command does not run, in front of why.
    pub(crate) failure: &'static str,
    pub(crate) run: Box<dyn FnOnce(ExecStreams, StdinEnds) -> ExecFuture + Send>,
}

/// The client's ends of a command's streams.
pub(crate) struct ClientEnds {
    /// `None` if the client did not ask to send anything.
    pub(crate) stdin: Option<DuplexStream>,
    pub(crate) stdout: DuplexStream,
    pub(crate) stderr: DuplexStream,
    pub(crate) sizes: SizeReader,
}

/// The two ends of a command's streams.
pub(crate) fn pipes(wanted: Wanted) -> (ExecStreams, ClientEnds) {
    let (stdin, to_stdin) = duplex(BUFFER);
    let (from_stdout, stdout) = duplex(BUFFER);
    let (from_stderr, stderr) = duplex(BUFFER);
    let (sizes, resize) = TerminalSizes::channel();
    let streams = ExecStreams {
        stdin: Box::pin(stdin),
        stdout: Box::pin(stdout),
        stderr: Box::pin(stderr),
        resize,
    };
    let ends = ClientEnds {
        stdin: wanted.stdin.then_some(to_stdin),
        stdout: from_stdout,
        stderr: from_stderr,
        sizes: SizeReader {
            sizes: wanted.tty.then_some(sizes),
            unread: Vec::new(),
        },
    };
    (streams, ends)
}

/// Reads the sizes of a client's terminal: JSON objects, one behind the other.
pub(crate) struct SizeReader {
    /// `None` once there will be no more.
    sizes: Option<watch::Sender<Option<TerminalSize>>>,
    unread: Vec<u8>,
}

impl SizeReader {
    /// Reads what the client sent. What is no size ends the sizes, as upstream's decoder does.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let Some(sizes) = &self.sizes else { return };
        if self.unread.len() + bytes.len() > MAX_SIZE {
            return self.end();
        }
        self.unread.extend_from_slice(bytes);
        let mut values = serde_json::Deserializer::from_slice(&self.unread).into_iter::<Value>();
        loop {
            match values.next() {
                Some(Ok(value)) => match size_of(&value) {
                    Some(size) => {
                        let _ = sizes.send(Some(size));
                    }
                    None => return self.end(),
                },
                Some(Err(error)) if !error.is_eof() => return self.end(),
                Some(Err(_)) | None => break,
            }
        }
        let read = values.byte_offset();
        self.unread.drain(..read);
    }

    /// There will be no more sizes.
    pub(crate) fn end(&mut self) {
        self.sizes = None;
        self.unread = Vec::new();
    }
}

/// A size, as Go reads it: names in any case, 0 where one is missing.
fn size_of(value: &Value) -> Option<TerminalSize> {
    let fields = value.as_object()?;
    let number = |name: &str| {
        let field = fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        field.map_or(Some(0), |(_, value)| u16::try_from(value.as_u64()?).ok())
    };
    Some(TerminalSize {
        width: number("width")?,
        height: number("height")?,
    })
}

/// How a command ended, in the words of container runtimes.
fn status_of(end: &ExecEnd, failure: &str) -> Value {
    match end {
        ExecEnd::Exited(0) => json!({ "status": "Success" }),
        ExecEnd::Exited(code) => json!({
            "status": "Failure",
            "message": format!("command terminated with non-zero exit code: command terminated with exit code {code}"),
            "reason": "NonZeroExitCode",
            "details": { "causes": [{ "reason": "ExitCode", "message": code.to_string() }] },
        }),
        ExecEnd::Failed(why) => json!({
            "status": "Failure",
            "message": format!("Internal error occurred: {failure}: {why}"),
            "reason": "InternalError",
            "code": 500,
        }),
    }
}

/// What the API server makes of that in version 5, whose streams it translates: an error of the runtime is one of its own.
fn translated(status: &Value) -> Value {
    if status["reason"] == "InternalError" {
        return internal_error(status["message"].as_str().unwrap_or_default());
    }
    let mut whole = json!({ "metadata": {} });
    for (name, value) in status.as_object().into_iter().flatten() {
        whole[name] = value.clone();
    }
    whole
}

/// An error of the API server itself, on a connection that it translates.
pub(crate) fn internal_error(why: &str) -> Value {
    json!({
        "metadata": {},
        "status": "Failure",
        "message": format!("Internal error occurred: {why}"),
        "reason": "InternalError",
        "details": { "causes": [{ "message": why }] },
        "code": 500,
    })
}

/// What is sent when a command has ended: a `Status` since version 4 of the protocols, before that a sentence about what went wrong.
pub(crate) fn end_of(end: &ExecEnd, failure: &str, version: u8) -> Option<Vec<u8>> {
    let status = status_of(end, failure);
    match version {
        5.. => Some(translated(&status).to_string().into_bytes()),
        4 => Some(status.to_string().into_bytes()),
        _ => status["message"].as_str().map(|message| message.as_bytes().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(pieces: &[&str]) -> (Option<TerminalSize>, bool) {
        let (sender, _sizes) = TerminalSizes::channel();
        let receiver = sender.subscribe();
        let mut reader = SizeReader {
            sizes: Some(sender),
            unread: Vec::new(),
        };
        for piece in pieces {
            reader.push(piece.as_bytes());
        }
        let last = *receiver.borrow();
        (last, reader.sizes.is_some())
    }

    #[test]
    fn sizes_are_read_whatever_they_are_cut_into() {
        let size = |width, height| Some(TerminalSize { width, height });
        assert_eq!(sizes(&[r#"{"Width":80,"Height":24}"#]), (size(80, 24), true));
        assert_eq!(
            sizes(&[r#"{"Width":80,"Height":24}{"Wid"#, r#"th":100,"height":30}"#, "\n"]),
            (size(100, 30), true)
        );
        assert_eq!(sizes(&[r#"{"Width":80"#]), (None, true));
        assert_eq!(sizes(&[r#"{"Width":80,"Height":24}"#, "x"]), (size(80, 24), false));
        assert_eq!(sizes(&[r#"{"Width":70000}"#]), (None, false));
        assert_eq!(sizes(&["7"]), (None, false));
        assert_eq!(sizes(&[&" ".repeat(600), &" ".repeat(600)]), (None, true));
        assert_eq!(sizes(&[&format!("\"{}", "x".repeat(2000))]), (None, false));
    }

    #[test]
    fn ends_are_told_as_a_status_or_a_sentence() {
        let text = |end: &ExecEnd, version| end_of(end, "error", version).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(text(&ExecEnd::Exited(0), 3), None);
        assert_eq!(text(&ExecEnd::Exited(0), 4).unwrap(), r#"{"status":"Success"}"#);
        assert_eq!(
            text(&ExecEnd::Exited(0), 5).unwrap(),
            r#"{"metadata":{},"status":"Success"}"#
        );
        let failed = ExecEnd::Failed("no such file".to_owned());
        assert_eq!(
            text(&failed, 1).unwrap(),
            "Internal error occurred: error: no such file"
        );
        assert!(text(&failed, 5).unwrap().contains(r#""code":500"#));
    }
}
