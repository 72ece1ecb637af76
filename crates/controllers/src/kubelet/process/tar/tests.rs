use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use super::archive::{Member, MemberKind};
use super::words::Source;
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
