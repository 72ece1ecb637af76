//! `kubewright apiserver` as a user meets it: what it prints, how it stops, and how it refuses.
#![cfg(unix)]

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::support::{Server, endings, ignores_hangup, kubewright};

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

#[tokio::test]
async fn a_folder_for_certificates_makes_kubeconfigs_and_tokens_outlive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let certificates = folder.path().join("kept");
    let flag = certificates.display().to_string();
    let mut server = Server::start_with(&["--cert-dir", &flag]);
    let first = std::fs::read_to_string(&server.kubeconfig).unwrap();
    for name in ["ca.key", "sa.key"] {
        let mode = certificates.join(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let kept = std::fs::read_to_string(certificates.join("ca.crt")).unwrap();
    server.stop("TERM");
    let server = Server::start_with(&["--cert-dir", &flag]);
    assert_eq!(std::fs::read_to_string(certificates.join("ca.crt")).unwrap(), kept);
    // The kubeconfig of before, at the port of now.
    let second = std::fs::read_to_string(&server.kubeconfig).unwrap();
    let of = |text: &str| Kubeconfig::from_yaml(text).unwrap();
    let mut before = of(&first);
    before.clusters[0].cluster.as_mut().unwrap().server =
        of(&second).clusters[0].cluster.as_ref().unwrap().server.clone();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(before, &options).await.unwrap();
    let slices: Api<EndpointSlice> = Api::all(kube::Client::try_from(config).unwrap());
    slices.list(&kube::api::ListParams::default()).await.unwrap();

    std::fs::remove_file(certificates.join("ca.key")).unwrap();
    let (code, why) = refusal(&["apiserver", "--secure-port=0", "--cert-dir", &flag]);
    assert_eq!(code, Some(1));
    assert!(why.contains("ca.crt without") && why.contains("remove both"), "{why}");
}

#[tokio::test]
async fn it_remembers_as_much_as_it_is_told_to() {
    for (bytes, is_known) in [("0", false), ("1000000", true)] {
        let server = Server::start_with(&["--history-bytes", bytes]);
        let kubeconfig = Kubeconfig::read_from(&server.kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options);
        let pods: Api<Pod> = Api::default_namespaced(kube::Client::try_from(config.await.unwrap()).unwrap());
        let then = pods.list(&kube::api::ListParams::default()).await.unwrap();
        for name in ["one", "two"] {
            let pod = serde_json::json!({ "metadata": { "name": name }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
            let pod = serde_json::from_value(pod).unwrap();
            pods.create(&PostParams::default(), &pod).await.unwrap();
        }
        let exactly = kube::api::ListParams::default()
            .at(then.metadata.resource_version.as_deref().unwrap())
            .matching(kube::api::VersionMatch::Exact);
        match pods.list(&exactly).await {
            Ok(list) => assert!(is_known && list.items.is_empty()),
            Err(kube::Error::Api(status)) => assert!(!is_known && status.code == 410),
            Err(other) => panic!("not an answer of the API: {other}"),
        }
    }
}

#[tokio::test]
async fn the_address_by_which_others_reach_it_is_published() {
    let server = Server::start_with(&["--advertise-address", "192.0.2.7"]);
    let kubeconfig = Kubeconfig::read_from(&server.kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options);
    let config = config.await.unwrap();
    let port = config.cluster_url.port_u16().map(i32::from);
    let slices: Api<EndpointSlice> = Api::default_namespaced(kube::Client::try_from(config).unwrap());
    let slice = slices.get("kubernetes").await.unwrap();
    assert_eq!(slice.endpoints.unwrap_or_default()[0].addresses, ["192.0.2.7"]);
    assert_eq!(slice.ports.unwrap_or_default()[0].port, port);
}

#[tokio::test]
async fn admission_plugins_are_turned_on_and_off_by_kube_apiservers_flags() {
    let plugins = "--enable-admission-plugins=AlwaysPullImages,NamespaceExists";
    let server = Server::start_with(&[plugins, "--disable-admission-plugins", "Priority"]);
    let kubeconfig = Kubeconfig::read_from(&server.kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    let pods: Api<Pod> = Api::default_namespaced(kube::Client::try_from(config).unwrap());
    let pod = serde_json::json!({
        "metadata": { "name": "web" },
        "spec": { "containers": [{ "name": "web", "image": "nginx:1", "imagePullPolicy": "Never" }] },
    });
    let pod = serde_json::from_value(pod).unwrap();
    let spec = pods.create(&PostParams::default(), &pod).await.unwrap().spec.unwrap();
    assert_eq!(spec.containers[0].image_pull_policy.as_deref(), Some("Always"));
    assert_eq!(spec.priority, None);
    assert_eq!(spec.service_account_name, None, "off by default, as in envtest");
}

#[test]
fn admission_plugins_that_are_not_there_are_refused_in_kube_apiservers_words() {
    for (flags, why) in [
        (
            &["--enable-admission-plugins=Nope"][..],
            "enable-admission-plugins plugin \"Nope\" is unknown",
        ),
        (
            &["--disable-admission-plugins=Priority,nope"],
            "disable-admission-plugins plugin \"nope\" is unknown",
        ),
        (
            &[
                "--enable-admission-plugins=Priority",
                "--disable-admission-plugins=Priority",
            ],
            "[Priority] in enable-admission-plugins and disable-admission-plugins overlapped",
        ),
        (
            &["--enable-admission-plugins=AlwaysDeny"],
            "--enable-admission-plugins=AlwaysDeny is not possible here: this server does not have it",
        ),
        (
            &["--enable-admission-plugins=ImagePolicyWebhook"],
            "failed to apply admission: couldn't init admission plugin \"ImagePolicyWebhook\": no config specified",
        ),
        (
            &["--admission-control-config-file=/absent.yaml"],
            "unable to read admission control configuration from \"/absent.yaml\" [No such file or directory (os error 2)]",
        ),
    ] {
        let arguments: Vec<&str> = ["apiserver", "--secure-port=0"].iter().chain(flags).copied().collect();
        assert_eq!(refusal(&arguments), (Some(1), format!("error: {why}")));
    }
}

#[test]
fn it_stops_cleanly_when_interrupted_or_terminated_or_without_a_terminal() {
    for signal in endings() {
        let (status, _) = Server::start().stop(signal);
        assert_eq!(status.code(), Some(0), "{signal}");
    }
}

#[test]
fn a_temporary_kubeconfig_goes_with_the_server() {
    for signal in endings() {
        let home = tempfile::tempdir().unwrap();
        let (mut child, path) = without_a_place(kubewright(), home.path());
        assert!(path.starts_with(home.path()) && path.is_file());
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{signal}");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "{signal}");
    }
}

/// Whoever starts it so wants it to go on when the terminal is closed.
#[cfg(target_os = "linux")]
#[test]
fn a_server_that_is_to_ignore_its_terminal_does() {
    let home = tempfile::tempdir().unwrap();
    let mut nohup = Command::new("nohup");
    nohup.arg(env!("CARGO_BIN_EXE_kubewright"));
    let (mut child, _) = without_a_place(nohup, home.path());
    assert!(ignores_hangup(&child.id().to_string()));
    send(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Whoever holds the other end of the pipe may be killed, which no server can be told of otherwise.
#[test]
fn a_server_can_end_with_the_program_that_started_it() {
    let home = tempfile::tempdir().unwrap();
    let mut command = kubewright();
    command.stdin(Stdio::piped());
    let (mut child, path) = started(command, &["--stop-with-stdin"], home.path());
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"what is written is ignored\n").unwrap();
    assert!(path.is_file() && child.try_wait().unwrap().is_none());
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_server_that_is_not_told_so_outlives_its_standard_input() {
    let home = tempfile::tempdir().unwrap();
    let mut command = kubewright();
    command.stdin(Stdio::null());
    let (mut child, _) = without_a_place(command, home.path());
    assert!(child.try_wait().unwrap().is_none());
    send(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

fn send(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
    assert!(sent.success());
}

/// A server that was not told where to put its kubeconfig, and where it has put it.
fn without_a_place(command: Command, temporary: &Path) -> (Child, PathBuf) {
    started(command, &[], temporary)
}

/// The same with more flags.
fn started(mut command: Command, flags: &[&str], temporary: &Path) -> (Child, PathBuf) {
    let mut child = command
        .args(["apiserver", "--secure-port=0"])
        .args(flags)
        .env("TMPDIR", temporary)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let path = loop {
        let mut line = String::new();
        assert_ne!(std::io::BufRead::read_line(&mut stdout, &mut line).unwrap(), 0);
        if let Some((_, path)) = line.trim_end().split_once("KUBECONFIG=") {
            break PathBuf::from(path);
        }
    };
    (child, path)
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
        "--advertise-address <ADDRESS>",
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
