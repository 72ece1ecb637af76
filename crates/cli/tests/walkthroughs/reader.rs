//! Somebody who follows chapters of the book from an empty folder: runs every command in its place, and compares what it prints with what
//! the chapter shows of it. What is stale is collected, so that all of it is known at once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kubewright_test_support::book::{self, Step};
use tempfile::TempDir;

use crate::terminal::Terminal;
use crate::{path_with, workspace};

/// What readers do on machines of their own: the tests have the command, and no engine of containers or registry.
const NOT_RUN: [&str; 3] = [
    "cargo install --locked --path crates/cli",
    "make docker-build docker-push IMG=registry.example.com/website:v1",
    "make deploy IMG=registry.example.com/website:v1",
];

/// The section whose reader has a cluster, that of the kubeconfig.
const HAS_A_CLUSTER: &str = "On a real cluster";

/// How long a reader looks again until things are as they are shown.
const PATIENCE: Duration = Duration::from_mins(3);

/// A reader, and how far it has come.
pub(crate) struct Reader {
    /// The project, once there is one.
    pub(crate) project: PathBuf,
    /// Programs that are found before all others.
    tools: TempDir,
    has_kubectl: bool,
    /// What shells are told before each command: `export KUBECONFIG=…`.
    exports: String,
    /// The terminal in which the last command runs that does not end by itself.
    terminal: Option<Terminal>,
    cluster: Option<Terminal>,
    section: String,
    stale: Vec<String>,
    compared: usize,
}

impl Reader {
    /// In an empty folder. Without a kubectl what needs one is left out.
    pub(crate) fn new(folder: &Path) -> Self {
        let tools = tempfile::tempdir().unwrap();
        let kubectl = kubewright_test_support::kubectl();
        if let Some(kubectl) = &kubectl {
            symlink(fs::canonicalize(kubectl).unwrap(), tools.path().join("kubectl")).unwrap();
        }
        symlink(env!("CARGO_BIN_EXE_kubewright"), tools.path().join("kubewright")).unwrap();
        Reader {
            project: folder.to_owned(),
            tools,
            has_kubectl: kubectl.is_some(),
            exports: String::new(),
            terminal: None,
            cluster: None,
            section: String::new(),
            stale: Vec::new(),
            compared: 0,
        }
    }

    /// Does what a chapter says.
    pub(crate) fn follow(&mut self, name: &str) {
        let chapters = book::chapters();
        let chapter = chapters.iter().find(|chapter| chapter.name == name).unwrap();
        for (section, step) in chapter.steps() {
            if section != self.section {
                section.clone_into(&mut self.section);
                if section == HAS_A_CLUSTER {
                    self.start_cluster();
                }
            }
            match &step {
                Step::Run { line, command, shown } => self.run(&chapter.place(*line), command, shown),
                Step::Look { line, shown } => {
                    let terminal = self.terminal.as_mut().expect("a command that runs");
                    let difference = terminal.shows(shown);
                    self.compare(&chapter.place(*line), difference);
                }
                Step::Write { .. } => drop(self.shell(&step.script().unwrap()).unwrap()),
                Step::Change { file, from, to } => {
                    if let Some(terminal) = &mut self.terminal {
                        terminal.look_from_here();
                    }
                    let path = self.project.join(file);
                    let text = fs::read_to_string(&path).unwrap();
                    assert!(text.contains(from), "{file} has no {from}: {text}");
                    fs::write(&path, text.replace(from, to)).unwrap();
                }
            }
        }
    }

    /// Everything was as it is shown, and this many times something was shown.
    pub(crate) fn end(self) -> usize {
        assert!(
            self.stale.is_empty(),
            "{} of the outputs that are shown are not what is printed:\n\n{}",
            self.stale.len(),
            self.stale.join("\n\n")
        );
        self.compared
    }

    fn run(&mut self, place: &str, command: &str, shown: &[&str]) {
        let needs_kubectl = command.starts_with("kubectl ");
        if NOT_RUN.contains(&command) || needs_kubectl && !self.has_kubectl {
            return;
        }
        if command.starts_with("export ") {
            self.exports = format!("{command}\n");
        } else if command.starts_with("make run") || command.starts_with("kubewright apiserver ") {
            let difference = self.start(command, shown);
            self.compare(place, difference);
        } else if needs_kubectl && only_looks(command) {
            let difference = self.look(command, shown);
            self.compare(place, difference);
        } else {
            let printed = self.shell(command);
            // What is refused is shown, too.
            let is_refusal = needs_kubectl && printed.is_err() && !shown.is_empty();
            let printed = printed.unwrap_or_else(|printed| {
                assert!(is_refusal, "{place}: {command} failed:\n{printed}");
                printed
            });
            if !shown.is_empty() {
                self.compare(place, book::difference(shown, &printed));
            }
            self.after(command);
        }
    }

    /// What else follows of a command: where the next ones are run, and, in a test, which versions a project is built with and where.
    fn after(&mut self, command: &str) {
        if let Some((_, folder)) = command.split_once("&& cd ") {
            self.project.push(folder);
        }
        if command.starts_with("kubewright init ") {
            fs::copy(workspace().join("Cargo.lock"), self.project.join("Cargo.lock")).unwrap();
            symlink(target(), self.project.join("target")).unwrap();
        }
    }

    fn compare(&mut self, place: &str, difference: Option<String>) {
        self.compared += 1;
        self.stale
            .extend(difference.map(|difference| format!("{place}: {difference}")));
    }

    /// Runs a command, and returns what a terminal would show; as an error, if it failed.
    fn shell(&self, command: &str) -> Result<String, String> {
        let output = self.bash(&format!("exec 2>&1\n{command}")).output().unwrap();
        let printed = in_the_book(&String::from_utf8_lossy(&output.stdout));
        if output.status.success() {
            Ok(printed)
        } else {
            Err(printed)
        }
    }

    /// Runs a command that only looks until it sees what is shown, since what it looks at takes its time.
    fn look(&self, command: &str, shown: &[&str]) -> Option<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (Ok(printed) | Err(printed)) = self.shell(command);
            let difference = book::difference(shown, &printed);
            if difference.is_none() || Instant::now() > deadline {
                return difference;
            }
            std::thread::sleep(Duration::from_secs(1));
        }
    }

    /// Starts what does not end by itself, in the place of what ran before.
    fn start(&mut self, command: &str, shown: &[&str]) -> Option<String> {
        self.terminal = None;
        let port = if command.starts_with("kubewright apiserver ") {
            " --secure-port 0"
        } else {
            ""
        };
        let mut terminal = Terminal::start(self.bash(&format!("exec 2>&1\nexec {command}{port}")));
        let difference = if shown.is_empty() {
            terminal.says("The operator runs;")
        } else {
            terminal.shows(shown)
        };
        if let Some(export) = terminal
            .printed()
            .lines()
            .find(|line| line.contains("export KUBECONFIG="))
        {
            self.exports = format!("{export}\n");
        }
        self.terminal = Some(terminal);
        difference
    }

    /// A cluster as readers may have one, and its kubeconfig.
    fn start_cluster(&mut self) {
        self.terminal = None;
        let mut cluster =
            Terminal::start(self.bash("exec 2>&1\nexec kubewright apiserver --controllers=all --secure-port 0"));
        assert_eq!(cluster.says("export KUBECONFIG="), None);
        let export = cluster
            .printed()
            .lines()
            .find(|line| line.contains("export KUBECONFIG="));
        self.exports = format!("{}\n", export.expect("a kubeconfig"));
        self.cluster = Some(cluster);
    }

    /// A shell in the project, with programs that are compiled where those of other tests are.
    fn bash(&self, script: &str) -> Command {
        let mut bash = Command::new("bash");
        bash.args(["-euo", "pipefail", "-c", &format!("{}{script}", self.exports)])
            .current_dir(&self.project)
            .env("PATH", path_with(self.tools.path()))
            .env("CARGO_TARGET_DIR", target())
            .env("CARGO_INCREMENTAL", "0")
            .env("RUSTFLAGS", "-Dwarnings")
            .env("CARGO_NET_OFFLINE", "true")
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null());
        bash
    }
}

/// Where the projects of all tests are compiled.
fn target() -> PathBuf {
    workspace().join("target/scaffolds/target")
}

/// Whether a command of kubectl changes nothing, so that it can be run again.
fn only_looks(command: &str) -> bool {
    command.split(' ').any(|word| ["get", "logs", "wait"].contains(&word))
}

/// A text with the paths that the book has.
fn in_the_book(printed: &str) -> String {
    printed
        .replace(target().to_str().unwrap(), "target")
        .replace(workspace().to_str().unwrap(), "/home/me/kubewright")
}
