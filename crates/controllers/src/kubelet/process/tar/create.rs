//! Writes an archive of files of a container.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use tokio::io::AsyncWrite;

use super::archive::{Member, MemberKind, Writer};
use super::confined::{ContainerFiles, Found, mode_of};
use super::words::Source;
use super::{DELAYED, FAILED, place, plain, say};

/// A path to be archived, and the name that it has there.
struct Pending {
    path: PathBuf,
    name: Vec<u8>,
}

pub(super) async fn create<W: AsyncWrite + Unpin>(
    files: &ContainerFiles,
    sources: Vec<Source>,
    mut writer: Writer<W>,
    mut stderr: impl AsyncWrite + Unpin,
) -> io::Result<i32> {
    let mut has_failed = false;
    for source in sources {
        let name = source.path.as_os_str().as_bytes();
        let stripped = name.iter().position(|byte| *byte != b'/').unwrap_or(name.len());
        let mut stack = vec![Pending {
            path: source.folder.join(&source.path),
            name: name[stripped..].to_vec(),
        }];
        while let Some(next) = stack.pop() {
            match archived(files, &next, &mut writer).await? {
                Ok(names) => {
                    let below = |name: OsString| {
                        let slash: &[u8] = if next.name.is_empty() || next.name.ends_with(b"/") {
                            b""
                        } else {
                            b"/"
                        };
                        Pending {
                            path: next.path.join(&name),
                            name: [&next.name, slash, name.as_bytes()].concat(),
                        }
                    };
                    stack.extend(names.into_iter().rev().map(below));
                }
                Err(why) => {
                    has_failed = true;
                    say(&mut stderr, &format!("tar: {}: {why}", next.path.display())).await?;
                }
            }
        }
    }
    if has_failed {
        say(&mut stderr, DELAYED).await?;
        // Without its last blocks: kubectl takes an archive that is complete for a success, before it hears of the exit code.
        return Ok(FAILED);
    }
    writer.finish().await?;
    Ok(0)
}

/// Writes a member, and returns the names in it if it is a folder. The inner error is that of the member.
async fn archived<W: AsyncWrite + Unpin>(
    files: &ContainerFiles,
    next: &Pending,
    writer: &mut Writer<W>,
) -> io::Result<Result<Vec<OsString>, String>> {
    let looked = place(files, &next.path).and_then(|(above, name)| {
        let (found, stat) = match &name {
            Some(name) => above.look(name)?,
            None => (Found::Folder, above.stat()?),
        };
        Ok((above, name, found, stat))
    });
    let (above, name, found, stat) = match looked {
        Ok(looked) => looked,
        Err(error) => return Ok(Err(format!("Cannot stat: {}", plain(&error)))),
    };
    let member = |path: &[u8], kind: MemberKind| Member {
        path: path.to_vec(),
        kind,
        mode: mode_of(&stat),
        modified: u64::try_from(stat.st_mtime).unwrap_or(0),
    };
    match found {
        Found::Folder => {
            let folder = match files.folder(&next.path).and_then(|folder| folder.names()) {
                Ok(names) => names,
                Err(error) => return Ok(Err(format!("Cannot open: {}", plain(&error)))),
            };
            // The root itself has no name in an archive.
            if !next.name.is_empty() {
                let slash: &[u8] = if next.name.ends_with(b"/") { b"" } else { b"/" };
                let path = [next.name.as_slice(), slash].concat();
                writer.header(&member(&path, MemberKind::Folder)).await?;
            }
            Ok(Ok(folder))
        }
        Found::Link(target) => {
            let target = target.into_os_string().into_vec();
            writer.header(&member(&next.name, MemberKind::Link { target })).await?;
            Ok(Ok(Vec::new()))
        }
        Found::File => {
            let opened = above.open(name.as_deref().unwrap_or(OsStr::new("")));
            let opened = opened.and_then(|file| Ok((file.metadata()?.len(), file)));
            let (size, file) = match opened {
                Ok(opened) => opened,
                Err(error) => return Ok(Err(format!("Cannot open: {}", plain(&error)))),
            };
            writer.header(&member(&next.name, MemberKind::File { size })).await?;
            writer.contents(tokio::fs::File::from_std(file), size).await?;
            Ok(Ok(Vec::new()))
        }
        Found::Other => Ok(Err("not a file, a folder or a link: ignored".to_owned())),
    }
}

/// Leaves out the first bytes of what is written.
pub(super) struct SkipFirst<W> {
    pub(super) to: W,
    pub(super) left: u64,
}

impl<W: AsyncWrite + Unpin> AsyncWrite for SkipFirst<W> {
    fn poll_write(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<io::Result<usize>> {
        if self.left > 0 {
            let skipped = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            self.left -= skipped as u64;
            return std::task::Poll::Ready(Ok(skipped));
        }
        std::pin::Pin::new(&mut self.to).poll_write(context, bytes)
    }

    fn poll_flush(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.to).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::pin::Pin::new(&mut self.to).poll_shutdown(context)
    }
}
