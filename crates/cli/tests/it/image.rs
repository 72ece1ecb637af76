//! `kubewright image` and `kubewright apiserver --run-images` as a user meets them.
#![cfg(unix)]

use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{LogParams, PostParams};

use crate::support::{Server, kubewright};

fn run(arguments: &[&str]) -> Output {
    kubewright()
        .args(arguments)
        .env_remove("KUBECONFIG")
        .env("HOME", "/nowhere")
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The one line with which a command is refused.
fn refusal(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    text.trim_end().to_owned()
}

fn program(path: &Path) -> String {
    std::fs::write(path, "#!/bin/true\n").unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn an_image_is_loaded_listed_and_removed() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("images").display().to_string();
    let binary = program(&home.path().join("manager"));
    let at = |words: &[&'static str]| [words, &["--images", folder.as_str()]].concat();
    assert!(said(&run(&at(&["image", "list"]))).starts_with("No images are loaded"));
    let loaded = run(&["image", "load", "shop", "--binary", &binary, "--images", &folder]);
    let loaded = said(&loaded);
    assert!(loaded.starts_with("image shop:latest loaded from "), "{loaded}");
    let listed = said(&run(&at(&["image", "list"])));
    assert!(listed.starts_with("NAME          ID             LOADED"), "{listed}");
    assert!(
        listed.contains("\nshop:latest   ") && listed.contains("/manager\n"),
        "{listed}"
    );
    assert_eq!(said(&run(&at(&["image", "remove", "shop"]))), "image shop removed\n");
    assert_eq!(
        refusal(&at(&["image", "remove", "shop"])),
        "error: no image shop is loaded; `kubewright image list` shows those that are"
    );
}

#[test]
fn an_image_is_loaded_into_the_cluster_of_the_kubeconfig() {
    let home = tempfile::tempdir().unwrap();
    let kubeconfig = home.path().join("kubeconfig");
    let binary = program(&home.path().join("manager"));
    let load = ["image", "load", "shop", "--binary", &binary, "--kubeconfig"];
    let load = [&load[..], &[kubeconfig.to_str().unwrap()]].concat();
    let told = refusal(&load);
    assert!(
        told.contains("runs no images") && told.contains("--run-images"),
        "{told}"
    );
    std::fs::create_dir(home.path().join("kubeconfig.images")).unwrap();
    let told = refusal(&load);
    assert!(told.contains("is open to others"), "{told}");
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(home.path().join("kubeconfig.images"), mode).unwrap();
    said(&run(&load));
    let told = refusal(&["image", "list"]);
    assert!(told.contains("no cluster is configured that runs images"), "{told}");
}

#[test]
fn what_is_no_image_or_no_binary_is_one_sentence() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("images").display().to_string();
    let load = |name: &str, binary: &str| refusal(&["image", "load", name, "--binary", binary, "--images", &folder]);
    let told = load("../up", &program(&home.path().join("manager")));
    assert!(told.starts_with("error: \"../up\" is no name of an image"), "{told}");
    let told = load("shop", home.path().to_str().unwrap());
    assert!(told.contains("is a folder: name the binary in it"), "{told}");
    let told = load("shop", "/nowhere/at/all");
    assert!(told.starts_with("error: cannot use /nowhere/at/all: "), "{told}");
}

#[test]
fn programs_are_run_only_where_nobody_else_can_have_them_run() {
    let start = |words: &[&str]| refusal(&[&["apiserver", "--secure-port=0", "--run-images"], words].concat());
    for (words, wanted) in [
        (&[][..], "--run-images needs the controller"),
        (&["--controllers=gc,deployment"], "add --controllers=all"),
        (
            &["--controllers=all", "--anonymous-auth=true"],
            "cannot go with --anonymous-auth=true",
        ),
        (
            &["--controllers=all", "--authorization-mode=AlwaysAllow"],
            "cannot go with --authorization-mode=AlwaysAllow",
        ),
        (
            &["--controllers=all", "--bind-address=0.0.0.0"],
            "0.0.0.0 is not a loopback address",
        ),
    ] {
        let told = start(words);
        assert!(told.contains(wanted), "{words:?}: {told}");
    }
}

#[test]
fn the_help_says_what_is_run_and_how() {
    let help = said(&run(&["apiserver", "--help"]));
    for words in [
        "--run-images[=<WHICH>]",
        "kubewright image load",
        "CONTAINER_SANDBOX_MOUNT_POINT",
    ] {
        assert!(help.contains(words), "{words} is not in\n{help}");
    }
    let help = said(&run(&["image", "--help"]));
    assert!(
        help.contains("load") && help.contains("list") && help.contains("remove") && !help.contains("guard"),
        "{help}"
    );
}

/// This command is loaded as an image, and a Pod runs another server with it.
async fn run_a_server(server: &Server) -> (kube::Api<Pod>, String) {
    let kubeconfig = server.kubeconfig.to_str().unwrap();
    let binary = env!("CARGO_BIN_EXE_kubewright");
    said(&run(&[
        "image",
        "load",
        "inner:dev",
        "--binary",
        binary,
        "--kubeconfig",
        kubeconfig,
    ]));
    let config = kube::config::Kubeconfig::read_from(&server.kubeconfig).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(config, &options).await.unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let pods: kube::Api<Pod> = kube::Api::default_namespaced(client);
    let pod: Pod = serde_json::from_value(serde_json::json!({
        "metadata": { "name": "inner" },
        "spec": { "terminationGracePeriodSeconds": 5, "containers": [{
            "name": "main", "image": "inner:dev", "args": ["apiserver", "--secure-port=0"],
        }] },
    }))
    .unwrap();
    // Refused until there is an account for it, and without a log until it runs.
    let made = || async { pods.create(&PostParams::default(), &pod).await.ok().map(drop) };
    tries(made).await;
    let told = || async {
        let log = pods.logs("inner", &LogParams::default()).await.ok()?;
        let line = log.lines().find_map(|line| line.split_once("server on https://"))?;
        Some(line.1.to_owned())
    };
    let address = tries(told).await;
    (pods, address)
}

/// Tries until it works.
async fn tries<T, F: Future<Output = Option<T>>>(action: impl Fn() -> F) -> T {
    let trying = async {
        loop {
            if let Some(done) = action().await {
                return done;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), trying).await.unwrap()
}

#[test]
fn a_guard_removes_no_folder_but_one_that_a_server_made() {
    let home = tempfile::tempdir().unwrap();
    let keys = home.path().join("keys");
    std::fs::create_dir(&keys).unwrap();
    std::fs::set_permissions(&keys, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::write(keys.join("id"), "secret").unwrap();
    // Nobody tells it anything.
    let guard = || said(&run(&["image", "guard", keys.to_str().unwrap()]));
    guard();
    assert_eq!(std::fs::read_to_string(keys.join("id")).unwrap(), "secret");
    std::fs::write(keys.join(".kubewright-pods"), "").unwrap();
    guard();
    assert!(!keys.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_and_their_files_do_not_outlive_a_server_that_is_killed() {
    let temporary = tempfile::tempdir().unwrap();
    let mut server = Server::start_in(temporary.path(), &["--controllers=all", "--run-images"]);
    assert!(server.greeting.contains("KUBECONFIG="));
    let (_, address) = run_a_server(&server).await;
    TcpStream::connect(&address).unwrap();
    let (status, _) = server.stop("KILL");
    assert!(!status.success());
    tries(|| async { TcpStream::connect(&address).is_err().then_some(()) }).await;
    let is_empty = || std::fs::read_dir(temporary.path()).unwrap().next().is_none();
    tries(|| async { is_empty().then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_and_their_files_go_with_the_server() {
    let temporary = tempfile::tempdir().unwrap();
    let mut server = Server::start_in(temporary.path(), &["--controllers=all", "--run-images"]);
    let (_, address) = run_a_server(&server).await;
    assert_ne!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
    let (status, rest) = server.stop("TERM");
    assert!(
        status.success() && rest.contains("kubewright image load NAME --binary PATH"),
        "{rest}"
    );
    assert!(TcpStream::connect(&address).is_err());
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}
