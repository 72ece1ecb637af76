//! Scripts of kubectl commands: records what they print on the real server and compares that with what they print on ours.

mod certified;
mod play;
mod printed;
mod script;

use std::fmt;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use kubewright_apiserver::{ApiServer, Listener, Options};
use thiserror::Error;

use crate::cores::at_once;
use crate::corpus::home;
use crate::decisions::{self, DecisionsError};
use crate::remote::INFORMED;
pub use play::{Kubectl, PlayError, play};
pub use script::{KubectlStep, Script, ScriptError, Transcript};

/// The reason why scripts could not be recorded or replayed. An error of kubectl itself is not one: it belongs to the transcript.
#[derive(Debug, Error)]
pub enum KubectlError {
    /// A script or a transcript cannot be used.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The decisions cannot be used.
    #[error(transparent)]
    Decisions(#[from] DecisionsError),
    /// A script could not be played.
    #[error("{0}: {1}")]
    Play(String, #[source] PlayError),
    /// Two runs of a script differ.
    #[error("{0}: its runs differ:\n{1}")]
    Unstable(String, String),
    /// The server could not be started.
    #[error("the embedded server does not start")]
    Server(#[source] io::Error),
}

/// The result of a replayed script.
#[derive(Debug)]
pub struct Outcome {
    /// The script's name.
    pub script: String,
    /// The behaviours it covers.
    pub covers: Vec<String>,
    /// How many commands it has.
    pub commands: usize,
    /// A text for every command that did not print the same as on the real server.
    pub differences: Vec<String>,
    /// How many commands differ by decision (`differences.yaml`, under `kubectl/<script>`, by the number of the command).
    pub decided: usize,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} commands, {} differ",
            self.script,
            self.commands,
            self.differences.len()
        )?;
        if self.decided > 0 {
            write!(f, ", {} by decision", self.decided)?;
        }
        for difference in &self.differences {
            write!(f, "\n{difference}")?;
        }
        Ok(())
    }
}

/// The scripts of this repository whose names contain the filter, in order.
pub fn scripts(filter: Option<&str>) -> Result<Vec<Script>, ScriptError> {
    Script::load_all(&home().join("kubectl"), filter)
}

/// Plays a script twice, and saves its output if both runs printed the same.
pub fn record(script: &Script, kubectl: &Kubectl) -> Result<usize, KubectlError> {
    let failed = |error| KubectlError::Play(script.name.clone(), error);
    let first = play(script, kubectl, &run()).map_err(failed)?;
    let second = play(script, kubectl, &run()).map_err(failed)?;
    let differences = compared(script, &first, &second);
    if !differences.is_empty() {
        let differences: Vec<String> = differences.into_iter().map(|(_, difference)| difference).collect();
        return Err(KubectlError::Unstable(script.name.clone(), differences.join("\n")));
    }
    second.save(script)?;
    Ok(second.commands.len())
}

/// Plays a script and compares its output with the recorded one.
pub fn replay(script: &Script, kubectl: &Kubectl) -> Result<Outcome, KubectlError> {
    let expected = Transcript::load(script)?;
    let actual = play(script, kubectl, &run()).map_err(|error| KubectlError::Play(script.name.clone(), error))?;
    let case = format!("kubectl/{}", script.name);
    let decisions = decisions::about_kubectl()?;
    let is_decided = |command: usize| {
        decisions
            .iter()
            .any(|known| known.case == case && known.step == command)
    };
    let (decided, differences): (Vec<_>, Vec<_>) = compared(script, &expected, &actual)
        .into_iter()
        .partition(|(command, _)| is_decided(*command));
    Ok(Outcome {
        script: script.name.clone(),
        covers: script.covers.clone(),
        commands: expected.commands.len(),
        differences: differences.into_iter().map(|(_, difference)| difference).collect(),
        decided: decided.len(),
    })
}

/// Replays scripts on an embedded server over TLS, one server for each. Commands wait most of their time, for what they ask for to happen.
pub fn replay_embedded(scripts: &[Script], binary: &Path) -> Result<Vec<Outcome>, KubectlError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(KubectlError::Server)?;
    let outcomes = at_once(scripts.iter().collect(), |script| {
        let listener = runtime.block_on(listening())?;
        let kubectl = Kubectl {
            binary: binary.to_owned(),
            kubeconfig: listener.kubeconfig(),
            certified: listener.kubeconfig(),
            server: listener.url(),
            takes_effect_within: Duration::ZERO,
        };
        let outcome = replay(script, &kubectl);
        runtime.block_on(listener.shutdown());
        outcome
    });
    outcomes.into_iter().collect()
}

/// The kubectl that `$KUBECTL` names.
pub fn binary() -> Option<PathBuf> {
    let path = std::env::var_os("KUBECTL").filter(|path| !path.is_empty());
    path.map(PathBuf::from)
}

/// The kubeconfig in a folder that `upstream/start` made, with the server it names.
pub fn upstream(folder: &Path, binary: PathBuf) -> io::Result<Kubectl> {
    let kubeconfig = fs::read_to_string(folder.join("kubeconfig"))?;
    let server = kubeconfig
        .split('"')
        .find(|text| text.starts_with("https://"))
        .unwrap_or_default()
        .to_owned();
    Ok(Kubectl {
        binary,
        certified: certified::kubeconfig(folder, &server)?,
        kubeconfig,
        server,
        takes_effect_within: INFORMED,
    })
}

async fn listening() -> Result<Listener, KubectlError> {
    let server = ApiServer::new(Options::default());
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    server
        .listen(address)
        .await
        .map_err(|error| KubectlError::Server(io::Error::other(error.to_string())))
}

/// A name that is different for every run on a server.
fn run() -> String {
    SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap_or_default()
        .as_nanos()
        .to_string()
}

/// The numbers of the commands whose outputs differ, counted from one, each with the difference.
fn compared(script: &Script, expected: &Transcript, actual: &Transcript) -> Vec<(usize, String)> {
    let mut differences = Vec::new();
    for index in 0..expected.commands.len().max(actual.commands.len()) {
        match (expected.commands.get(index), actual.commands.get(index)) {
            (Some(expected), Some(actual)) if expected == actual => {}
            (Some(expected), Some(actual)) => differences.push((index + 1, printed::difference(expected, actual))),
            _ => {
                let difference = format!("  {}: command {} was not run by both", script.name, index + 1);
                differences.push((index + 1, difference));
            }
        }
    }
    differences
}
