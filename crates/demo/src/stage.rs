//! Where the story is told: what was seen becomes lines, at a pace at which people can follow.

use std::io::{self, ErrorKind, Write as _};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::eyes::{Seen, Sight, Sights};
use super::paint::harmless;
use super::reconciles::Reconciles;
use super::told::{Told, What};
use super::world::World;

/// What a chapter waits for has to come about within this.
const PATIENCE: Duration = Duration::from_mins(1);
/// When nothing was seen for so long, everything has come to rest.
const QUIET: Duration = Duration::from_millis(60);
/// A cluster that never rests is not waited for longer.
const UNREST: Duration = Duration::from_secs(3);

/// Why a story ends before its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum StageError {
    #[error("nobody reads any more")]
    Closed,
    #[error("cannot write to standard output")]
    Write(#[source] io::Error),
    #[error("{0} within a minute")]
    NeverSeen(String),
    #[error("{0}")]
    Broken(String),
}

/// How lines look.
pub(super) trait Teller {
    /// The lines of something that is told; nothing, if it is held back or left out.
    fn tell(&mut self, told: &Told) -> String;

    /// What was held back.
    fn rest(&mut self) -> String {
        String::new()
    }
}

/// The pauses for those who read along.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub(super) line: Duration,
    pub(super) heading: Duration,
    pub(super) command: Duration,
    pub(super) chapter: Duration,
}

impl Pace {
    /// For people.
    pub(super) fn human() -> Self {
        Pace {
            line: Duration::from_millis(45),
            heading: Duration::from_millis(850),
            command: Duration::from_millis(500),
            chapter: Duration::from_millis(700),
        }
    }

    /// For machines, and for those who have seen it.
    pub(super) fn fast() -> Self {
        Pace {
            line: Duration::ZERO,
            heading: Duration::ZERO,
            command: Duration::ZERO,
            chapter: Duration::ZERO,
        }
    }
}

/// Where the story is told.
pub(super) struct Stage {
    sights: Sights,
    teller: Box<dyn Teller + Send>,
    pace: Pace,
    pub(super) world: World,
    reconciles: Reconciles,
    began: Instant,
    chapter: usize,
    /// When what the chapter is about was begun.
    acted: Instant,
    paused: Duration,
}

impl Stage {
    pub(super) fn new(sights: Sights, teller: Box<dyn Teller + Send>, pace: Pace) -> Self {
        let now = Instant::now();
        Stage {
            sights,
            teller,
            pace,
            world: World::default(),
            reconciles: Reconciles::default(),
            began: now,
            chapter: 0,
            acted: now,
            paused: Duration::ZERO,
        }
    }

    /// How long it has been going on, and how much of it were pauses.
    pub(super) fn elapsed(&self) -> (Duration, Duration) {
        (self.began.elapsed(), self.paused)
    }

    /// Begins the next chapter.
    pub(super) async fn chapter(&mut self, title: &'static str, words: &'static str) -> Result<(), StageError> {
        self.chapter += 1;
        self.say(What::Chapter { title, words })?;
        self.pause(self.pace.heading).await;
        self.acted = Instant::now();
        Ok(())
    }

    /// Says what somebody is about to do.
    pub(super) async fn command(&mut self, line: impl Into<String>) -> Result<(), StageError> {
        self.say(What::Command(line.into()))?;
        self.pause(self.pace.command).await;
        self.acted = Instant::now();
        Ok(())
    }

    /// Says something of the cluster.
    pub(super) async fn fact(&mut self, subject: &'static str, text: impl Into<String>) -> Result<(), StageError> {
        let text = text.into();
        self.tell(Instant::now(), What::Fact { subject, text }).await
    }

    /// Says something that happens now.
    pub(super) fn say(&mut self, what: What) -> Result<(), StageError> {
        let told = self.told(Instant::now(), what);
        let text = self.teller.tell(&told);
        write(&text)
    }

    /// Ends a chapter.
    pub(super) async fn rest(&mut self) -> Result<(), StageError> {
        let text = self.teller.rest();
        write(&text)?;
        self.pause(self.pace.chapter).await;
        Ok(())
    }

    /// Tells what is seen until something has come about and everything is at rest. When it came about.
    pub(super) async fn until(&mut self, what: &str, is_so: impl Fn(&World) -> bool) -> Result<Instant, StageError> {
        let begun = Instant::now();
        let never = || StageError::NeverSeen(what.to_owned());
        let mut since = is_so(&self.world).then_some(begun);
        while since.is_none() {
            let left = (PATIENCE + self.paused).saturating_sub(begun.elapsed());
            for seen in timeout(left, self.sights.next()).await.map_err(|_| never())? {
                let at = seen.at;
                self.show(seen).await?;
                if since.is_none() && is_so(&self.world) {
                    since = Some(at);
                }
            }
        }
        let calm = Instant::now();
        while calm.elapsed() < UNREST + self.pace.line * 100
            && let Ok(seen) = timeout(QUIET, self.sights.next()).await
        {
            for seen in seen {
                self.show(seen).await?;
            }
        }
        since.ok_or_else(never)
    }

    /// Tells what is seen, for ever.
    pub(super) async fn follow(&mut self) -> Result<(), StageError> {
        loop {
            for seen in self.sights.next().await {
                self.show(seen).await?;
            }
        }
    }

    async fn show(&mut self, seen: Seen) -> Result<(), StageError> {
        let told = match seen.sight {
            Sight::Object(kind, event) => self.world.take(&kind, &event),
            Sight::Controller(observation) => {
                let work = self.reconciles.take(observation);
                work.map(What::Reconcile).into_iter().collect()
            }
            Sight::Words(words) => vec![What::Warning(words)],
            Sight::Broken(why) => return Err(StageError::Broken(harmless(&why))),
        };
        for what in told {
            self.tell(seen.at, what).await?;
        }
        Ok(())
    }

    async fn tell(&mut self, at: Instant, what: What) -> Result<(), StageError> {
        let told = self.told(at, what);
        let text = self.teller.tell(&told);
        if !text.is_empty() {
            write(&text)?;
            self.pause(self.pace.line).await;
        }
        Ok(())
    }

    fn told(&self, at: Instant, what: What) -> Told {
        Told {
            since_start: at.saturating_duration_since(self.began),
            since_chapter: at.saturating_duration_since(self.acted),
            chapter: self.chapter,
            what,
        }
    }

    async fn pause(&mut self, pause: Duration) {
        if !pause.is_zero() {
            sleep(pause).await;
            self.paused += pause;
        }
    }
}

/// Writes lines where somebody may read them.
fn write(text: &str) -> Result<(), StageError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(StageError::Closed),
        Err(error) => Err(StageError::Write(error)),
    }
}
