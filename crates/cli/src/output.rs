//! Writes to standard output. A closed pipe is not an error; a full disk is.

use std::io::{self, ErrorKind, Write};

/// Standard output cannot be written to.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output")]
pub(crate) struct OutputError(#[source] io::Error);

/// Writes a text to standard output.
pub(crate) fn write(text: &str) -> Result<(), OutputError> {
    write_to(&mut io::stdout().lock(), text)
}

fn write_to(out: &mut impl Write, text: &str) -> Result<(), OutputError> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The reader has closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.map_err(OutputError),
    }
}

/// Writes a line to standard error. A failure is ignored, because it cannot be reported.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Refuses(ErrorKind);

    impl Write for Refuses {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_error_and_a_full_disk_is() {
        assert!(write_to(&mut Refuses(ErrorKind::BrokenPipe), "a").is_ok());
        let error = write_to(&mut Refuses(ErrorKind::StorageFull), "a").unwrap_err();
        assert!(
            kubewright_cluster::with_sources(&error).starts_with("cannot write to standard output: "),
            "{error}"
        );
    }
}
