//! `kubewright apiserver` as a user meets it: what it prints, how it stops, and how it refuses.
#![cfg(unix)]

mod support;

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use support::{Server, kubewright};

fn run(arguments: &[&str]) -> Output {
    kubewright().args(arguments).output().unwrap()
}

/// How a refused command ends: its exit code and the one line it prints.
fn refusal(arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(arguments);
    assert!(output.stdout.is_empty());
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    (output.status.code(), text.trim_end().to_owned())
}

#[test]
fn it_says_where_it_listens_and_how_to_point_kubectl_at_it() {
    let mut server = Server::start();
    let kubeconfig = std::fs::read_to_string(&server.kubeconfig).unwrap();
    let url = kubeconfig
        .lines()
        .find_map(|line| line.trim().strip_prefix("server: "))
        .unwrap();
    let greeting = format!(
        "Kubernetes API server on {url}\n\n  export KUBECONFIG={}\n",
        server.kubeconfig.display()
    );
    assert_eq!(server.greeting, greeting);
    assert_eq!(
        server.kubeconfig.metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
    let (_, rest) = server.stop("TERM");
    assert_eq!(rest, "\nCtrl-C stops it.\n");
}

#[test]
fn it_stops_cleanly_when_interrupted_or_terminated() {
    for signal in ["INT", "TERM"] {
        let (status, _) = Server::start().stop(signal);
        assert_eq!(status.code(), Some(0), "{signal}");
    }
}

#[test]
fn a_temporary_kubeconfig_goes_with_the_server() {
    let home = tempfile::tempdir().unwrap();
    let mut child = kubewright()
        .args(["apiserver", "--secure-port=0"])
        .env("TMPDIR", home.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let path = loop {
        let mut line = String::new();
        assert_ne!(std::io::BufRead::read_line(&mut stdout, &mut line).unwrap(), 0);
        if let Some((_, path)) = line.trim_end().split_once("KUBECONFIG=") {
            break std::path::PathBuf::from(path);
        }
    };
    assert!(path.starts_with(home.path()) && path.is_file());
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-s", "INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_port_in_use_is_one_sentence() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, text) = refusal(&["apiserver", "--secure-port", &port]);
    assert_eq!(code, Some(1));
    assert_eq!(
        text,
        format!("error: port {port} on 127.0.0.1 is in use; --secure-port 0 picks a free one")
    );
}

#[test]
fn a_file_that_cannot_be_written_is_one_sentence() {
    let (code, text) = refusal(&["apiserver", "--secure-port=0", "--kubeconfig-out=/nowhere/at/all"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        text,
        "error: cannot write the kubeconfig to /nowhere/at/all: the folder /nowhere/at does not exist"
    );
}

#[test]
fn a_token_file_that_cannot_be_used_is_one_sentence() {
    let (code, text) = refusal(&["apiserver", "--secure-port=0", "--token-auth-file=/nowhere/tokens"]);
    assert_eq!(code, Some(1));
    assert!(
        text.starts_with("error: cannot read the token file /nowhere/tokens"),
        "{text}"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "token,jane,1\ntoken,joe\n").unwrap();
    let path = file.path().display().to_string();
    let (code, text) = refusal(&["apiserver", "--secure-port=0", "--token-auth-file", &path]);
    assert_eq!(code, Some(1));
    assert_eq!(
        text,
        format!(
            "error: the token file {path}, line 2: at least token, user name and uid must be there, parted by commas"
        )
    );
}

#[test]
fn an_unknown_authorization_mode_is_refused_with_the_known_ones() {
    let (code, text) = refusal(&["apiserver", "--authorization-mode=Perhaps"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("'Perhaps' for '--authorization-mode <MODE>'"), "{text}");
}

#[test]
fn a_misspelt_word_is_guessed() {
    let (code, text) = refusal(&["apisrver"]);
    assert_eq!(code, Some(2));
    assert_eq!(
        text,
        "error: unrecognized subcommand 'apisrver' (did you mean 'apiserver'?)"
    );
    assert!(
        refusal(&["apiserver", "--secure-prt=1"])
            .1
            .ends_with("(did you mean '--secure-port'?)")
    );
}

#[test]
fn a_bad_flag_is_one_sentence() {
    let (code, text) = refusal(&["apiserver", "--secure-port", "many"]);
    assert_eq!(code, Some(2));
    assert!(
        text.starts_with("error: invalid value 'many' for '--secure-port <PORT>'"),
        "{text}"
    );
    assert_eq!(refusal(&["apiserver", "--nonsense"]).0, Some(2));
    assert_eq!(refusal(&["nonsense"]).0, Some(2));
}

#[test]
fn help_and_version_are_answers() {
    let help = run(&["apiserver", "--help"]);
    assert_eq!(help.status.code(), Some(0));
    let text = String::from_utf8(help.stdout).unwrap();
    for flag in [
        "--secure-port <PORT>",
        "--bind-address <ADDRESS>",
        "--kubeconfig-out <FILE>",
        "[default: 6443]",
    ] {
        assert!(text.contains(flag), "{flag} is not in\n{text}");
    }
    assert_eq!(
        run(&["--version"]).stdout,
        format!("kubewright {}\n", env!("CARGO_PKG_VERSION")).as_bytes()
    );
    assert_eq!(run(&[]).status.code(), Some(2));
}
