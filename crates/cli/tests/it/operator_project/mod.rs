//! A project whose operator is a shell script and whose cargo is another: what commands do with an operator, without compiling one.

mod operator;
mod two_colours;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kubewright_runtime::operator::Operator;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use self::operator::operator;
use self::two_colours::two_colours;
use crate::support::kubewright;

/// Nothing here takes longer, on however busy a machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// An operator that is a script: it answers `describe`, and else runs until it is told to stop, or until the command is gone: a test
/// that ends early kills it without a word.
const OPERATOR: &str = r#"#!/bin/sh
if [ "$1" = describe ]; then exec cat src/describe.json; fi
trap 'echo "down in order"; exit 0' INT TERM
echo "up with KUBECONFIG=$KUBECONFIG flags: $*"
while kill -0 "$PPID" 2>/dev/null; do sleep 0.05; done
"#;

/// A cargo that copies the script, unless it holds a mistake.
const CARGO: &str = r#"#!/bin/sh
echo built >> cargo.log
if grep -q MISTAKE src/operator.sh; then
  printf '{"reason":"compiler-message","message":{"level":"error","rendered":"error[E0425]: cannot find value\\n"}}\n'
  exit 101
fi
mkdir -p target
cmp -s src/operator.sh target/shop || cp src/operator.sh target/shop
printf '{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"shop"},"manifest_path":"%s/Cargo.toml","executable":"%s/target/shop"}\n' "$PWD" "$PWD"
"#;

/// A project on disk.
pub(crate) struct TestProject {
    folder: TempDir,
}

impl TestProject {
    pub(crate) fn new() -> Self {
        let project = TestProject {
            folder: tempfile::tempdir().unwrap(),
        };
        project.write(
            "PROJECT",
            "domain: example.com\nlayout:\n- kubewright.dev/v1\nprojectName: shop\nversion: \"3\"\n",
        );
        project.write("Cargo.toml", "[package]\nname = \"shop\"\n");
        project.script("src/operator.sh", OPERATOR);
        project.script("bin/cargo", CARGO);
        project.describe(&description(&operator(), &[boats()]));
        project
    }

    /// A project whose operator is a real one.
    pub(crate) fn real() -> Self {
        let project = TestProject::new();
        project.run_program("shop_operator", "tests/it/operator_project/program.rs");
        let sample = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sample\n";
        project.write("config/samples/v1_configmap.yaml", sample);
        project
    }

    /// The operator of a real project, after an edit that makes two of its controllers change the sample for ever.
    pub(crate) fn edit_so_that_it_loops(&self) {
        self.describe(&description(&two_colours(), &[boats()]));
        self.run_program("looping_operator", "tests/it/operator_project/looping.rs");
    }

    fn run_program(&self, name: &str, source: &str) {
        let program = kubewright_test_support::example_program(env!("CARGO_MANIFEST_DIR"), name, source);
        let script = format!(
            "#!/bin/sh\nif [ \"$1\" = describe ]; then exec cat src/describe.json; fi\n{}exec '{}' \"$@\"\n",
            own_ports(&["webhook-port="]),
            program.display()
        );
        self.script("src/operator.sh", &script);
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // In one step, so that nobody who looks sees half of it.
        let half = path.with_extension("half");
        let half = half.with_file_name(format!(".{}", half.file_name().unwrap().to_str().unwrap()));
        fs::write(&half, text).unwrap();
        if let Ok(before) = fs::metadata(&path) {
            fs::set_permissions(&half, before.permissions()).unwrap();
        }
        fs::rename(half, path).unwrap();
    }

    pub(crate) fn script(&self, name: &str, text: &str) {
        self.write(name, text);
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What the operator says of itself.
    pub(crate) fn describe(&self, description: &Value) {
        self.write("src/describe.json", &description.to_string());
    }

    /// Whether anything was built.
    pub(crate) fn was_built(&self) -> bool {
        self.path("cargo.log").exists()
    }

    /// The command, in the project's folder, with a kubeconfig or with none anywhere.
    pub(crate) fn command(&self, kubeconfig: Option<&Path>, arguments: &[&str]) -> Command {
        let mut command = kubewright();
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.path("bin")).chain(std::env::split_paths(&folders));
        let path = std::env::join_paths(folders).unwrap();
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("CARGO", self.path("bin/cargo"))
            .env("PATH", path)
            .env("HOME", self.path("home"))
            .env_remove("KUBECONFIG")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .env_remove("ENABLE_WEBHOOKS")
            .env_remove("WATCH_NAMESPACE")
            .stdin(Stdio::null());
        if let Some(kubeconfig) = kubeconfig {
            command.env("KUBECONFIG", kubeconfig);
        }
        command
    }

    /// Runs the command to its end.
    pub(crate) fn run(&self, kubeconfig: &Path, arguments: &[&str]) -> CommandResult {
        CommandResult::of(&self.command(Some(kubeconfig), arguments).output().unwrap())
    }

    /// Starts the command.
    pub(crate) fn start(&self, kubeconfig: Option<&Path>, arguments: &[&str]) -> Running {
        Running::start(self.command(kubeconfig, arguments))
    }
}

/// What an operator says of itself, with kinds.
pub(crate) fn description(operator: &Operator, definitions: &[Value]) -> Value {
    let mut description = serde_json::to_value(operator.describe()).unwrap();
    description["definitions"] = definitions.into();
    description
}

/// The kind `Boat`.
pub(crate) fn boats() -> Value {
    kind("Boat", "boats")
}

/// A kind with a colour.
pub(crate) fn kind(kind: &str, plural: &str) -> Value {
    json!({
        "group": "shop.example.com", "version": "v1", "kind": kind, "plural": plural, "namespaced": true,
        "ty": format!("shop::api::v1::{kind}"),
        "definition": {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.shop.example.com") },
            "spec": {
                "group": "shop.example.com", "scope": "Namespaced",
                "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
                "versions": [{ "name": "v1", "served": true, "storage": true }],
            },
        },
        "schema": {
            "title": kind, "type": "object", "required": ["spec"],
            "properties": { "spec": { "type": "object", "properties": { "colour": { "type": "string" } } } },
        },
    })
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct CommandResult {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandResult {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        CommandResult {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// What it printed, if it went well.
    #[track_caller]
    pub(crate) fn fine(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// The error it ended with.
    #[track_caller]
    pub(crate) fn error(self) -> String {
        assert_eq!(self.code, Some(1), "{self:?}");
        let error = self
            .stderr
            .find("error: ")
            .map(|at| self.stderr[at..].trim_end().to_owned());
        error.unwrap_or_else(|| panic!("no error: {}", self.stderr))
    }
}

/// A command under way. Dropped, it is killed.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    /// What it said so far.
    pub(crate) said: String,
}

/// The lines of an operator's script that give it ports of its own, for probes and for these flags, unless it is told others: two operators that
/// look for a free one at the same time may find the same.
pub(crate) fn own_ports(flags: &[&str]) -> String {
    let probes = "health-probe-bind-address=127.0.0.1:";
    let lines = std::iter::once(&probes).chain(flags).map(|flag| {
        let port = kubewright_test_support::free_port();
        let name = flag.split('=').next().unwrap_or_default();
        format!("case \"$*\" in *--{name}*) ;; *) set -- --{flag}{port} \"$@\" ;; esac\n")
    });
    lines.collect()
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let other = sender.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = other.send(line);
            }
        });
        Running {
            child,
            lines,
            said: String::new(),
        }
    }

    /// The next line that holds a text.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self
                .lines
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(line) => {
                    self.said.push_str(&line);
                    self.said.push('\n');
                    if line.contains(text) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("it did not say {text:?}, but:\n{}", self.said),
                Err(RecvTimeoutError::Disconnected) => panic!("it ended without saying {text:?}:\n{}", self.said),
            }
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// How it ended, and the rest of what it said. Nothing that it started may be left: it would hold the other end of the pipes.
    #[track_caller]
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.said.push_str(&line);
                    self.said.push('\n');
                }
                Err(RecvTimeoutError::Timeout) => panic!("something is left of it, which said:\n{}", self.said),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        (self.child.wait().unwrap(), std::mem::take(&mut self.said))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The cluster of a kubeconfig, as tests look at it.
pub(crate) struct ClusterClient {
    client: kube::Client,
}

impl ClusterClient {
    pub(crate) async fn of(kubeconfig: &Path) -> Self {
        let read = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
        let config = kube::Config::from_custom_kubeconfig(read, &kube::config::KubeConfigOptions::default())
            .await
            .unwrap();
        ClusterClient {
            client: kube::Client::try_from(config).unwrap(),
        }
    }

    /// Objects by resource: `deployments.v1.apps`, in a namespace or of the whole cluster.
    pub(crate) fn of_kind(
        &self,
        group: &str,
        version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    pub(crate) fn definitions(&self) -> Api<DynamicObject> {
        self.of_kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", None)
    }

    pub(crate) fn boats(&self) -> Api<DynamicObject> {
        self.of_kind("shop.example.com", "v1", "Boat", Some("default"))
    }

    pub(crate) fn config_maps(&self, namespace: &str) -> Api<DynamicObject> {
        self.of_kind("", "v1", "ConfigMap", Some(namespace))
    }

    pub(crate) fn deployments(&self) -> Api<DynamicObject> {
        self.of_kind("apps", "v1", "Deployment", Some("shop-system"))
    }

    pub(crate) fn mutating(&self) -> Api<DynamicObject> {
        self.of_kind(
            "admissionregistration.k8s.io",
            "v1",
            "MutatingWebhookConfiguration",
            None,
        )
    }

    pub(crate) async fn create(&self, api: &Api<DynamicObject>, object: Value) -> DynamicObject {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap()
    }

    pub(crate) async fn boat(&self, name: &str) {
        let boat = json!({
            "apiVersion": "shop.example.com/v1", "kind": "Boat", "metadata": { "name": name }, "spec": { "colour": "red" },
        });
        self.create(&self.boats(), boat).await;
    }

    /// What the cluster's controllers would write.
    pub(crate) async fn set_status(&self, api: &Api<DynamicObject>, name: &str, status: &Value) {
        let patch = json!({ "status": status });
        api.patch_status(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap();
    }

    /// Returns once an object is as it should be.
    pub(crate) async fn until(&self, api: &Api<DynamicObject>, name: &str, is_so: impl Fn(&DynamicObject) -> bool) {
        let params = WatchParams::default().fields(&format!("metadata.name={name}"));
        let watched = async {
            let mut events = Box::pin(api.watch(&params, "0").await.unwrap());
            while let Some(event) = events.next().await {
                if let Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) = event
                    && is_so(&object)
                {
                    return;
                }
            }
            panic!("the watch ended");
        };
        let in_time = tokio::time::timeout(PATIENCE, watched).await;
        assert!(in_time.is_ok(), "{name} did not become what it should be");
    }

    pub(crate) async fn names(&self, api: &Api<DynamicObject>) -> Vec<String> {
        let list = api.list(&ListParams::default()).await.unwrap();
        list.into_iter().filter_map(|object| object.metadata.name).collect()
    }
}
