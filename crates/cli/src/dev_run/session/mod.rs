//! A run from its beginning to its end: build, install, start; and build, install and start again when a file changes.

mod installing;
mod starting;

use std::error::Error;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_cluster::Reference;
use kubewright_cluster::bundle::Bundle;
use kubewright_cluster::installation::Installation;
use kubewright_cluster::progress::Progress;
use kubewright_description::Description;
use kubewright_system::signals::{Received, Signals};
use kubewright_view::{LiveOperator, LiveSettings, OperatorState};
use tokio::task::JoinHandle;

use super::debug_endpoint::DebugEndpoint;
use super::extension::ServedExtension;
use super::process::{Process, exit_code, guard, told};
use super::settings::Settings;
use super::target_cluster::TargetCluster;
use super::timing::Turnaround;
use super::watch::{Changes, stamp};
use crate::project::{Overrides, Project};
use crate::shown::Shown;

/// The exit code of what Ctrl-C ended, as shells have it.
pub(super) const INTERRUPTED: u8 = 130;

/// Where explorations leave their reports, in a project.
const EXPLORATIONS: &str = "target/explore";

/// How long the cluster may take to delete what was made for a run, and how long after a second signal.
const LEFT_WITHIN: Duration = Duration::from_secs(10);
const HURRIED_WITHIN: Duration = Duration::from_secs(2);

/// An operator that was built, and what it needs.
#[derive(Clone)]
struct Built {
    binary: PathBuf,
    bundle: Bundle,
    description: Box<Description>,
    /// How long cargo took.
    cargo: Duration,
}

/// A run.
struct Session<'a> {
    settings: &'a Settings<'a>,
    project: &'a Project,
    progress: &'a Progress,
    place: &'a TargetCluster,
    installation: Installation,
    signals: Signals,
    /// What goes on beside the operator.
    aside: Vec<JoinHandle<()>>,
    /// Its aggregated API.
    extension: Option<ServedExtension>,
    /// Where it serves its trace, if a page shows it.
    debug: Option<DebugEndpoint>,
    /// What is shown, which is told what happens here.
    view: Option<Shown>,
    /// The webhooks that the running operator takes.
    webhooks: Vec<Reference>,
    applying: Option<JoinHandle<()>>,
}

/// How a run ended.
enum RunEnd {
    /// The operator ended, by itself or because it was asked to.
    Operator(ExitStatus),
    /// A signal ended the run while no operator ran.
    Asked,
}

/// What happens while an operator runs.
enum Event {
    Asked(Received),
    Ended(ExitStatus),
    /// These files changed, and were saved then.
    Changed(Vec<PathBuf>, Instant),
}

/// Runs the operator of the project in this folder until it ends or a signal comes.
pub(super) fn run_to_end(settings: &Settings<'_>) -> Result<ExitCode, Box<dyn Error>> {
    let runtime = kubewright_cluster::runtime()?;
    let done = runtime.block_on(run(settings, Project::load()?, Progress::new()));
    // The result of a build that is still running is not needed any more; the guard ends it.
    runtime.shutdown_background();
    done
}

async fn run(settings: &Settings<'_>, project: Project, progress: Progress) -> Result<ExitCode, Box<dyn Error>> {
    // From here on a signal ends the run in order.
    let mut signals = Signals::listen_with_hangup()?;
    let place = tokio::select! {
        biased;
        _ = signals.more_than(0) => return Ok(ExitCode::from(INTERRUPTED)),
        place = TargetCluster::find(settings, &progress) => place?,
    };
    let (view, debug) = show(settings, &project, &place, &signals, &progress).await?.unzip();
    let mut session = Session {
        settings,
        project: &project,
        progress: &progress,
        place: &place,
        installation: Installation::default(),
        signals,
        aside: Vec::new(),
        extension: None,
        debug,
        view,
        webhooks: Vec::new(),
        applying: None,
    };
    let done = if settings.watches {
        session.watch().await
    } else {
        session.once().await
    };
    session.finish_aside();
    session.leave().await;
    let mut signals = session.signals;
    let times = signals.count();
    if let Some(view) = session.view {
        tokio::select! {
            biased;
            () = view.stop() => {}
            _ = signals.more_than(times) => {}
        }
    }
    if let Some(embedded) = place.embedded {
        tokio::select! {
            biased;
            () = embedded.shutdown() => {}
            _ = signals.more_than(times) => {}
        }
    }
    Ok(match done? {
        RunEnd::Operator(status) => ExitCode::from(exit_code(status)),
        RunEnd::Asked => ExitCode::from(INTERRUPTED),
    })
}

/// Serves the page, if it is wanted, and says where; with where the operator is to serve its trace.
async fn show(
    settings: &Settings<'_>,
    project: &Project,
    place: &TargetCluster,
    signals: &Signals,
    progress: &Progress,
) -> Result<Option<(Shown, DebugEndpoint)>, Box<dyn Error>> {
    let Some(page) = settings.view else {
        return Ok(None);
    };
    let debug = DebugEndpoint::choose(&settings.common.flags)?;
    let operator = LiveOperator::At(Arc::new(debug.address()));
    let shown = LiveSettings {
        title: "kubewright dev".to_owned(),
        port: page.port,
        operator,
        cluster: place.shown(settings, page),
        explorations: Some(project.root().join(EXPLORATIONS)),
    };
    let mut view = Shown::start(shown, settings.common.history.bytes(), progress).await?;
    view.announce(page, progress);
    if page.tui {
        view.show_in_terminal(signals.clone(), progress)?;
    }
    Ok(Some((view, debug)))
}

impl Session<'_> {
    /// Builds, installs and runs the operator once.
    async fn once(&mut self) -> Result<RunEnd, Box<dyn Error>> {
        let Some(built) = self.unless_asked(build(self.project, self.progress)).await else {
            return Ok(RunEnd::Asked);
        };
        let built = built?;
        let mut signals = self.signals.clone();
        tokio::select! {
            biased;
            _ = signals.more_than(0) => return Ok(RunEnd::Asked),
            installed = self.install(&built.bundle) => installed?,
        }
        let mut process = self.start(&built).await?;
        let asked = tokio::select! {
            biased;
            asked = self.signals.more_than(0) => asked,
            status = process.ended() => return Ok(RunEnd::Operator(status?)),
        };
        self.end(process, asked).await
    }

    /// The same again and again, whenever a file changes.
    async fn watch(&mut self) -> Result<RunEnd, Box<dyn Error>> {
        let mut changes = Changes::of(self.project.root());
        let mut running: Option<Process> = None;
        let mut known: Option<BuildFingerprint> = None;
        let mut saved = Vec::new();
        let mut turnaround = Turnaround::saved(Instant::now());
        loop {
            self.tell(OperatorState::Building {
                is_running: running.is_some(),
            });
            let outcome = match self.build_beside(&mut running).await? {
                BackgroundBuild::Asked(asked) => return self.end_all(running, asked).await,
                BackgroundBuild::Built(outcome) => outcome,
            };
            match outcome {
                Ok(built) => {
                    changes.built(&built.binary);
                    let mut signals = self.signals.clone();
                    tokio::select! {
                        biased;
                        asked = signals.more_than(0) => return self.end_all(running, asked).await,
                        started = self.take_over(&built, &mut running, &mut known, &saved) => {
                            let turnaround = turnaround.built(built.cargo);
                            match started? {
                                Started::Anew => {
                                    self.progress.note(format!("the operator runs anew, {}", turnaround.told()));
                                    self.tell(turnaround.running());
                                }
                                Started::First => self.tell(turnaround.running()),
                                Started::Not(why) => self.tell(OperatorState::NotStarted { why, is_running: false }),
                            }
                        }
                    }
                }
                Err(error) => {
                    let why = kubewright_cluster::with_sources(&*error);
                    self.tell(OperatorState::BuildFailed {
                        errors: compiler_errors(&*error).unwrap_or_else(|| why.clone()),
                        is_running: running.is_some(),
                    });
                    self.progress.warn(why);
                    self.progress.warn(if running.is_some() {
                        "the operator built before goes on; the next change builds again"
                    } else {
                        "the next change builds again"
                    });
                }
            }
            loop {
                match self.next(running.as_mut(), &mut changes).await? {
                    Event::Asked(asked) => return self.end_all(running, asked).await,
                    Event::Ended(status) => {
                        running = None;
                        self.progress.warn(format!(
                            "the operator ended with {}; the next change starts it again",
                            told(status)
                        ));
                        self.drop_samples();
                        self.tell(OperatorState::Ended { how: told(status) });
                        // Without it there is nothing to compare with: any change starts it.
                        known = None;
                    }
                    Event::Changed(paths, saved_at) => {
                        turnaround = Turnaround::saved(saved_at);
                        self.progress.note(format!("changed: {}", self.listed(&paths)));
                        saved = paths;
                        break;
                    }
                }
            }
        }
    }

    /// Brings what was built into use: what changed in the cluster, then the operator, if it is another.
    async fn take_over(
        &mut self,
        built: &Built,
        running: &mut Option<Process>,
        known: &mut Option<BuildFingerprint>,
        saved: &[PathBuf],
    ) -> Result<Started, Box<dyn Error>> {
        let now = BuildFingerprint::of(built);
        let scope = self.scope(&built.bundle);
        let is_installed =
            !self.settings.installs || self.installation.is_same(self.project.name(), &built.bundle, scope);
        let is_same = running.is_some() && known.as_ref() == Some(&now);
        if is_same && is_installed {
            self.apply_changed_samples(saved);
            self.progress.note("the operator is the same: it goes on");
            return Ok(Started::First);
        }
        // First the old one, which takes its webhooks back.
        let is_restart = running.is_some();
        if let Some(process) = running.as_mut() {
            let step = self.progress.step("Stopping the operator");
            process.stop().await?;
            step.done();
        }
        *running = None;
        let started = match self.install(&built.bundle).await {
            Ok(()) => self.start(built).await,
            Err(error) => Err(error),
        };
        let process = match started {
            Ok(process) => process,
            // The next change may correct what the cluster refuses, or what keeps the operator from being started.
            Err(error) => {
                let why = kubewright_cluster::with_sources(&*error);
                self.progress.warn(&why);
                self.progress
                    .warn("the operator is not started; the next change tries again");
                *known = None;
                return Ok(Started::Not(why));
            }
        };
        *running = Some(process);
        *known = Some(now);
        Ok(if is_restart { Started::Anew } else { Started::First })
    }

    /// Says on the page how the operator stands.
    fn tell(&self, state: OperatorState) {
        if let Some(view) = &self.view {
            view.model().session(state);
        }
    }

    /// Builds, while the operator built before goes on.
    async fn build_beside(&mut self, running: &mut Option<Process>) -> Result<BackgroundBuild, Box<dyn Error>> {
        let mut building = std::pin::pin!(build(self.project, self.progress));
        loop {
            let mut signals = self.signals.clone();
            tokio::select! {
                biased;
                asked = signals.more_than(0) => return Ok(BackgroundBuild::Asked(asked)),
                built = &mut building => return Ok(BackgroundBuild::Built(built)),
                ended = ended(running.as_mut()) => {
                    *running = None;
                    self.progress.warn(format!("the operator ended with {}", told(ended?)));
                    self.drop_samples();
                }
            }
        }
    }

    /// What happens next.
    async fn next(&mut self, running: Option<&mut Process>, changes: &mut Changes) -> Result<Event, Box<dyn Error>> {
        Ok(tokio::select! {
            biased;
            asked = self.signals.more_than(0) => Event::Asked(asked),
            status = ended(running) => Event::Ended(status?),
            (paths, saved_at) = changes.next() => Event::Changed(paths, saved_at),
        })
    }

    async fn end_all(&mut self, running: Option<Process>, asked: Received) -> Result<RunEnd, Box<dyn Error>> {
        match running {
            Some(process) => self.end(process, asked).await,
            None => Ok(RunEnd::Asked),
        }
    }

    /// Passes on what was asked, and asked again.
    async fn end(&mut self, mut process: Process, asked: Received) -> Result<RunEnd, Box<dyn Error>> {
        process.ask(asked.is_interrupt);
        tokio::select! {
            biased;
            status = process.ended() => return Ok(RunEnd::Operator(status?)),
            _ = self.signals.more_than(asked.count) => {}
        }
        // The second signal shortens the cleanup.
        process.kill();
        Ok(RunEnd::Operator(process.ended().await?))
    }

    /// Deletes what was made for the run, within a timeout that a second signal shortens.
    async fn leave(&mut self) {
        let times = self.signals.count();
        let patience = if times > 1 { HURRIED_WITHIN } else { LEFT_WITHIN };
        let leaving = self.installation.clean_up(&self.place.cluster, self.progress);
        let is_left = tokio::select! {
            biased;
            left = tokio::time::timeout(patience, leaving) => left.is_ok(),
            _ = self.signals.more_than(times) => false,
        };
        if !is_left {
            for reference in self.installation.made() {
                self.progress.warn(format!(
                    "{reference} may still be there, since the cluster does not answer: kubectl delete {reference}"
                ));
            }
        }
    }

    /// What a future comes to, unless the end is asked for before.
    async fn unless_asked<T>(&mut self, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            _ = self.signals.more_than(0) => None,
            value = future => Some(value),
        }
    }

    fn finish_aside(&mut self) {
        for task in self.aside.drain(..).chain(self.applying.take()) {
            task.abort();
        }
    }

    /// Files as the user knows them.
    fn listed(&self, paths: &[PathBuf]) -> String {
        let root = self.project.root();
        let short = |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).display().to_string();
        let mut names: Vec<String> = paths.iter().take(3).map(short).collect();
        if paths.len() > 3 {
            names.push(format!("and {} more", paths.len() - 3));
        }
        names.join(", ")
    }
}

/// What became of an operator that was built.
enum Started {
    /// It runs, and none was stopped for it.
    First,
    /// It took the place of one that ran.
    Anew,
    /// It does not run, for this reason.
    Not(String),
}

/// What happened first while the operator ran and was built again.
enum BackgroundBuild {
    Asked(Received),
    Built(Result<Built, Box<dyn Error>>),
}

/// What changes when the operator is built again.
#[derive(PartialEq)]
struct BuildFingerprint {
    binary: PathBuf,
    stamp: Option<(Option<std::time::SystemTime>, u64)>,
}

impl BuildFingerprint {
    fn of(built: &Built) -> Self {
        BuildFingerprint {
            binary: built.binary.clone(),
            stamp: stamp(&built.binary),
        }
    }
}

/// The errors of the compiler, if it found some.
fn compiler_errors(error: &(dyn Error + 'static)) -> Option<String> {
    match error.downcast_ref()? {
        crate::project::Error::Build { errors, .. } if !errors.is_empty() => Some(errors.clone()),
        _ => None,
    }
}

/// How an operator ended; one that is not there does not.
pub(super) async fn ended(running: Option<&mut Process>) -> std::io::Result<ExitStatus> {
    match running {
        Some(process) => process.ended().await,
        None => std::future::pending().await,
    }
}

/// Builds the operator and asks it what it is.
async fn build(project: &Project, progress: &Progress) -> Result<Built, Box<dyn Error>> {
    let (project, progress) = (project.clone(), progress.clone());
    let building = tokio::task::spawn_blocking(move || -> Result<Built, crate::project::Error> {
        let began = Instant::now();
        let binary = project.build_guarded(guard(project.root()), &progress)?;
        let cargo = began.elapsed();
        let description = project.describe(&binary)?;
        let bundle = project.bundle(&description, &Overrides::default())?;
        Ok(Built {
            binary,
            bundle,
            description: Box::new(description),
            cargo,
        })
    });
    Ok(building.await??)
}
