//! The processes of a folder through an API server: the embedded one, or a real one (`KUBEBUILDER_ASSETS`).

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use kubewright::extension::ApiServer;
use kubewright::kube::api::{Api, DeleteParams, ListParams};
use kubewright::operator::Operator;
use kubewright::serde_json::Value;
use kubewright::testing::TestEnv;
use kubewright_test_support as support;
use process_api::api::Process;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proc")
}

fn operator() -> Operator {
    process_api::operator(folder())
}

fn names(processes: &[Process]) -> Vec<&str> {
    let names = processes.iter().filter_map(|process| process.metadata.name.as_deref());
    names.collect()
}

/// A copy of the folder that a test may change.
fn copied() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for process in ["1", "42"] {
        std::fs::create_dir(copy.path().join(process)).unwrap();
        for file in ["status", "stat", "cmdline"] {
            let file = Path::new(process).join(file);
            std::fs::copy(folder().join(&file), copy.path().join(&file)).unwrap();
        }
    }
    std::fs::copy(folder().join("stat"), copy.path().join("stat")).unwrap();
    copy
}

#[kubewright::test]
async fn processes_are_listed_and_read() {
    let env = TestEnv::start(operator()).await;
    let processes: Api<Process> = Api::all(env.kube());
    let listed = processes.list(&ListParams::default()).await.unwrap();
    assert_eq!(names(&listed.items), ["1", "42"]);
    let nginx = processes.get("42").await.unwrap();
    assert_eq!(
        (nginx.spec.command.as_str(), nginx.spec.parent, nginx.spec.user),
        ("nginx", 1, 33)
    );
    let status = nginx.status.unwrap();
    assert_eq!(
        (status.state.as_str(), status.memory.as_deref()),
        ("Running", Some("10240Ki"))
    );
    assert_eq!(
        nginx.metadata.creation_timestamp.unwrap().0.to_string(),
        "2026-01-01T01:00:00Z"
    );
    let selected = ListParams::default().labels("ps.example.com/command=init");
    assert_eq!(names(&processes.list(&selected).await.unwrap().items), ["1"]);
    assert!(processes.get_opt("7").await.unwrap().is_none());
    assert!(processes.get_opt("042").await.unwrap().is_none());
}

#[kubewright::test]
async fn nobody_can_change_a_process() {
    let env = TestEnv::start(operator()).await;
    let processes: Api<Process> = Api::all(env.kube());
    let refused = processes
        .delete("1", &DeleteParams::default())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("not allowed") || refused.contains("not supported"),
        "{refused}"
    );
    let list = env
        .kube()
        .list_api_group_resources("ps.example.com/v1alpha1")
        .await
        .unwrap();
    let verbs = &list.resources[0].verbs;
    assert_eq!(verbs, &["get", "list", "watch"]);
}

#[kubewright::test]
async fn who_may_see_processes_is_for_the_cluster_to_say() {
    let env = TestEnv::start(operator()).await;
    let jane = env.as_user("jane", ["staff"]);
    let processes: Api<Process> = Api::all(jane.kube().clone());
    let refused = processes.list(&ListParams::default()).await.unwrap_err().to_string();
    assert!(
        refused.contains("User \"jane\" cannot list resource \"processes\""),
        "{refused}"
    );
    env.apply(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: staff-see-processes}, \
         roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: process-api-process-viewer-role}, \
         subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: staff}]}",
    )
    .await;
    for _ in 0..200 {
        if processes.list(&ListParams::default()).await.is_ok() {
            return;
        }
        kubewright::tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the role is not enough");
}

#[kubewright::test]
async fn a_test_sees_processes_come_and_go() {
    let copy = copied();
    let env = TestEnv::start(process_api::operator(copy.path())).await;
    env.eventually::<Process>("42", |process| process.spec.command == "nginx")
        .await;
    std::fs::remove_dir_all(copy.path().join("42")).unwrap();
    env.eventually_gone::<Process>("42").await;
}

#[kubewright::test]
async fn the_kind_can_be_tested_without_a_cluster() {
    let extension = operator();
    assert!(extension.api_extension().is_some());
    let rows = kubewright::extension::RowStore::<Process, _>::new(process_api::proc::ProcessFolder::at(folder()));
    let server: ApiServer = kubewright::extension::ExtensionServer::new()
        .rows(rows)
        .local_server()
        .await
        .unwrap();
    let processes: Api<Process> = Api::all(server.client());
    assert_eq!(
        processes.get("1").await.unwrap().spec.arguments,
        ["/sbin/init", "--log=quiet"]
    );
}

/// Runs kubectl against the environment.
struct Kubectl {
    program: PathBuf,
    kubeconfig: tempfile::NamedTempFile,
    home: tempfile::TempDir,
}

impl Kubectl {
    async fn of(env: &TestEnv) -> Option<Kubectl> {
        let program = support::kubectl()?;
        let kubeconfig = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(kubeconfig.path(), env.kubeconfig().await).unwrap();
        Some(Kubectl {
            program,
            kubeconfig,
            home: tempfile::tempdir().unwrap(),
        })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(words)
            .env("KUBECONFIG", self.kubeconfig.path())
            .env("HOME", self.home.path());
        command
    }

    async fn run(&self, words: &[&str]) -> Output {
        let mut command = self.command(words);
        kubewright::tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap()
    }

    async fn text(&self, words: &[&str]) -> String {
        let output = self.run(words).await;
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {words:?}: {error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

#[kubewright::test]
async fn kubectl_shows_processes() {
    let env = TestEnv::start(operator()).await;
    let Some(kubectl) = Kubectl::of(&env).await else { return };
    let table = kubectl.text(&["get", "processes"]).await;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "COMMAND", "STATE", "MEMORY", "AGE"]);
    assert_eq!(rows[1][..4], ["1", "init", "Sleeping", "2048Ki"]);
    assert_eq!(rows[2][..4], ["42", "nginx", "Running", "10240Ki"]);
    let wide = kubectl.text(&["get", "proc", "42", "-o", "wide", "--no-headers"]).await;
    assert_eq!(wide.split_whitespace().collect::<Vec<_>>()[4..6], ["33", "1"]);
    let selected = kubectl
        .text(&["get", "proc", "-l", "ps.example.com/command=init", "-o", "name"])
        .await;
    assert_eq!(selected, "process.ps.example.com/1\n");
    let described = kubectl.text(&["describe", "process", "42"]).await;
    assert!(
        described.contains("Command:") && described.contains("nginx: worker"),
        "{described}"
    );
    // The API server fetches the documents of other servers a moment after their kinds.
    let mut tries = 0;
    while !kubectl.run(&["explain", "process.spec.parent"]).await.status.success() && tries < 100 {
        kubewright::tokio::time::sleep(Duration::from_millis(100)).await;
        tries += 1;
    }
    let explained = kubectl.text(&["explain", "process.spec.parent"]).await;
    assert!(explained.contains("FIELD: parent <integer>"), "{explained}");
    assert!(explained.contains("The process that started it"), "{explained}");
    let json: Value =
        kubewright::serde_json::from_str(&kubectl.text(&["get", "proc", "1", "-o", "json"]).await).unwrap();
    assert_eq!(json["spec"]["arguments"][0], "/sbin/init");
    let refused = kubectl.run(&["delete", "process", "1"]).await;
    let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        refused.contains("MethodNotAllowed") || refused.contains("does not allow"),
        "{refused}"
    );
    let all = kubectl
        .text(&["api-resources", "--api-group=ps.example.com", "--no-headers"])
        .await;
    assert_eq!(
        all.split_whitespace().collect::<Vec<_>>(),
        ["processes", "proc", "ps.example.com/v1alpha1", "false", "Process"]
    );
}

#[kubewright::test]
async fn kubectl_watches_processes() {
    use std::io::{BufRead as _, BufReader};

    let copy = copied();
    let env = TestEnv::start(process_api::operator(copy.path())).await;
    let Some(kubectl) = Kubectl::of(&env).await else { return };
    let mut command = kubectl.command(&["get", "processes", "--watch", "--output-watch-events", "--no-headers"]);
    let mut watching = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let (send, mut lines) = kubewright::tokio::sync::mpsc::unbounded_channel();
    let output = BufReader::new(watching.stdout.take().unwrap());
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            drop(send.send(line));
        }
    });
    let mut next = async || {
        let line = kubewright::tokio::time::timeout(Duration::from_secs(30), lines.recv()).await;
        let line = line.expect("an event in time").expect("kubectl goes on");
        line.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(next().await, "ADDED 1 init");
    assert_eq!(next().await, "ADDED 42 nginx");
    let status = copy.path().join("42/status");
    let text = std::fs::read_to_string(&status).unwrap();
    std::fs::write(&status, text.replace("R (running)", "S (sleeping)")).unwrap();
    assert_eq!(next().await, "MODIFIED 42 nginx");
    std::fs::remove_dir_all(copy.path().join("42")).unwrap();
    assert_eq!(next().await, "DELETED 42 nginx");
    watching.kill().unwrap();
    watching.wait().unwrap();
}
