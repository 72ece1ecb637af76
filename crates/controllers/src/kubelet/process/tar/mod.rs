//! The programs that `kubectl cp` runs in a container, for images that have none: `tar`, and `test -d`. They work in this process, on the
//! files of the container alone.

mod archive;
mod confined;
mod create;
mod extract;
#[cfg(test)]
mod tests;
mod words;

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use archive::{Reader, Writer};
pub(super) use confined::ContainerFiles;
use confined::{Folder, Found};
use create::{SkipFirst, create};
use extract::extract;
pub(super) use words::BuiltIn;

/// How tar ends when something went wrong.
const FAILED: i32 = 2;

/// Runs a built-in command to its end, and returns its exit code. What goes wrong is said on `stderr`; the error is that of a client that is
/// gone.
pub(super) async fn run(
    command: BuiltIn,
    files: &ContainerFiles,
    stdin: impl AsyncRead + Unpin,
    stdout: impl AsyncWrite + Unpin,
    mut stderr: impl AsyncWrite + Unpin,
) -> io::Result<i32> {
    match command {
        BuiltIn::Misused(why) => {
            say(&mut stderr, &why).await?;
            Ok(FAILED)
        }
        BuiltIn::Test { sort, path } => Ok(i32::from(!is_of_sort(files, sort, &path))),
        BuiltIn::Create { paths, skip } => {
            let writer = Writer::new(SkipFirst { to: stdout, left: skip });
            create(files, paths, writer, stderr).await
        }
        BuiltIn::Extract { folder, exact_modes } => {
            let into = match files.folder(&folder) {
                Ok(into) => into,
                Err(error) => {
                    let why = plain(&error);
                    let text = format!("tar: {}: Cannot open: {why}\n{UNRECOVERABLE}", folder.display());
                    say(&mut stderr, &text).await?;
                    return Ok(FAILED);
                }
            };
            extract(&into, exact_modes, Reader::new(stdin), stderr).await
        }
    }
}

const DELAYED: &str = "tar: Exiting with failure status due to previous errors";
const UNRECOVERABLE: &str = "tar: Error is not recoverable: exiting now";

async fn say(stderr: &mut (impl AsyncWrite + Unpin), text: &str) -> io::Result<()> {
    stderr.write_all(format!("{text}\n").as_bytes()).await?;
    stderr.flush().await
}

/// An error of the operating system as programs print it.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}

/// The folder that a path is in, and its name there; none if it is that folder itself.
fn place<'f>(files: &'f ContainerFiles, path: &Path) -> io::Result<(Folder<'f>, Option<OsString>)> {
    match path.components().next_back() {
        Some(Component::Normal(name)) => {
            let above = path.parent().unwrap_or(Path::new(""));
            Ok((files.folder(above)?, Some(name.to_owned())))
        }
        _ => Ok((files.folder(path)?, None)),
    }
}

fn is_of_sort(files: &ContainerFiles, sort: char, path: &Path) -> bool {
    if files.folder(path).is_ok() {
        return sort != 'f';
    }
    let Ok((above, Some(name))) = place(files, path) else {
        return false;
    };
    sort != 'd'
        && above
            .look(&name)
            .is_ok_and(|(found, _)| sort == 'e' || found == Found::File)
}
