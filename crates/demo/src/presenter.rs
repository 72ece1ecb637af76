//! Prints what the demo does and what comes of it, at a pace at which people can read along.

use std::io::{self, ErrorKind, Write as _};
use std::time::{Duration, Instant};

use kubewright_view::SharedModel;
use tokio::time::{sleep, timeout};

use super::inside;
use super::line::{Content, Line};
use super::reconciles::Reconciles;
use super::state::ClusterState;
use super::terminal::escaped_control_characters;
use super::watcher::{Notice, NoticeReceiver, TimedNotice};

/// How long a chapter waits for its outcome.
const CHAPTER_TIMEOUT: Duration = Duration::from_mins(1);
/// The cluster counts as settled once nothing has happened for this long.
const QUIET_PERIOD: Duration = Duration::from_millis(60);
/// How long a chapter waits for the cluster to settle.
const LONGEST_WAIT_FOR_QUIET: Duration = Duration::from_secs(3);

/// Why the demo ends early.
#[derive(Debug, thiserror::Error)]
pub(super) enum PresentError {
    #[error("nobody reads any more")]
    Closed,
    #[error("cannot write to standard output")]
    Write(#[source] io::Error),
    #[error("{0} within a minute")]
    TimedOut(String),
    #[error("{0}")]
    Broken(String),
}

/// Turns lines into text.
pub(super) trait Format {
    /// The text of a line; empty if the format holds it back or leaves it out.
    fn render(&mut self, line: &Line) -> String;

    /// The text of the lines that were held back.
    fn flush(&mut self) -> String {
        String::new()
    }
}

/// How long the presenter pauses, for people who read along.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    pub(super) line: Duration,
    pub(super) heading: Duration,
    pub(super) command: Duration,
    pub(super) chapter: Duration,
}

impl Pauses {
    /// For people.
    pub(super) fn human() -> Self {
        Pauses {
            line: Duration::from_millis(45),
            heading: Duration::from_millis(850),
            command: Duration::from_millis(500),
            chapter: Duration::from_millis(700),
        }
    }

    /// For scripts: no pauses.
    pub(super) fn fast() -> Self {
        Pauses {
            line: Duration::ZERO,
            heading: Duration::ZERO,
            command: Duration::ZERO,
            chapter: Duration::ZERO,
        }
    }
}

/// Prints lines, and follows the notices of the watcher.
pub(super) struct Presenter {
    notices: NoticeReceiver,
    format: Box<dyn Format + Send>,
    pace: Pauses,
    /// What a page shows, which is told the same.
    shown: Option<SharedModel>,
    pub(super) state: ClusterState,
    reconciles: Reconciles,
    began: Instant,
    chapter: usize,
    /// When the action of this chapter began: its command, or else the chapter itself.
    acted: Instant,
    paused: Duration,
}

impl Presenter {
    pub(super) fn new(
        notices: NoticeReceiver,
        format: Box<dyn Format + Send>,
        pace: Pauses,
        shown: Option<SharedModel>,
    ) -> Self {
        let now = Instant::now();
        Presenter {
            notices,
            format,
            pace,
            shown,
            state: ClusterState::default(),
            reconciles: Reconciles::default(),
            began: now,
            chapter: 0,
            acted: now,
            paused: Duration::ZERO,
        }
    }

    /// How long the demo has run, and how much of that were pauses.
    pub(super) fn elapsed(&self) -> (Duration, Duration) {
        (self.began.elapsed(), self.paused)
    }

    /// Begins the next chapter.
    pub(super) async fn chapter(&mut self, title: &'static str, words: &'static str) -> Result<(), PresentError> {
        self.chapter += 1;
        self.print(Content::Chapter { title, words })?;
        self.pause(self.pace.heading).await;
        self.acted = Instant::now();
        Ok(())
    }

    /// Prints the command that is about to be run.
    pub(super) async fn command(&mut self, line: impl Into<String>) -> Result<(), PresentError> {
        self.print(Content::Command(line.into()))?;
        self.pause(self.pace.command).await;
        self.acted = Instant::now();
        Ok(())
    }

    /// Prints a fact about the cluster.
    pub(super) async fn fact(&mut self, subject: &'static str, text: impl Into<String>) -> Result<(), PresentError> {
        let text = text.into();
        self.print_paced(Instant::now(), Content::Fact { subject, text }).await
    }

    /// Prints a line for something that happens now.
    pub(super) fn print(&mut self, content: Content) -> Result<(), PresentError> {
        let line = self.line(Instant::now(), content);
        self.show(&line.content);
        let text = self.format.render(&line);
        write(&text)
    }

    /// Prints what was held back, and pauses.
    pub(super) async fn end_chapter(&mut self) -> Result<(), PresentError> {
        let text = self.format.flush();
        write(&text)?;
        self.pause(self.pace.chapter).await;
        Ok(())
    }

    /// Prints what happens until `is_so` holds and the cluster has settled. Returns when `is_so` began to hold.
    pub(super) async fn wait_until(
        &mut self,
        what: &str,
        is_so: impl Fn(&ClusterState) -> bool,
    ) -> Result<Instant, PresentError> {
        let begun = Instant::now();
        let never = || PresentError::TimedOut(what.to_owned());
        let mut since = is_so(&self.state).then_some(begun);
        while since.is_none() {
            let left = (CHAPTER_TIMEOUT + self.paused).saturating_sub(begun.elapsed());
            for notice in timeout(left, self.notices.next()).await.map_err(|_| never())? {
                let at = notice.at;
                self.present(notice).await?;
                if since.is_none() && is_so(&self.state) {
                    since = Some(at);
                }
            }
        }
        let calm = Instant::now();
        while calm.elapsed() < LONGEST_WAIT_FOR_QUIET + self.pace.line * 100
            && let Ok(notices) = timeout(QUIET_PERIOD, self.notices.next()).await
        {
            for notice in notices {
                self.present(notice).await?;
            }
        }
        since.ok_or_else(never)
    }

    /// Prints what happens, for ever.
    pub(super) async fn follow(&mut self) -> Result<(), PresentError> {
        loop {
            for notice in self.notices.next().await {
                self.present(notice).await?;
            }
        }
    }

    async fn present(&mut self, notice: TimedNotice) -> Result<(), PresentError> {
        let contents = match notice.notice {
            Notice::Object(kind, event) => self.state.take(&kind, &event),
            Notice::Operator(record) => {
                let work = self.reconciles.take(&record.event);
                work.map(Content::Reconcile).into_iter().collect()
            }
            Notice::Message(words) => vec![Content::Warning(words)],
            Notice::Failure(why) => return Err(PresentError::Broken(escaped_control_characters(&why))),
        };
        for content in contents {
            self.print_paced(notice.at, content).await?;
        }
        Ok(())
    }

    async fn print_paced(&mut self, at: Instant, content: Content) -> Result<(), PresentError> {
        let line = self.line(at, content);
        self.show(&line.content);
        let text = self.format.render(&line);
        if !text.is_empty() {
            write(&text)?;
            self.pause(self.pace.line).await;
        }
        Ok(())
    }

    fn show(&self, content: &Content) {
        if let Some(model) = &self.shown {
            inside::tell(model, content);
        }
    }

    fn line(&self, at: Instant, content: Content) -> Line {
        Line {
            since_start: at.saturating_duration_since(self.began),
            since_chapter: at.saturating_duration_since(self.acted),
            chapter: self.chapter,
            content,
        }
    }

    async fn pause(&mut self, pause: Duration) {
        if !pause.is_zero() {
            sleep(pause).await;
            self.paused += pause;
        }
    }
}

/// Writes to standard output.
fn write(text: &str) -> Result<(), PresentError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(PresentError::Closed),
        Err(error) => Err(PresentError::Write(error)),
    }
}
