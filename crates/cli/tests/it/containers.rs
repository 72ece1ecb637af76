//! kubectl and the containers of `kubewright apiserver --run-images`: exec, cp, attach, port-forward, debug. The image that they run is this
//! machine's shell, and this command where something has to listen. Without `$KUBECTL` the tests are skipped, and say so.
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use kubewright_test_support::free_port;

use crate::support::{Server, kubewright};

/// Longer than anything here takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// What kubectl speaks to containers: what it prefers,
const WEBSOCKET: Environment = &[];
/// and what those before 1.31 know.
const SPDY: Environment = &[
    ("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false"),
    ("KUBECTL_PORT_FORWARD_WEBSOCKETS", "false"),
];

type Environment = &'static [(&'static str, &'static str)];

/// Does the same with each of them, in a cluster of its own.
fn over_both(scenario: impl Fn(&Cluster)) {
    for environment in [WEBSOCKET, SPDY] {
        let Some(cluster) = Cluster::start(environment) else {
            return;
        };
        scenario(&cluster);
    }
}

/// A cluster whose Pods run the shell of this machine, and the kubectl that talks to it.
struct Cluster {
    kubectl: PathBuf,
    server: Server,
    home: tempfile::TempDir,
    environment: Environment,
}

impl Cluster {
    /// `None` when there is no kubectl.
    fn start(environment: Environment) -> Option<Cluster> {
        let kubectl = kubewright_test_support::kubectl()?;
        let cluster = Cluster {
            kubectl,
            server: Server::start_with(&["--controllers=all", "--run-images"]),
            home: tempfile::tempdir().unwrap(),
            environment,
        };
        cluster.load("shell:dev", Path::new("/bin/sh"), &[]);
        // Pods are refused before there is an account for them.
        tries(|| cluster.run(&["get", "serviceaccount", "default"], "").status.success());
        Some(cluster)
    }

    fn load(&self, image: &str, binary: &Path, flags: &[&str]) {
        let loaded = kubewright()
            .args(["image", "load", image, "--binary"])
            .arg(binary)
            .arg("--kubeconfig")
            .arg(&self.server.kubeconfig)
            .args(flags)
            .output()
            .unwrap();
        assert!(loaded.status.success(), "{loaded:?}");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.kubectl);
        command
            .args(arguments)
            .env("KUBECONFIG", &self.server.kubeconfig)
            // Its cache of discovery documents.
            .env("HOME", self.home.path())
            .envs(self.environment.iter().copied());
        command
    }

    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = self.command(arguments);
        let command = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It may end without reading.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    /// What kubectl prints, and what it says besides.
    fn does(&self, arguments: &[&str], input: &str) -> (String, String) {
        let output = self.run(arguments, input);
        assert!(output.status.success(), "kubectl {arguments:?}: {output:?}");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    }

    /// What kubectl says when it fails, and the code that it ends with.
    fn fails(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments, "");
        assert!(
            !output.status.success(),
            "kubectl {arguments:?} was to fail: {output:?}"
        );
        let text = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap(), String::from_utf8(text).unwrap())
    }

    /// Makes a Pod of a container with these fields, and waits until it is ready.
    fn pod(&self, name: &str, container: &str) {
        let pod = format!(
            r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}"}}, "spec": {{"terminationGracePeriodSeconds": 1,
                "restartPolicy": "Never", "containers": [{{"name": "main", {container}}}]}}}}"#
        );
        self.does(&["create", "-f", "-"], &pod);
        let pod = format!("pod/{name}");
        self.does(&["wait", "--for=condition=Ready", "--timeout=60s", &pod], "");
    }

    /// Starts kubectl in the background.
    fn starts(&self, arguments: &[&str]) -> Background {
        let mut command = self.command(arguments);
        let command = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, lines) = channel();
        for from in [Box::new(out) as Box<dyn std::io::Read + Send>, Box::new(err)] {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(from).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        Background { child, lines }
    }

    /// Starts kubectl on a terminal.
    fn talks(&self, arguments: &[&str]) -> Talk {
        let (terminal, end_of_kubectl) = pty_process::blocking::open().unwrap();
        terminal.resize(pty_process::Size::new(20, 90)).unwrap();
        let command = pty_process::blocking::Command::new(&self.kubectl)
            .args(arguments)
            .env("KUBECONFIG", &self.server.kubeconfig)
            .env("HOME", self.home.path())
            .env("TERM", "xterm")
            .envs(self.environment.iter().copied());
        let child = command.spawn(end_of_kubectl).unwrap();
        let terminal = std::sync::Arc::new(terminal);
        let (sender, pieces) = channel();
        let from = std::sync::Arc::clone(&terminal);
        std::thread::spawn(move || {
            let mut buffer = [0; 1024];
            while let Ok(read @ 1..) = (&*from).read(&mut buffer) {
                let _ = sender.send(buffer[..read].to_vec());
            }
        });
        Talk {
            child,
            terminal,
            pieces,
            heard: String::new(),
        }
    }
}

/// Tries until it is so.
fn tries(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "it did not come about");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A kubectl that goes on.
struct Background {
    child: Child,
    lines: Receiver<String>,
}

impl Background {
    fn until(&self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut said = String::new();
        loop {
            match self
                .lines
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => said.extend([line.as_str(), "\n"]),
                Err(error) => panic!("it did not say {text:?} ({error}), but:\n{said}"),
            }
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A kubectl on a terminal.
struct Talk {
    child: Child,
    terminal: std::sync::Arc<pty_process::blocking::Pty>,
    pieces: Receiver<Vec<u8>>,
    heard: String,
}

impl Talk {
    fn says(&self, text: &str) {
        (&*self.terminal).write_all(text.as_bytes()).unwrap();
    }

    /// Waits until this is on the terminal, and forgets what came before.
    fn hears(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.heard.find(text) {
                self.heard = self.heard.split_off(at + text.len());
                return;
            }
            match self
                .pieces
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(piece) => self.heard += &String::from_utf8_lossy(&piece),
                Err(RecvTimeoutError::Timeout) => panic!("{text:?} is not in {:?}", self.heard),
                Err(RecvTimeoutError::Disconnected) => panic!("it ended, and {text:?} is not in {:?}", self.heard),
            }
        }
    }

    fn ends(mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            while let Ok(piece) = self.pieces.try_recv() {
                self.heard += &String::from_utf8_lossy(&piece);
            }
            assert!(Instant::now() < deadline, "it does not end: {:?}", self.heard);
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const WAITS: &str = r#""image": "shell:dev", "args": ["-c", "echo started; while :; do sleep 0.1; done"]"#;

#[test]
fn kubectl_exec_runs_the_program_of_the_image() {
    over_both(exec_runs_the_program_of_the_image);
}

fn exec_runs_the_program_of_the_image(cluster: &Cluster) {
    cluster.pod("shell", WAITS);
    let exec =
        |words: &[&'static str], input: &str| cluster.run(&[&["exec", "-i", "shell", "--"], words].concat(), input);
    let ran = exec(
        &[
            "sh",
            "-c",
            "echo out; echo err >&2; read line; echo \"read $line\"; exit 3",
        ],
        "a line\n",
    );
    assert_eq!(ran.status.code(), Some(3), "{ran:?}");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "out\nread a line\n");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        said.starts_with("err\n") && said.contains("command terminated with exit code 3"),
        "{said}"
    );
    // The end of what kubectl reads is the end of what the program reads.
    let long = "x".repeat(200_000);
    let (counted, _) = cluster.does(&["exec", "-i", "shell", "--", "sh", "-c", "wc -c"], &long);
    assert_eq!(counted.trim(), "200000");
    let (code, said) = cluster.fails(&["exec", "shell", "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!(code, 137, "{said}");

    let (code, said) = cluster.fails(&["exec", "shell", "--", "ls", "-l"]);
    assert_eq!(code, 1);
    let words = "exec failed: unable to start container process: exec: \"ls\": executable file not found in $PATH";
    assert!(said.contains(words), "{said}");
    let (_, said) = cluster.fails(&["exec", "shell", "-c", "other", "--", "sh"]);
    assert!(said.contains("container other is not valid for pod shell"), "{said}");
}

#[test]
fn kubectl_exec_has_a_terminal_that_follows_its_own() {
    over_both(exec_has_a_terminal_that_follows_its_own);
}

fn exec_has_a_terminal_that_follows_its_own(cluster: &Cluster) {
    cluster.pod("shell", WAITS);
    let mut talk = cluster.talks(&["exec", "-it", "shell", "--", "sh"]);
    // The size comes a moment after the beginning.
    talk.says("until stty size | grep '20 90'; do sleep 0.05; done; echo sized $?\n");
    talk.hears("20 90\r\n");
    talk.hears("sized 0\r\n");
    talk.terminal.resize(pty_process::Size::new(33, 44)).unwrap();
    talk.says("until stty size | grep '33 44'; do sleep 0.05; done; echo sized $?\n");
    talk.hears("33 44\r\n");
    talk.hears("sized 0\r\n");
    // The terminal repeats a line before the shell has read it: only the program itself says that it can be interrupted.
    talk.says(
        "sh -c 'trap \"echo caught; exit 5\" INT; echo begun; while :; do sleep 0.05; done'; echo interrupted $?\n",
    );
    talk.hears("begun\r\n");
    talk.says("\x03");
    talk.hears("caught\r\n");
    talk.hears("interrupted 5\r\n");
    talk.says("exit 4\n");
    assert_eq!(talk.ends(), Some(4));
}

#[test]
fn kubectl_cp_copies_files_and_folders_there_and_back() {
    over_both(cp_copies_files_and_folders_there_and_back);
}

fn cp_copies_files_and_folders_there_and_back(cluster: &Cluster) {
    cluster.pod("shell", WAITS);
    let home = tempfile::tempdir().unwrap();
    let there = home.path().join("there");
    std::fs::create_dir_all(there.join("deep/er")).unwrap();
    let large: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 253) as u8).collect();
    std::fs::write(there.join("deep/large"), &large).unwrap();
    std::fs::write(there.join("deep/er/empty"), "").unwrap();
    let long = "n".repeat(180);
    std::fs::write(there.join(&long), "long").unwrap();
    let path = |path: &Path| path.display().to_string();
    cluster.does(&["cp", &path(&there), "shell:/tmp"], "");
    let back = home.path().join("back");
    cluster.does(&["cp", "shell:/tmp/there", &path(&back)], "");
    assert!(std::fs::read(back.join("deep/large")).unwrap() == large);
    assert_eq!(std::fs::read(back.join("deep/er/empty")).unwrap(), b"");
    assert_eq!(std::fs::read(back.join(&long)).unwrap(), b"long");

    // A file under another name, in the folder that the container works in.
    let file = there.join("deep/large");
    cluster.does(&["cp", "--no-preserve", &path(&file), "shell:other"], "");
    cluster.does(&["cp", "shell:other", &path(&home.path().join("other"))], "");
    assert!(std::fs::read(home.path().join("other")).unwrap() == large);
    let (listed, _) = cluster.does(&["exec", "shell", "--", "sh", "-c", "ls -l other | cut -c1-10"], "");
    assert_eq!(listed, "-rw-r--r--\n");

    // Nothing of this machine is copied.
    let secret = home.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let (_, said) = cluster.fails(&[
        "cp",
        &format!("shell:{}", path(&secret)),
        &path(&home.path().join("stolen")),
    ]);
    assert!(said.contains("No such file or directory"), "{said}");
    assert!(!home.path().join("stolen").exists());
}

#[test]
fn kubectl_attach_talks_to_the_process_of_a_container() {
    over_both(attach_talks_to_the_process_of_a_container);
}

fn attach_talks_to_the_process_of_a_container(cluster: &Cluster) {
    let listens = r#""image": "shell:dev", "stdin": true, "stdinOnce": true, "args": ["-c", "while read line; do echo heard $line; done"]"#;
    cluster.pod("listens", listens);
    let (said, _) = cluster.does(&["attach", "-i", "listens"], "one\ntwo\n");
    assert_eq!(said, "heard one\nheard two\n");
    let (log, _) = cluster.does(&["logs", "listens"], "");
    assert_eq!(log, "heard one\nheard two\n");

    cluster.pod("terminal", r#""image": "shell:dev", "stdin": true, "tty": true"#);
    let mut talk = cluster.talks(&["attach", "-it", "terminal"]);
    talk.says("until stty size | grep '20 90'; do sleep 0.05; done; echo sized $?\n");
    talk.hears("sized 0\r\n");
    talk.says("exit\n");
    talk.ends();
    let done = "--for=jsonpath={.status.phase}=Succeeded";
    cluster.does(&["wait", done, "--timeout=60s", "pod/terminal"], "");
}

/// What a server answers somebody who does not say who they are.
fn anonymously(url: &str, path: &str) -> String {
    let mut config = kube::Config::new(url.parse().unwrap());
    config.accept_invalid_certs = true;
    let asking = async {
        let client = kube::Client::try_from(config).unwrap();
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        client.request_text(request).await.unwrap()
    };
    tokio::runtime::Runtime::new().unwrap().block_on(asking)
}

#[test]
fn kubectl_port_forward_reaches_what_the_pod_listens_on_and_nothing_else() {
    over_both(port_forward_reaches_what_the_pod_listens_on_and_nothing_else);
}

fn port_forward_reaches_what_the_pod_listens_on_and_nothing_else(cluster: &Cluster) {
    let binary = Path::new(env!("CARGO_BIN_EXE_kubewright"));
    cluster.load("inner:dev", binary, &["--program=/bin/shell=/bin/sh"]);
    let port = free_port();
    let serves = format!(r#""image": "inner:dev", "args": ["apiserver", "--secure-port={port}"]"#);
    cluster.pod("inner", &serves);
    tries(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
    let forward = cluster.starts(&["port-forward", "inner", &format!(":{port}")]);
    let line = forward.until("Forwarding from 127.0.0.1:");
    let local = line
        .split(['>', ':', ' '])
        .find_map(|word| word.parse::<u16>().ok())
        .unwrap();
    let url = format!("https://127.0.0.1:{local}");
    let version = anonymously(&url, "/version");
    assert!(version.contains("v1.36"), "{version}");

    let proxy = format!("/api/v1/namespaces/default/pods/https:inner:{port}/proxy/version");
    let (version, _) = cluster.does(&["get", "--raw", &proxy], "");
    assert!(version.contains("v1.36"), "{version}");
    // A program that was loaded with the binary, under its own path.
    let (said, _) = cluster.does(&["exec", "inner", "--", "shell", "-c", "echo $0 $HOSTNAME"], "");
    assert_eq!(said, "shell inner\n");

    // This listens on this machine, but it is not the Pod's.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let foreign = other.local_addr().unwrap().port();
    let forward = cluster.starts(&["port-forward", "inner", &format!(":{foreign}")]);
    let line = forward.until("Forwarding from 127.0.0.1:");
    let local = line
        .split(['>', ':', ' '])
        .find_map(|word| word.parse::<u16>().ok())
        .unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", local)).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(answer, b"");
    forward.until("connection refused");
    let proxy = format!("/api/v1/namespaces/default/pods/inner:{foreign}/proxy/");
    let (_, said) = cluster.fails(&["get", "--raw", &proxy]);
    assert!(said.contains("connection refused"), "{said}");
    assert_eq!(other.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn kubectl_debug_adds_a_container_and_copies_a_pod() {
    over_both(debug_adds_a_container_and_copies_a_pod);
}

fn debug_adds_a_container_and_copies_a_pod(cluster: &Cluster) {
    cluster.pod("shell", WAITS);
    let mut talk = cluster.talks(&["debug", "-it", "shell", "--image=shell:dev", "-c", "debugger"]);
    talk.says("echo I am $HOSTNAME\n");
    talk.hears("I am shell\r\n");
    talk.says("exit 5\n");
    talk.ends();
    let code = "--for=jsonpath={.status.ephemeralContainerStatuses[0].state.terminated.exitCode}=5";
    cluster.does(&["wait", code, "--timeout=60s", "pod/shell"], "");
    let (log, _) = cluster.does(&["logs", "shell", "-c", "debugger"], "");
    assert!(log.contains("I am shell"), "{log:?}");

    let copy = [
        "debug",
        "shell",
        "--image=shell:dev",
        "--copy-to=copy",
        "-c",
        "beside",
        "--",
        "sh",
        "-c",
        "echo beside; exec sleep 600",
    ];
    cluster.does(&copy, "");
    cluster.does(&["wait", "--for=condition=Ready", "--timeout=60s", "pod/copy"], "");
    tries(|| cluster.does(&["logs", "copy", "-c", "beside"], "").0 == "beside\n");

    // An image that is not loaded is simulated, and runs.
    cluster.does(&["debug", "shell", "--image=busybox", "-c", "simulated"], "");
    let started = "-o=jsonpath={.status.ephemeralContainerStatuses[1].state.running.startedAt}";
    tries(|| !cluster.does(&["get", "pod", "shell", started], "").0.is_empty());
    let (_, said) = cluster.fails(&["exec", "shell", "-c", "simulated", "--", "sh"]);
    assert!(said.contains("container simulated of Pod shell is simulated"), "{said}");
}

#[test]
fn kubectl_is_told_that_there_is_no_process_in_a_simulated_pod() {
    let Some(cluster) = Cluster::start(WEBSOCKET) else {
        return;
    };
    cluster.does(&["run", "nginx", "--image=nginx"], "");
    cluster.does(&["wait", "--for=condition=Ready", "--timeout=60s", "pod/nginx"], "");
    for words in [
        &["exec", "nginx", "--", "ls"][..],
        &["attach", "nginx"],
        &["cp", "nginx:/etc", "etc"],
    ] {
        let (_, said) = cluster.fails(words);
        assert!(
            said.contains("the containers of Pod \"nginx\" are simulated"),
            "{words:?}: {said}"
        );
    }
}
