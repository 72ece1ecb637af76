//! The programs that `kubectl cp` runs in a container, for images that have none: `tar`, and `test -d`. They work in this process, on the
//! files of the container alone.

mod archive;
mod confined;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use archive::{Member, MemberKind, Reader, Writer};
pub(super) use confined::ContainerFiles;
use confined::{Folder, Found, mode_of};

/// How tar ends when something went wrong.
const FAILED: i32 = 2;

/// A command that is built in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BuiltIn {
    /// Writes an archive of these paths, without its first bytes.
    Create { paths: Vec<Source>, skip: u64 },
    /// Reads an archive into a folder.
    Extract { folder: PathBuf, exact_modes: bool },
    /// Whether a path leads to something of a sort.
    Test { sort: char, path: PathBuf },
    /// Words that the built-in program does not know, and what it says to that.
    Misused(String),
}

/// A path to be archived, and the folder that it begins at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    folder: PathBuf,
    path: PathBuf,
}

impl BuiltIn {
    /// The built-in command that these words are; `None` if its program is another.
    pub(super) fn of(command: &[String]) -> Option<Self> {
        let (program, words) = command.split_first()?;
        match program.rsplit('/').next() {
            Some("tar") => Some(tar(words)),
            Some("test") => Some(test(words)),
            Some("sh") => resumed(words),
            _ => None,
        }
    }
}

fn test(words: &[String]) -> BuiltIn {
    match words {
        [sort, path] if ["-d", "-e", "-f"].contains(&sort.as_str()) => BuiltIn::Test {
            sort: sort.as_bytes()[1].into(),
            path: path.into(),
        },
        _ => BuiltIn::Misused("test: the built-in test knows -d, -e and -f with a path".to_owned()),
    }
}

/// What `kubectl cp --retries` runs: the rest of an archive.
fn resumed(words: &[String]) -> Option<BuiltIn> {
    let [flag, script] = words else {
        return None;
    };
    let (path, first) = script.strip_prefix("tar cf - ")?.split_once(" | tail -c+")?;
    // No shell reads the words, so what one would make of them must be the same.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+@:,".contains(&byte) || !byte.is_ascii();
    let first: u64 = first.trim().parse().ok()?;
    (flag == "-c" && path.bytes().all(is_plain)).then(|| BuiltIn::Create {
        paths: vec![Source {
            folder: PathBuf::new(),
            path: path.into(),
        }],
        skip: first.saturating_sub(1),
    })
}

fn tar(words: &[String]) -> BuiltIn {
    let misused = |why: &str| {
        BuiltIn::Misused(format!(
            "tar: {why}\ntar: the built-in tar writes and reads plain archives on its standard streams: tar cf - PATH..., tar xf - \
             [-C FOLDER]"
        ))
    };
    let mut words = words.iter().enumerate();
    let (mut creates, mut extracts, mut to_stream, mut exact_modes) = (false, false, true, false);
    let (mut folder, mut paths) = (PathBuf::new(), Vec::new());
    while let Some((place, word)) = words.next() {
        let letters = match word.strip_prefix("--") {
            Some("create") => "c",
            Some("extract" | "get") => "x",
            Some("touch" | "no-same-permissions" | "no-same-owner" | "no-overwrite-dir" | "numeric-owner") => "",
            Some("same-permissions" | "preserve-permissions") => "p",
            Some("") => {
                paths.extend(words.map(|(_, path)| Source {
                    folder: folder.clone(),
                    path: path.into(),
                }));
                break;
            }
            Some(_) => return misused(&format!("unrecognized option '{word}'")),
            None => match word.strip_prefix('-') {
                Some("") | None if place > 0 => {
                    paths.push(Source {
                        folder: folder.clone(),
                        path: word.into(),
                    });
                    continue;
                }
                Some(letters) => letters,
                // The first word may be options without a dash.
                None => word,
            },
        };
        for (at, letter) in letters.char_indices() {
            match letter {
                'c' => creates = true,
                'x' => extracts = true,
                // When files were changed, and whose they are, is never taken from an archive.
                'm' | 'o' => {}
                'p' => exact_modes = true,
                'f' | 'C' => {
                    let rest = &letters[at + 1..];
                    // An option without a dash has its argument among the next words.
                    let is_attached = !rest.is_empty() && word.starts_with('-');
                    let argument = if is_attached {
                        rest
                    } else {
                        match words.next() {
                            Some((_, argument)) => argument,
                            None => return misused(&format!("option requires an argument -- '{letter}'")),
                        }
                    };
                    if letter == 'f' {
                        to_stream = argument == "-";
                    } else {
                        folder.push(argument);
                    }
                    if is_attached {
                        break;
                    }
                }
                other => return misused(&format!("invalid option -- '{other}'")),
            }
        }
    }
    match (creates, extracts) {
        _ if !to_stream => misused("an archive cannot be a file of the container"),
        (true, false) if paths.is_empty() => misused("Cowardly refusing to create an empty archive"),
        (true, false) => BuiltIn::Create { paths, skip: 0 },
        (false, true) if !paths.is_empty() => misused("members cannot be chosen"),
        (false, true) => BuiltIn::Extract { folder, exact_modes },
        _ => misused("You must specify one of the options c and x"),
    }
}

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

/// A path to be archived, and the name that it has there.
struct Pending {
    path: PathBuf,
    name: Vec<u8>,
}

async fn create<W: AsyncWrite + Unpin>(
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

async fn extract<R: AsyncRead + Unpin>(
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

/// Leaves out the first bytes of what is written.
struct SkipFirst<W> {
    to: W,
    left: u64,
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn files(home: &Path) -> ContainerFiles {
        let root = home.join("root");
        fs::create_dir_all(root.join("work")).unwrap();
        ContainerFiles::new(&root, Vec::new(), &root.join("work"))
    }

    /// The code, the output and the messages of a command.
    async fn ran(files: &ContainerFiles, command: &str, stdin: &[u8]) -> (i32, Vec<u8>, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let command = BuiltIn::of(&words(command)).unwrap();
        let code = run(command, files, stdin, &mut out, &mut err).await.unwrap();
        (code, out, String::from_utf8(err).unwrap())
    }

    async fn archive(members: &[(&str, MemberKind, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        for (path, kind, contents) in members {
            let member = Member {
                path: path.as_bytes().to_vec(),
                kind: kind.clone(),
                mode: 0o644,
                modified: 0,
            };
            writer.header(&member).await.unwrap();
            if let MemberKind::File { size } = kind {
                writer.contents(*contents, *size).await.unwrap();
            }
        }
        writer.finish().await.unwrap();
        bytes
    }

    #[test]
    fn the_words_of_kubectl_cp_are_understood() {
        let source = |path: &str| Source {
            folder: PathBuf::new(),
            path: path.into(),
        };
        for (text, wanted) in [
            (
                "tar cf - /etc/app",
                BuiltIn::Create {
                    paths: vec![source("/etc/app")],
                    skip: 0,
                },
            ),
            (
                "/bin/tar -c -f - a b",
                BuiltIn::Create {
                    paths: vec![source("a"), source("b")],
                    skip: 0,
                },
            ),
            (
                "tar -cf - -C /x .",
                BuiltIn::Create {
                    paths: vec![Source {
                        folder: "/x".into(),
                        path: ".".into(),
                    }],
                    skip: 0,
                },
            ),
            (
                "tar -xmf - -C /tmp",
                BuiltIn::Extract {
                    folder: "/tmp".into(),
                    exact_modes: false,
                },
            ),
            (
                "tar xmf -",
                BuiltIn::Extract {
                    folder: PathBuf::new(),
                    exact_modes: false,
                },
            ),
            (
                "tar --no-same-permissions --no-same-owner -xmf - -C tmp",
                BuiltIn::Extract {
                    folder: "tmp".into(),
                    exact_modes: false,
                },
            ),
            (
                "tar -xpf - -C/tmp",
                BuiltIn::Extract {
                    folder: "/tmp".into(),
                    exact_modes: true,
                },
            ),
            (
                "test -d /tmp",
                BuiltIn::Test {
                    sort: 'd',
                    path: "/tmp".into(),
                },
            ),
        ] {
            assert_eq!(BuiltIn::of(&words(text)), Some(wanted), "{text}");
        }
        for misused in [
            "tar",
            "tar cf - ",
            "tar xzf -",
            "tar cf /x a",
            "tar xcf -",
            "tar --files-from=x",
            "test x",
        ] {
            let command: Vec<String> = words(misused).into_iter().filter(|word| !word.is_empty()).collect();
            assert!(matches!(BuiltIn::of(&command), Some(BuiltIn::Misused(_))), "{misused}");
        }
        let script = |text: &str| BuiltIn::of(&["sh".to_owned(), "-c".to_owned(), text.to_owned()]);
        let rest = BuiltIn::Create {
            paths: vec![source("/a/b")],
            skip: 99,
        };
        assert_eq!(script("tar cf - /a/b | tail -c+100"), Some(rest));
        for other in [
            "id",
            "tar cf - $(id) | tail -c+1",
            "tar cf - a;id | tail -c+1",
            "tar cf - a | tail -c+1; id",
        ] {
            assert_eq!(script(other), None, "{other}");
        }
        assert_eq!(BuiltIn::of(&words("cat /etc/passwd")), None);
    }

    #[tokio::test]
    async fn folders_go_there_and_back_unchanged() {
        let home = tempfile::tempdir().unwrap();
        let files = files(home.path());
        let from = home.path().join("root/from");
        let long = format!("{}/{}", "d".repeat(120), "n".repeat(200));
        fs::create_dir_all(from.join("empty")).unwrap();
        fs::create_dir_all(from.join(&long).parent().unwrap()).unwrap();
        let large: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
        fs::write(from.join("large"), &large).unwrap();
        fs::write(from.join(&long), "long").unwrap();
        fs::write(from.join("nothing"), "").unwrap();
        symlink("large", from.join("link")).unwrap();
        super::super::files::set_mode(&from.join("large"), 0o750).unwrap();

        let (code, bytes, told) = ran(&files, "tar cf - /from", b"").await;
        assert_eq!((code, told.as_str()), (0, ""));
        let (code, _, told) = ran(&files, "tar -xpmf - -C .", &bytes).await;
        assert_eq!((code, told.as_str()), (0, ""));
        let there = home.path().join("root/work/from");
        assert_eq!(fs::read(there.join("large")).unwrap(), large);
        assert_eq!(fs::read_to_string(there.join(&long)).unwrap(), "long");
        assert_eq!(fs::read(there.join("nothing")).unwrap(), b"");
        assert!(there.join("empty").is_dir());
        assert_eq!(fs::read_link(there.join("link")).unwrap(), Path::new("large"));
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(there.join("large")).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o750);

        // The rest of an archive is what follows a part of it.
        let script = "tar cf - /from | tail -c+1025".to_owned();
        let command = BuiltIn::of(&["sh".to_owned(), "-c".to_owned(), script]).unwrap();
        let mut rest = Vec::new();
        run(command, &files, &b""[..], &mut rest, &mut Vec::new())
            .await
            .unwrap();
        assert_eq!(rest, bytes[1024..]);
    }

    #[tokio::test]
    async fn an_archive_writes_nothing_outside_of_the_container() {
        let home = tempfile::tempdir().unwrap();
        let files = files(home.path());
        let link = |target: &str| MemberKind::Link {
            target: target.as_bytes().to_vec(),
        };
        let hard = |target: &str| MemberKind::HardLink {
            target: target.as_bytes().to_vec(),
        };
        let file = MemberKind::File { size: 4 };
        let outside = home.path().display().to_string();
        fs::write(home.path().join("kept"), "kept").unwrap();
        symlink(home.path(), home.path().join("root/made-by-a-process")).unwrap();
        let bytes = archive(&[
            ("../up", file.clone(), b"evil"),
            ("a/../../up", file.clone(), b"evil"),
            ("relative", link("../../.."), b""),
            ("absolute", link(&outside), b""),
            ("absolute/kept", file.clone(), b"evil"),
            ("made-by-a-process/kept", file.clone(), b"evil"),
            ("hard", hard("../../kept"), b""),
            ("/rooted", file.clone(), b"good"),
        ])
        .await;
        let (code, _, told) = ran(&files, "tar xf - -C /", &bytes).await;
        assert_eq!(code, 2);
        for words in [
            "../up: Member name contains '..'",
            "Cannot create symlink to '../../..'",
            "hard: ",
        ] {
            assert!(told.contains(words), "{words} is not in\n{told}");
        }
        assert_eq!(fs::read_to_string(home.path().join("kept")).unwrap(), "kept");
        assert_eq!(fs::read_to_string(home.path().join("root/rooted")).unwrap(), "good");
        let names: Vec<_> = fs::read_dir(home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    #[tokio::test]
    async fn nothing_outside_of_the_container_is_read() {
        let home = tempfile::tempdir().unwrap();
        let files = files(home.path());
        fs::write(home.path().join("secret"), "secret").unwrap();
        symlink(home.path(), home.path().join("root/out")).unwrap();
        for path in [
            "../../secret",
            "/../secret",
            "/out/secret",
            &home.path().join("secret").display().to_string(),
        ] {
            let (code, bytes, told) = ran(&files, &format!("tar cf - {path}"), b"").await;
            assert!(code == 2 && told.contains("No such file"), "{path}: {told}");
            assert!(!String::from_utf8_lossy(&bytes).contains("secret"), "{path}");
        }
    }

    #[tokio::test]
    async fn a_path_is_tested_and_what_is_missing_is_said() {
        let home = tempfile::tempdir().unwrap();
        let files = files(home.path());
        fs::write(home.path().join("root/file"), "").unwrap();
        for (command, code) in [
            ("test -d /work", 0),
            ("test -d /file", 1),
            ("test -e /file", 0),
            ("test -f /file", 0),
            ("test -f /work", 1),
            ("test -e /none", 1),
        ] {
            assert_eq!(ran(&files, command, b"").await.0, code, "{command}");
        }
        let (code, _, told) = ran(&files, "tar xf - -C /none", b"").await;
        assert_eq!(code, 2);
        assert!(
            told.starts_with("tar: /none: Cannot open: No such file or directory\n"),
            "{told}"
        );
        let (code, _, told) = ran(&files, "tar xf -", b"this is no archive").await;
        assert!(code == 2 && told.contains("Unexpected EOF"), "{told}");
    }
}
