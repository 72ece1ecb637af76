//! Runs the commands of a script as processes in a temporary folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use thiserror::Error;

use super::printed::Normaliser;
use super::script::{KubectlStep, Printed, Script, Transcript};
use crate::run::suffix;
use crate::template::{UndefinedVariable, Variables, fill, fill_value};
use crate::webhook::{self, WebhookServer, WebhookServerError};

/// The time limit of a command, longer than a correct server needs.
const PATIENCE: Duration = Duration::from_mins(1);

/// The interval at which a step with `until` runs its command again, and at which the output of a background command is checked.
const POLL: Duration = Duration::from_millis(100);

/// The resources that a script may create outside its namespace. Webhooks come first, since they might refuse to delete the others.
const OUTLIVING: &str =
    "mutatingwebhookconfigurations,validatingwebhookconfigurations,clusterrolebindings,clusterroles,crd";

/// A kubectl and the server it talks to.
#[derive(Clone, Debug)]
pub struct Kubectl {
    /// The program.
    pub binary: PathBuf,
    /// The text of the administrator's kubeconfig.
    pub kubeconfig: String,
    /// The text of a kubeconfig in which the administrator has a client certificate.
    pub certified: String,
    /// The server's address, as kubectl prints it.
    pub server: String,
    /// How long a written webhook configuration or role may take until it is in effect.
    pub takes_effect_within: Duration,
}

/// The reason why a script could not be played to its end.
#[derive(Debug, Error)]
pub enum PlayError {
    /// A file cannot be written or a program not be started.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A step refers to an undefined variable.
    #[error("{0}")]
    Undefined(#[from] UndefinedVariable),
    /// A command line has an unclosed quote.
    #[error("{0:?} is not a command line")]
    CommandLine(String),
    /// A command that prepares the script failed.
    #[error("{command} failed: {stderr}")]
    Preparation {
        /// The command line.
        command: String,
        /// Its standard error.
        stderr: String,
    },
    /// A command did not do what its step waits for.
    #[error("{0} did not come to what its step waits for; it printed: {1}")]
    Late(String, String),
    /// The webhooks of the script are malformed.
    #[error(transparent)]
    Webhooks(#[from] webhook::ScriptError),
    /// The webhook process could not be started.
    #[error("{0}")]
    WebhookServer(&'static WebhookServerError),
    /// A step ends a command that was not started.
    #[error("no command {0} runs in the background")]
    NoBackground(String),
}

/// Plays a script in a namespace of its own.
pub fn play(script: &Script, kubectl: &Kubectl, run: &str) -> Result<Transcript, PlayError> {
    let mut player = ScriptPlayer::prepare(script, kubectl, run)?;
    let mut commands = Vec::new();
    let ended = script
        .steps
        .iter()
        .try_for_each(|step| player.step(step, &mut commands));
    player.give_back();
    ended?;
    Ok(Transcript {
        fingerprint: script.fingerprint(),
        commands,
    })
}

struct ScriptPlayer<'a> {
    kubectl: &'a Kubectl,
    folder: TempDir,
    variables: Variables,
    files: &'a BTreeMap<String, String>,
    normaliser: Normaliser,
    background: BTreeMap<String, Running>,
    unique: String,
    webhooks: Option<&'static WebhookServer>,
}

/// A command that runs in the background.
struct Running {
    command: String,
    child: Child,
    stdout: Reader,
    stderr: Reader,
}

/// Collects what a process prints while it runs.
struct Reader {
    text: Arc<Mutex<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    fn of(mut stream: impl io::Read + Send + 'static) -> Reader {
        let text = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&text);
        let thread = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                if let Ok(mut text) = shared.lock() {
                    text.extend_from_slice(&buffer[..count]);
                }
            }
        });
        Reader {
            text,
            thread: Some(thread),
        }
    }

    fn lines(&self) -> usize {
        let text = self.text.lock();
        text.map_or(0, |text| text.split(|byte| *byte == b'\n').count() - 1)
    }

    fn so_far(&self) -> String {
        let text = self.text.lock().map(|text| text.clone()).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    fn end(mut self) -> String {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.so_far()
    }
}

impl<'a> ScriptPlayer<'a> {
    fn prepare(script: &'a Script, kubectl: &'a Kubectl, run: &str) -> Result<Self, PlayError> {
        let suffix = suffix(&format!("{run}/{}", script.name));
        let (namespace, unique) = (format!("case-{suffix}"), format!("unique-{suffix}"));
        let folder = tempfile::Builder::new().prefix("kubectl-").tempdir()?;
        fs::create_dir(folder.path().join("work"))?;
        fs::write(folder.path().join("kubeconfig"), &kubectl.kubeconfig)?;
        let certified = folder.path().join("certified");
        fs::write(&certified, &kubectl.certified)?;
        let mut variables: Variables = [
            ("ns".to_owned(), json!(namespace)),
            ("unique".to_owned(), json!(unique)),
            ("server".to_owned(), json!(kubectl.server)),
            ("certified".to_owned(), json!(certified)),
        ]
        .into();
        let mut webhooks = None;
        if !script.webhooks.is_null() {
            let running = webhook::server().map_err(PlayError::WebhookServer)?;
            variables.extend(running.variables(&unique));
            running.open(
                &unique,
                webhook::Script::all(&fill_value(&script.webhooks, &variables)?)?,
            );
            webhooks = Some(running);
        }
        let places = webhooks.map(WebhookServer::places).unwrap_or_default();
        let player = ScriptPlayer {
            kubectl,
            variables,
            files: &script.files,
            normaliser: Normaliser::new(&kubectl.server, &namespace, &unique, folder.path()).knowing(places),
            background: BTreeMap::new(),
            folder,
            unique,
            webhooks,
        };
        player.must(&format!("create namespace {namespace}"))?;
        player.must(&format!("config set-context --current --namespace={namespace}"))?;
        Ok(player)
    }

    /// Runs a command that has to succeed and is not part of the transcript.
    fn must(&self, command: &str) -> Result<(), PlayError> {
        let (exit, _, stderr) = self.output(command, "", None)?;
        if exit == Some(0) {
            return Ok(());
        }
        Err(PlayError::Preparation {
            command: command.to_owned(),
            stderr,
        })
    }

    /// Ends background commands and deletes the cluster-scoped objects of the script, so that a server can play many scripts.
    fn give_back(&mut self) {
        for (_, mut running) in std::mem::take(&mut self.background) {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
        if let Ok((_, names, _)) = self.output(&format!("get {OUTLIVING} -o name"), "", None) {
            for name in names.lines().filter(|name| name.contains(&self.unique)) {
                let _ = self.output(&format!("delete {name} --wait=false"), "", None);
            }
        }
        if let Some(webhooks) = self.webhooks {
            webhooks.close(&self.unique);
        }
        let _ = self.output("delete services --all --wait=false", "", None);
    }

    fn step(&mut self, step: &KubectlStep, commands: &mut Vec<Printed>) -> Result<(), PlayError> {
        if let Some(name) = &step.finish {
            let printed = self.finish(name, step.lines)?;
            commands.push(printed);
            return Ok(());
        }
        self.write_files()?;
        let command = fill(&step.run, &self.variables)?;
        let stdin = fill(&step.stdin, &self.variables)?;
        if let Some(name) = &step.background {
            let running = self.start(&command, &stdin, step)?;
            await_lines(&running, step.lines)?;
            self.background.insert(name.clone(), running);
            return Ok(());
        }
        let deadline = Instant::now() + PATIENCE;
        let (exit, stdout, stderr) = loop {
            let output = self.output(&command, &stdin, step.editor.as_deref())?;
            match &step.until {
                Some(wanted) if !output.1.contains(wanted.as_str()) => {
                    if Instant::now() >= deadline {
                        return Err(PlayError::Late(command, output.1 + &output.2));
                    }
                    sleep(POLL);
                }
                _ => break output,
            }
        };
        if step.settle {
            sleep(self.kubectl.takes_effect_within);
        }
        if let Some(variable) = &step.capture {
            self.variables.insert(variable.clone(), json!(stdout.trim_end()));
        }
        if step.quiet {
            return Ok(());
        }
        commands.push(self.printed(&step.run, exit, &stdout, &stderr));
        Ok(())
    }

    fn printed(&mut self, command: &str, exit: Option<i32>, stdout: &str, stderr: &str) -> Printed {
        Printed {
            command: format!("kubectl {command}"),
            exit,
            stdout: self.normaliser.text(stdout),
            stderr: self.normaliser.text(stderr),
        }
    }

    fn write_files(&self) -> Result<(), PlayError> {
        for (name, text) in self.files {
            let path = self.folder.path().join("work").join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            // A file that refers to a variable which a later step captures is written after that step.
            if let Ok(text) = fill(text, &self.variables) {
                fs::write(path, text)?;
            }
        }
        Ok(())
    }

    fn command(&self, line: &str, editor: Option<&str>) -> Result<Command, PlayError> {
        let words = split(line).ok_or_else(|| PlayError::CommandLine(line.to_owned()))?;
        let home: &Path = self.folder.path();
        let mut command = Command::new(&self.kubectl.binary);
        command
            .args(words)
            .current_dir(home.join("work"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("KUBECONFIG", home.join("kubeconfig"))
            .env("HOME", home)
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(program) = editor {
            command.env("KUBE_EDITOR", format!("sed -i -e '{program}'"));
        }
        Ok(command)
    }

    fn output(
        &self,
        line: &str,
        stdin: &str,
        editor: Option<&str>,
    ) -> Result<(Option<i32>, String, String), PlayError> {
        let child = self.command(line, editor)?.spawn()?;
        let mut running = fed(line, child, stdin);
        let deadline = Instant::now() + PATIENCE;
        while running.child.try_wait()?.is_none() {
            if Instant::now() >= deadline {
                running.child.kill()?;
            }
            sleep(Duration::from_millis(5));
        }
        let exit = running.child.wait()?.code();
        Ok((exit, running.stdout.end(), running.stderr.end()))
    }

    fn start(&self, line: &str, stdin: &str, step: &KubectlStep) -> Result<Running, PlayError> {
        let child = self.command(line, step.editor.as_deref())?.spawn()?;
        Ok(fed(&step.run, child, stdin))
    }

    fn finish(&mut self, name: &str, lines: Option<usize>) -> Result<Printed, PlayError> {
        let mut running = self
            .background
            .remove(name)
            .ok_or_else(|| PlayError::NoBackground(name.to_owned()))?;
        let exit = if lines.is_some() {
            await_lines(&running, lines)?;
            running.child.kill()?;
            running.child.wait()?;
            None
        } else {
            running.child.wait()?.code()
        };
        let (stdout, stderr) = (running.stdout.end(), running.stderr.end());
        Ok(self.printed(&running.command, exit, &stdout, &stderr))
    }
}

/// Writes the input of a started process and collects its output.
fn fed(command: &str, mut child: Child, stdin: &str) -> Running {
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(stdin.as_bytes());
    }
    let stdout = child.stdout.take().map(Reader::of);
    let stderr = child.stderr.take().map(Reader::of);
    Running {
        command: command.to_owned(),
        child,
        stdout: stdout.unwrap_or_else(|| Reader::of(io::empty())),
        stderr: stderr.unwrap_or_else(|| Reader::of(io::empty())),
    }
}

fn await_lines(running: &Running, lines: Option<usize>) -> Result<(), PlayError> {
    let deadline = Instant::now() + PATIENCE;
    while running.stdout.lines() < lines.unwrap_or(0) {
        if Instant::now() >= deadline {
            return Err(PlayError::Late(running.command.clone(), running.stdout.so_far()));
        }
        sleep(POLL);
    }
    Ok(())
}

/// Splits a line into words as a shell does: at blanks, except within single and double quotes. `None` for an unclosed quote.
fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), inside) => word.get_or_insert_default().push(inside),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (None, plain) => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_split_as_by_a_shell() {
        let words = split(r#"patch pod a -p '{"a": "b c"}' --empty="" x"y"z"#).unwrap();
        assert_eq!(words, ["patch", "pod", "a", "-p", r#"{"a": "b c"}"#, "--empty=", "xyz"]);
        assert_eq!(split("get 'pods"), None);
    }
}
