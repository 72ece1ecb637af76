//! Commands in containers, clients that attach to them, and their ports.

use std::future::Future;
use std::time::Duration;

use futures_util::stream;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams};
use kubewright_controllers::process::{
    CommandEnd, CommandStreams, ContainerCommand, PodProcesses, TerminalSize, UnloadedImages,
};
use kubewright_test_support::free_port;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::mpsc;

use super::support::{Called, Cluster, ended, eventually, gone, loaded, phase, pod, waiting, with};

const PATIENCE: Duration = Duration::from_mins(1);

/// The client's side of a command.
struct Client {
    stdin: Option<DuplexStream>,
    stdout: DuplexStream,
    stderr: DuplexStream,
    sizes: mpsc::UnboundedSender<TerminalSize>,
}

fn streams() -> (CommandStreams, Client) {
    let (stdin, to_stdin) = duplex(1024);
    let (from_stdout, stdout) = duplex(1024);
    let (from_stderr, stderr) = duplex(1024);
    let (sizes, mut received) = mpsc::unbounded_channel();
    let streams = CommandStreams {
        stdin: Box::pin(stdin),
        stdout: Box::pin(stdout),
        stderr: Box::pin(stderr),
        sizes: Box::pin(stream::poll_fn(move |context| received.poll_recv(context))),
    };
    let client = Client {
        stdin: Some(to_stdin),
        stdout: from_stdout,
        stderr: from_stderr,
        sizes,
    };
    (streams, client)
}

impl Client {
    async fn say(&mut self, text: &str) {
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until this was said.
    async fn hears(&mut self, wanted: &str) -> String {
        let mut heard = Vec::new();
        let reading = async {
            while !String::from_utf8_lossy(&heard).contains(wanted) {
                let mut buffer = [0; 512];
                match self.stdout.read(&mut buffer).await.unwrap() {
                    0 => panic!("{wanted:?} was not said: {:?}", String::from_utf8_lossy(&heard)),
                    read => heard.extend_from_slice(&buffer[..read]),
                }
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, reading).await;
        let heard = String::from_utf8_lossy(&heard).into_owned();
        assert!(in_time.is_ok(), "{wanted:?} was not said: {heard:?}");
        heard
    }
}

fn command(container: &str, words: &[&str], terminal: bool) -> ContainerCommand {
    ContainerCommand {
        container: container.to_owned(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        terminal,
    }
}

/// Runs a command that gets this to read: how it ended, what it wrote, and its messages.
async fn run(processes: PodProcesses, words: &[&str], stdin: &[u8]) -> (CommandEnd, Vec<u8>, String) {
    let (streams, mut client) = streams();
    let mut input = client.stdin.take().unwrap();
    let (mut out, mut err) = (Vec::new(), String::new());
    let all = async {
        tokio::join!(
            processes.exec(command("main", words, false), streams),
            async {
                // A command that does not read it is gone before all is written.
                let _ = input.write_all(stdin).await;
                drop(input);
            },
            client.stdout.read_to_end(&mut out),
            client.stderr.read_to_string(&mut err),
        )
        .0
    };
    let end = tokio::time::timeout(PATIENCE, all).await.unwrap();
    (end, out, err)
}

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap()
}

/// A Pod whose container runs on.
async fn stays(cluster: &Cluster, fields: serde_json::Value) -> Pod {
    let made = cluster
        .create::<Pod>(with(pod("stays", "wait", "Always"), fields))
        .await;
    cluster.prints("stays", "here to stay").await;
    made
}

#[tokio::test]
async fn a_command_is_the_binary_of_the_image_started_as_the_container_was() {
    let cluster = Cluster::start().await;
    let mut with_volume = with(
        pod("stays", "wait", "Always"),
        json!({ "workingDir": "/work", "volumeMounts": [{ "name": "data", "mountPath": "/data" }] }),
    );
    with_volume["spec"]["volumes"] = json!([{ "name": "data", "emptyDir": {} }]);
    let made = cluster.create::<Pod>(with_volume).await;
    cluster.prints("stays", "here to stay").await;
    let processes = || cluster.processes(&made).unwrap();
    let root = cluster
        .folder
        .join(made.metadata.uid.as_ref().unwrap())
        .join("root/main");
    let root = std::fs::canonicalize(root).unwrap();

    let (end, out, err) = run(processes(), &["/bin/child", "look", "--file=/data/x"], b"").await;
    let out = String::from_utf8(out).unwrap();
    assert_eq!((end, err.as_str()), (CommandEnd::Exited(0), ""));
    let words = format!("words [\"/bin/child\", \"look\", \"--file={}/data/x\"]", root.display());
    let folder = format!("folder {}/work", root.display());
    // Nothing of ours is open in it; what we were given ourselves is also open in the program that started us.
    let given = std::fs::read_dir(format!("/proc/{}/fd", std::os::unix::process::parent_id()));
    let given = given.into_iter().flatten().flatten();
    let given: Vec<_> = given
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .collect();
    let lines = out.lines().filter(|line| match line.strip_prefix("open ") {
        Some(target) => !given.contains(&std::path::PathBuf::from(target)),
        None => true,
    });
    let expected = [words.as_str(), folder.as_str(), "role wait"];
    assert_eq!(lines.collect::<Vec<_>>(), expected);

    let large = vec![b'x'; 200_000];
    let (end, out, err) = run(processes(), &["child", "copy"], &large).await;
    assert_eq!(
        (end, out, err.as_str()),
        (CommandEnd::Exited(5), large, "copied 200000 bytes\n")
    );
    assert_eq!(
        run(processes(), &["child", "kill"], b"").await.0,
        CommandEnd::Exited(137)
    );
    cluster.stop().await;
}

#[tokio::test]
async fn what_an_image_or_a_pod_lacks_is_said_in_the_words_of_a_node() {
    let cluster = Cluster::start().await;
    let mut mixed = pod("mixed", "wait", "Always");
    let simulated = json!({ "name": "simulated", "image": "nginx" });
    mixed["spec"]["containers"].as_array_mut().unwrap().push(simulated);
    let made = cluster.create::<Pod>(mixed).await;
    cluster.prints("mixed", "here to stay").await;
    let processes = || cluster.processes(&made).unwrap();
    let failed = |end: CommandEnd| match end {
        CommandEnd::Failed(why) => why,
        CommandEnd::Exited(code) => panic!("it ended with {code}"),
    };
    let exec = |container: &'static str, words: &'static [&'static str]| {
        let processes = processes();
        async move { failed(processes.exec(command(container, words, false), streams().0).await) }
    };
    let runtime = "failed to exec in container: OCI runtime exec failed: exec failed: unable to \
                   start container process: ";
    assert_eq!(
        exec("main", &["ls", "-l"]).await,
        format!(
            "{runtime}exec: \"ls\": executable file not found in $PATH of image \"child:dev\", which is the binary /child alone"
        )
    );
    let why = exec("main", &["/bin/sh", "-c", "id"]).await;
    assert!(
        why.starts_with(&format!(
            "{runtime}exec: \"/bin/sh\": stat /bin/sh: no such file or directory"
        )),
        "{why}"
    );
    let why = exec("simulated", &["ls"]).await;
    assert!(
        why.starts_with("container simulated of Pod mixed is simulated"),
        "{why}"
    );

    cluster.create::<Pod>(pod("over", "fail", "Never")).await;
    let over = eventually(&cluster.pods, "over", |pod| phase(pod) == "Failed").await;
    let (streams, _client) = streams();
    let why = failed(cluster.processes(&over).unwrap().attach("main", streams).await);
    assert_eq!(why, "container not found (\"main\")");

    let simulated =
        json!({ "metadata": { "name": "nginx" }, "spec": { "containers": [{ "name": "web", "image": "nginx" }] } });
    let simulated = cluster.create::<Pod>(simulated).await;
    eventually(&cluster.pods, "nginx", |pod| phase(pod) == "Running").await;
    assert!(cluster.processes(&simulated).is_none());
    cluster.stop().await;
}

#[tokio::test]
async fn a_command_ends_with_its_client_its_container_and_the_kubelet() {
    let (cluster, called) = (Cluster::start().await, Called::listen().await);
    let made = stays(&cluster, json!({ "env": called.variable() })).await;
    for terminal in [false, true] {
        let (streams, client) = streams();
        let call = command("main", &["child", "call", "apart"], terminal);
        let calls = {
            // Without a terminal, a group of its own is out of reach.
            let call = if terminal {
                call
            } else {
                command("main", &["child", "call"], false)
            };
            let processes = cluster.processes(&made).unwrap();
            let running = tokio::spawn(processes.exec(call, streams));
            let calls = called.both().await;
            running.abort();
            calls
        };
        ended(calls).await;
        drop(client);
    }

    let call = |terminal| {
        let (streams, client) = streams();
        let processes = cluster.processes(&made).unwrap();
        let running = tokio::spawn(processes.exec(command("main", &["child", "call"], terminal), streams));
        (running, client)
    };
    let (running, _client) = call(false);
    let calls = called.both().await;
    cluster.pods.delete("stays", &DeleteParams::default()).await.unwrap();
    ended(calls).await;
    assert_eq!(in_time(running).await.unwrap(), CommandEnd::Exited(137));
    gone(&cluster.pods, "stays").await;

    let made = stays(&cluster, json!({ "env": called.variable() })).await;
    let (streams, _client) = streams();
    let processes = cluster.processes(&made).unwrap();
    let running = tokio::spawn(processes.exec(command("main", &["child", "call"], true), streams));
    let calls = called.both().await;
    let folder = cluster.folder.clone();
    cluster.stop().await;
    ended(calls).await;
    assert_eq!(in_time(running).await.unwrap(), CommandEnd::Exited(137));
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_command_has_a_terminal_of_the_size_of_the_clients() {
    // Shells start programs in the background with interrupts ignored, and what is ignored is passed on. A handler is not.
    let _interrupts = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt()).unwrap();
    let cluster = Cluster::start().await;
    let made = stays(&cluster, json!({})).await;
    let (streams, mut client) = streams();
    let processes = cluster.processes(&made).unwrap();
    let running = tokio::spawn(processes.exec(command("main", &["child", "converse"], true), streams));
    client.sizes.send(TerminalSize { columns: 100, rows: 30 }).unwrap();
    client.hears("ready\r\n").await;
    for (columns, rows) in [(100, 30), (40, 12)] {
        client.sizes.send(TerminalSize { columns, rows }).unwrap();
        // The size arrives by another way than the question.
        let wanted = format!("{columns} columns, {rows} rows, xterm\r\n");
        let asking = async {
            loop {
                client.say("size\n").await;
                if client.hears(" rows, ").await.contains(&wanted[..wanted.len() - 7]) {
                    break;
                }
            }
        };
        in_time(asking).await;
    }
    // Ctrl-C interrupts it.
    client.say("\x03").await;
    assert_eq!(in_time(running).await.unwrap(), CommandEnd::Exited(130));
    cluster.stop().await;
}

#[tokio::test]
async fn clients_attach_to_the_process_of_a_container() {
    let cluster = Cluster::start().await;
    let talks = |name: &str, fields: serde_json::Value| with(pod(name, "converse", "Never"), fields);
    let made = cluster.create::<Pod>(talks("open", json!({ "stdin": true }))).await;
    cluster.prints("open", "ready").await;
    let attach = |made: &Pod| {
        let (streams, client) = streams();
        let processes = cluster.processes(made).unwrap();
        let running = tokio::spawn(async move { processes.attach("main", streams).await });
        (running, client)
    };
    let (first, mut one) = attach(&made);
    one.say("one\n").await;
    assert_eq!(one.hears("heard one\n").await, "heard one\n");
    // The process goes on when a client is gone, and when one sends no more.
    first.abort();
    let (second, mut two) = attach(&made);
    two.say("two\n").await;
    two.hears("heard two\n").await;
    two.stdin = None;
    let (third, mut three) = attach(&made);
    three.say("three\n").await;
    three.hears("heard three\n").await;
    two.hears("heard three\n").await;
    three.say("fail\n").await;
    assert_eq!(in_time(second).await.unwrap(), CommandEnd::Exited(0));
    assert_eq!(in_time(third).await.unwrap(), CommandEnd::Exited(0));
    eventually(&cluster.pods, "open", |pod| phase(pod) == "Failed").await;
    let log = cluster.log("open", false).await;
    assert_eq!(log, "ready\nheard one\nheard two\nheard three\n");

    let made = cluster
        .create::<Pod>(talks("once", json!({ "stdin": true, "stdinOnce": true })))
        .await;
    cluster.prints("once", "ready").await;
    let (attached, mut client) = attach(&made);
    client.say("only\n").await;
    client.stdin = None;
    client.hears("nothing more to hear\n").await;
    assert_eq!(in_time(attached).await.unwrap(), CommandEnd::Exited(0));
    eventually(&cluster.pods, "once", |pod| phase(pod) == "Succeeded").await;

    let made = cluster
        .create::<Pod>(talks("terminal", json!({ "stdin": true, "tty": true })))
        .await;
    cluster.prints("terminal", "ready").await;
    let (attached, mut client) = attach(&made);
    client.sizes.send(TerminalSize { columns: 90, rows: 9 }).unwrap();
    let asking = async {
        loop {
            client.say("size\n").await;
            if client.hears(" rows, ").await.contains("90 columns, 9 rows") {
                break;
            }
        }
    };
    in_time(asking).await;
    // The end of what a terminal sends is a character.
    client.say("\x04").await;
    client.hears("nothing more to hear").await;
    assert_eq!(in_time(attached).await.unwrap(), CommandEnd::Exited(0));
    cluster.stop().await;
}

#[tokio::test]
async fn only_ports_are_reached_that_processes_of_the_pod_listen_on() {
    let cluster = Cluster::start().await;
    let port = free_port();
    let variables = json!({ "env": [{ "name": "PORT", "value": port.to_string() }] });
    let made = cluster
        .create::<Pod>(with(pod("web", "serve", "Always"), variables))
        .await;
    cluster.prints("web", "serving").await;
    let mut stream = cluster.processes(&made).unwrap().connect(port).await.unwrap();
    stream.write_all(b"GET /none HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");

    // This listens, but is not the Pod's; nor is what another Pod listens on.
    let other = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let foreign = other.local_addr().unwrap().port();
    let made = cluster.create::<Pod>(pod("stays", "wait", "Always")).await;
    cluster.prints("stays", "here to stay").await;
    for port in [foreign, port, free_port()] {
        let error = cluster.processes(&made).unwrap().connect(port).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
        let words = format!("dial tcp4 127.0.0.1:{port}: connect: connection refused");
        assert!(error.to_string().contains(&words), "{error}");
    }
    let waiting = tokio::time::timeout(Duration::from_millis(1), other.accept()).await;
    assert!(waiting.is_err());
    cluster.stop().await;
}

#[tokio::test]
async fn files_are_copied_in_and_out_of_a_container() {
    let cluster = Cluster::start().await;
    let mut with_volume = with(
        pod("stays", "wait", "Always"),
        json!({ "volumeMounts": [{ "name": "data", "mountPath": "/data" }] }),
    );
    with_volume["spec"]["volumes"] = json!([{ "name": "data", "emptyDir": {} }]);
    let made = cluster.create::<Pod>(with_volume).await;
    cluster.prints("stays", "here to stay").await;
    let processes = || cluster.processes(&made).unwrap();
    let folder = cluster.folder.join(made.metadata.uid.as_ref().unwrap());
    std::fs::create_dir(folder.join("volumes/data/sub")).unwrap();
    let large = vec![b'y'; 300_000];
    std::fs::write(folder.join("volumes/data/sub/file"), &large).unwrap();
    assert_eq!(
        run(processes(), &["test", "-d", "/data"], b"").await.0,
        CommandEnd::Exited(0)
    );
    assert_eq!(
        run(processes(), &["test", "-d", "/none"], b"").await.0,
        CommandEnd::Exited(1)
    );
    let (end, archive, err) = run(processes(), &["tar", "cf", "-", "/data"], b"").await;
    assert_eq!((end, err.as_str()), (CommandEnd::Exited(0), ""));
    let (end, _, err) = run(processes(), &["tar", "-xmf", "-", "-C", "/tmp"], &archive).await;
    assert_eq!((end, err.as_str()), (CommandEnd::Exited(0), ""));
    let copied = std::fs::read(folder.join("root/main/tmp/data/sub/file")).unwrap();
    assert!(copied == large);
    cluster.stop().await;
}

#[tokio::test]
async fn an_ephemeral_container_runs_if_its_image_is_loaded() {
    let cluster = Cluster::start().await;
    let made = stays(&cluster, json!({})).await;
    let add = |name: &'static str, image: &'static str| {
        let container = json!({
            "name": name, "image": image, "stdin": true, "tty": true, "env": [{ "name": "ROLE", "value": "converse" }],
        });
        let patch = Patch::Strategic(json!({ "spec": { "ephemeralContainers": [container] } }));
        let pods = cluster.pods.clone();
        async move {
            let parameters = PatchParams::default();
            pods.patch_subresource("ephemeralcontainers", "stays", &parameters, &patch)
                .await
                .unwrap();
        }
    };
    add("debugger", "child:dev").await;
    add("simulated", "busybox").await;
    let states = |pod: &Pod| serde_json::to_value(&pod.status.as_ref().unwrap().ephemeral_container_statuses).unwrap();
    let run = |pod: &Pod| {
        let states = states(pod);
        states[0]["state"]["running"].is_object() && states[1]["state"]["running"].is_object()
    };
    let seen = eventually(&cluster.pods, "stays", run).await;
    let ids = states(&seen);
    assert!(
        ids[0]["containerID"].as_str().unwrap().starts_with("process://"),
        "{ids}"
    );
    assert!(
        ids[1]["containerID"].as_str().unwrap().starts_with("simulated://"),
        "{ids}"
    );
    cluster.event("stays", "Container simulated is simulated").await;

    let (streams, mut client) = streams();
    let processes = cluster.processes(&made).unwrap();
    let attached = tokio::spawn(async move { processes.attach("debugger", streams).await });
    client.say("hello\n").await;
    client.hears("heard hello").await;
    client.say("fail\n").await;
    assert_eq!(in_time(attached).await.unwrap(), CommandEnd::Exited(0));
    let is_over = |pod: &Pod| states(pod)[0]["state"]["terminated"]["exitCode"] == 7;
    let over = eventually(&cluster.pods, "stays", is_over).await;
    assert_eq!(phase(&over), "Running");
    cluster.stop().await;

    let cluster = Cluster::with(loaded(), UnloadedImages::Refused).await;
    stays(&cluster, json!({})).await;
    let container = json!({ "name": "debugger", "image": "busybox" });
    let patch = Patch::Strategic(json!({ "spec": { "ephemeralContainers": [container] } }));
    let parameters = PatchParams::default();
    let pods = &cluster.pods;
    pods.patch_subresource("ephemeralcontainers", "stays", &parameters, &patch)
        .await
        .unwrap();
    let waits = |pod: &Pod| states(pod)[0]["state"]["waiting"]["reason"] == "ErrImagePull";
    let refused = eventually(&cluster.pods, "stays", waits).await;
    assert_eq!((phase(&refused), waiting(&refused).0.as_str()), ("Running", ""));
    cluster.stop().await;
}
