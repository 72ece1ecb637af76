//! Reads an archive into a folder of a container.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::archive::{Member, MemberKind, Reader};
use super::confined::Folder;
use super::{DELAYED, FAILED, UNRECOVERABLE, plain, say};

pub(super) async fn extract<R: AsyncRead + Unpin>(
    into: &Folder<'_>,
    exact_modes: bool,
    mut reader: Reader<R>,
    mut stderr: impl AsyncWrite + Unpin,
) -> io::Result<i32> {
    let mut has_failed = false;
    loop {
        let member = match reader.next().await {
            Ok(Some(member)) => member,
            Ok(None) => break,
            Err(error) => {
                say(&mut stderr, &format!("tar: {}\n{UNRECOVERABLE}", plain(&error))).await?;
                return Ok(FAILED);
            }
        };
        if let Err(why) = extracted(into, exact_modes, &member, &mut reader).await {
            has_failed = true;
            let path = String::from_utf8_lossy(&member.path).into_owned();
            say(&mut stderr, &format!("tar: {path}: {why}")).await?;
        }
    }
    if has_failed {
        say(&mut stderr, DELAYED).await?;
        return Ok(FAILED);
    }
    Ok(0)
}

/// The parts of a member's path. One that leads upwards is refused.
fn member_parts(path: &[u8]) -> Result<Vec<&OsStr>, String> {
    let mut parts = Vec::new();
    for part in Path::new(OsStr::from_bytes(path)).components() {
        match part {
            Component::Normal(part) => parts.push(part),
            Component::ParentDir => return Err("Member name contains '..'".to_owned()),
            _ => {}
        }
    }
    Ok(parts)
}

/// The folder of a member and its name there. Folders that no member made are made.
fn member_place<'f, 'p>(into: &Folder<'f>, path: &'p [u8]) -> Result<Option<(Folder<'f>, &'p OsStr)>, String> {
    let mut parts = member_parts(path)?;
    let Some(name) = parts.pop() else {
        return Ok(None);
    };
    let mut folder = into.clone();
    for part in parts {
        if folder.enter(Path::new(part)).is_err() {
            let made = folder.make_folder(part, 0o777);
            let entered = made.and_then(|()| folder.enter(Path::new(part)));
            entered.map_err(|error| format!("Cannot open: {}", plain(&error)))?;
        }
    }
    Ok(Some((folder, name)))
}

async fn extracted<R: AsyncRead + Unpin>(
    into: &Folder<'_>,
    exact_modes: bool,
    member: &Member,
    reader: &mut Reader<R>,
) -> Result<(), String> {
    let Some((folder, name)) = member_place(into, &member.path)? else {
        // The folder itself, which is there.
        return Ok(());
    };
    let failed = |what: &'static str| move |error: io::Error| format!("{what}: {}", plain(&error));
    match &member.kind {
        MemberKind::Folder => folder.make_folder(name, member.mode).map_err(failed("Cannot mkdir")),
        MemberKind::Link { target } => {
            let target = Path::new(OsStr::from_bytes(target));
            let made = folder.link(name, target);
            made.map_err(|error| format!("Cannot create symlink to '{}': {}", target.display(), plain(&error)))
        }
        MemberKind::HardLink { target } => {
            let Some((to, target)) = member_place(into, target)? else {
                return Err("Cannot hard link to a folder".to_owned());
            };
            folder.hard_link(name, &to, target).map_err(failed("Cannot hard link"))
        }
        MemberKind::Special { .. } => Err("Cannot mknod: Operation not permitted".to_owned()),
        MemberKind::File { .. } => {
            let file = folder.create(name, member.mode, exact_modes);
            let mut file = tokio::fs::File::from_std(file.map_err(failed("Cannot open"))?);
            reader.contents(&mut file).await.map_err(failed("Cannot write"))?;
            file.flush().await.map_err(failed("Cannot write"))
        }
    }
}
