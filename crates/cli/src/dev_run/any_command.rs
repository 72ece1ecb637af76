//! `kubewright dev --command`: an operator in any language, which a command line starts. Nothing is built and nothing is asked of it: what the API
//! server sees is shown.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;

use kubewright_cluster::Reference;
use kubewright_cluster::progress::Progress;
use kubewright_system::signals::{Received, Signals};
use kubewright_view::{LiveOperator, LiveSettings, OperatorKinds, OperatorState};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::process::{Process, StartOptions, exit_code, told};
use super::samples;
use super::session::{INTERRUPTED, ended};
use super::settings::{Samples, Settings};
use super::target_cluster::TargetCluster;
use super::watch::Changes;
use crate::shown::Shown;

/// Where the operator's account is, in a cluster of this process.
const NAMESPACE: &str = "kubewright-dev";
const ACCOUNT: &str = "operator";
/// Where projects of Go have the definitions of their kinds, the first that is there.
const DEFINITIONS: [&str; 2] = ["config/crd/bases", "config/crd"];
/// What reads the command line.
const SHELL: &str = "/bin/sh";

/// Runs a command line until a signal comes, and again whenever a file is saved.
pub(super) fn run_to_end(
    settings: &Settings<'_>,
    command: &str,
    installed: &[PathBuf],
) -> Result<ExitCode, Box<dyn Error>> {
    let runtime = kubewright_cluster::runtime()?;
    let done = runtime.block_on(run(settings, command, installed));
    runtime.shutdown_background();
    done
}

async fn run(settings: &Settings<'_>, command: &str, installed: &[PathBuf]) -> Result<ExitCode, Box<dyn Error>> {
    let progress = Progress::new();
    let mut signals = Signals::listen_with_hangup()?;
    let root = std::env::current_dir()?;
    let place = tokio::select! {
        biased;
        _ = signals.more_than(0) => return Ok(ExitCode::from(INTERRUPTED)),
        place = TargetCluster::find(settings, &progress) => place?,
    };
    let view = match settings.view {
        Some(page) => {
            let shown = LiveSettings {
                title: "kubewright dev".to_owned(),
                port: page.port,
                operator: LiveOperator::Silent,
                cluster: place.shown(settings, page),
                explorations: None,
            };
            let mut view = Shown::start(shown, settings.common.history.bytes(), &progress).await?;
            view.announce(page, &progress);
            if page.tui {
                view.show_in_terminal(signals.clone(), &progress)?;
            }
            Some(view)
        }
        None => None,
    };
    let mut session = ForeignSession {
        settings,
        command,
        root,
        progress: &progress,
        place: &place,
        view,
        applying: None,
    };
    let done = session.watch(installed, &mut signals).await;
    if let Some(applying) = session.applying {
        applying.abort();
    }
    if let Some(view) = session.view {
        view.stop().await;
    }
    if let Some(embedded) = place.embedded {
        embedded.shutdown().await;
    }
    Ok(match done? {
        Some(status) => ExitCode::from(exit_code(status)),
        None => ExitCode::from(INTERRUPTED),
    })
}

struct ForeignSession<'a> {
    settings: &'a Settings<'a>,
    command: &'a str,
    root: PathBuf,
    progress: &'a Progress,
    place: &'a TargetCluster,
    view: Option<Shown>,
    applying: Option<JoinHandle<()>>,
}

impl ForeignSession<'_> {
    /// Installs, starts, and does so again whenever a file changes. How the last process ended, if one ran in the end.
    async fn watch(
        &mut self,
        installed: &[PathBuf],
        signals: &mut Signals,
    ) -> Result<Option<ExitStatus>, Box<dyn Error>> {
        // What was mistyped on the command line no change of a file corrects.
        if let Some(missing) = installed.iter().find(|path| !path.exists()) {
            return Err(format!("cannot read {}: there is no such file or folder", missing.display()).into());
        }
        let mut changes = Changes::of_anything(&self.root);
        let mut running: Option<Process> = None;
        // What is known before the command is started: whether the definitions are installed, and how it is started.
        let (mut is_installed, mut start) = (false, None);
        loop {
            let prepared = tokio::select! {
                biased;
                asked = signals.more_than(0) => return end(running, asked, signals).await,
                prepared = self.prepare(installed, &mut is_installed, &mut start) => prepared,
            };
            match prepared {
                Ok(start) => {
                    if let Some(mut process) = running.take() {
                        let step = self.progress.step("Stopping the command");
                        process.stop().await?;
                        step.done();
                    }
                    match self.start(&start) {
                        Ok(process) => running = Some(process),
                        Err(error) => self.not_started(&*error, false),
                    }
                }
                Err(error) => self.not_started(&*error, running.is_some()),
            }
            let saved = loop {
                tokio::select! {
                    biased;
                    asked = signals.more_than(0) => return end(running, asked, signals).await,
                    status = ended(running.as_mut()) => {
                        let how = told(status?);
                        running = None;
                        self.progress.warn(format!("the command ended with {how}; the next change starts it again"));
                        self.tell(OperatorState::Ended { how });
                    }
                    (saved, _) = changes.next() => break saved,
                }
            };
            let short = |path: &PathBuf| path.strip_prefix(&self.root).unwrap_or(path).display().to_string();
            let first = saved.first().map(short).unwrap_or_default();
            self.progress.note(format!("changed: {first}"));
            let is_definition = |path: &PathBuf| path.starts_with(self.root.join("config"));
            is_installed &= !saved.iter().any(is_definition);
        }
    }

    /// What has to be there before the command is started, while the one before goes on: the next change may correct what is refused.
    async fn prepare(
        &mut self,
        installed: &[PathBuf],
        is_installed: &mut bool,
        start: &mut Option<StartOptions>,
    ) -> Result<StartOptions, Box<dyn Error>> {
        if !*is_installed {
            let definitions = self.install(installed).await?;
            *is_installed = true;
            if let (Some(view), None) = (&mut self.view, &self.place.embedded) {
                let kinds = OperatorKinds::new(own_kinds(&definitions), &[]);
                view.follow_cluster(self.place.cluster.client(), kinds);
            }
        }
        let options = match start.take() {
            Some(options) => options,
            None => self.how_to_start().await?,
        };
        Ok(start.insert(options).clone())
    }

    fn not_started(&self, error: &(dyn Error + 'static), is_running: bool) {
        let why = kubewright_cluster::with_sources(error);
        self.progress.warn(&why);
        self.progress.warn(if is_running {
            "the command started before goes on; the next change tries again"
        } else {
            "the command is not started; the next change tries again"
        });
        self.tell(OperatorState::NotStarted { why, is_running });
    }

    fn start(&mut self, start: &StartOptions) -> Result<Process, Box<dyn Error>> {
        let process = Process::start(Path::new(SHELL), &self.root, start)
            .map_err(|error| format!("cannot run {SHELL}: {error}"))?;
        let title = self.place.cluster.title();
        self.progress
            .note(format!("The command runs; Ctrl-C stops it ({title})"));
        self.tell(OperatorState::Running {
            compiler: None,
            rest: None,
        });
        self.apply_samples();
        Ok(process)
    }

    /// Applies the definitions of the project, or what else the user names; the objects.
    async fn install(&self, installed: &[PathBuf]) -> Result<Vec<Value>, Box<dyn Error>> {
        let found = DEFINITIONS
            .iter()
            .map(|folder| self.root.join(folder))
            .find(|folder| folder.is_dir());
        let folders: Vec<PathBuf> = if installed.is_empty() {
            found.into_iter().collect()
        } else {
            installed.to_vec()
        };
        if folders.is_empty() {
            self.progress
                .note("nothing is installed: there is no config/crd, and --install names nothing");
        }
        let mut objects = Vec::new();
        for folder in folders {
            objects.extend(samples::objects(&folder)?);
        }
        if objects.is_empty() {
            return Ok(objects);
        }
        let step = self.progress.step("Installing");
        let report = self.place.cluster.apply_all(&objects, false, |_| {}).await?;
        if let Some((reference, error)) = report.refused.first() {
            return Err(format!("{reference} was refused: {error}").into());
        }
        step.done_with(format!("{} objects", objects.len()));
        Ok(objects)
    }

    /// The command line, with a kubeconfig. In a cluster of this process it has an account of its own, so that its requests can be told from others.
    async fn how_to_start(&self) -> Result<StartOptions, Box<dyn Error>> {
        let mut variables = Vec::new();
        let kubeconfig = match &self.place.embedded {
            Some(embedded) => {
                let report = self.place.cluster.apply_all(&account(), false, |_| {}).await?;
                if let Some((reference, error)) = report.refused.first() {
                    return Err(format!("{reference} was refused: {error}").into());
                }
                if let Some(view) = &self.view {
                    let user = format!("system:serviceaccount:{NAMESPACE}:{ACCOUNT}");
                    view.model().operator_user(user);
                }
                let account = Reference::new("v1", "ServiceAccount", Some(NAMESPACE), ACCOUNT);
                Some(embedded.kubeconfig_of(&account).await?)
            }
            None => self.place.chosen_kubeconfig(),
        };
        variables.extend(kubeconfig.map(|path| ("KUBECONFIG".to_owned(), path.display().to_string())));
        // Kubebuilder's projects serve no webhooks then, for which there are no certificates here.
        if std::env::var_os("ENABLE_WEBHOOKS").is_none() {
            variables.push(("ENABLE_WEBHOOKS".to_owned(), "false".to_owned()));
        }
        let mut line = self.command.to_owned();
        for flag in &self.settings.common.flags {
            line.push(' ');
            line.push_str(&kubewright_cluster::quoted(flag));
        }
        Ok(StartOptions {
            flags: vec!["-c".to_owned(), line],
            variables,
        })
    }

    fn apply_samples(&mut self) {
        let has_any = self.root.join(samples::FOLDER).is_dir();
        if self.settings.samples == Samples::Ignored || !has_any {
            return;
        }
        if let Some(earlier) = self.applying.take() {
            earlier.abort();
        }
        match samples::read(&self.root) {
            Ok(objects) => {
                let (cluster, progress) = (Arc::clone(&self.place.cluster), self.progress.clone());
                self.applying = Some(tokio::spawn(async move {
                    samples::apply(&cluster, &objects, &[], &progress).await;
                }));
            }
            Err(error) => self.progress.warn(kubewright_cluster::with_sources(&error)),
        }
    }

    fn tell(&self, state: OperatorState) {
        if let Some(view) = &self.view {
            view.model().session(state);
        }
    }
}

/// Ends the process, if one runs: at once when that is asked for again.
async fn end(
    running: Option<Process>,
    asked: Received,
    signals: &mut Signals,
) -> Result<Option<ExitStatus>, Box<dyn Error>> {
    let Some(mut process) = running else {
        return Ok(None);
    };
    process.ask(asked.is_interrupt);
    tokio::select! {
        biased;
        status = process.ended() => return Ok(Some(status?)),
        _ = signals.more_than(asked.count) => {}
    }
    process.kill();
    Ok(Some(process.ended().await?))
}

/// The account that the command runs as, with all rights: nobody knows which it needs.
fn account() -> [Value; 3] {
    [
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } }),
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": ACCOUNT, "namespace": NAMESPACE } }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": { "name": format!("{NAMESPACE}-{ACCOUNT}") },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
            "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE }],
        }),
    ]
}

/// Groups and resources of definitions.
fn own_kinds(objects: &[Value]) -> Vec<(String, String)> {
    let definitions = objects
        .iter()
        .filter(|object| object["kind"] == "CustomResourceDefinition");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    definitions
        .map(|definition| {
            (
                text(&definition["spec"]["group"]),
                text(&definition["spec"]["names"]["plural"]),
            )
        })
        .collect()
}
