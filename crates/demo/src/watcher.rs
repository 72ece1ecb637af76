//! Watches a cluster the way controllers do, through informers, and an operator through its trace.
//! All notices arrive in one channel, in the order in which things happened.

use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_runtime::cache::{Event, Registration};
use kubewright_runtime::informer::{Cache, CacheTasks, Declarations};
use kubewright_runtime::object::Kind;
use kubewright_runtime::random::Random;
use kubewright_runtime::trace::{Trace, TraceRecord};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How late an event of one watch may come after a later event of another.
const OVERTAKING: Duration = Duration::from_millis(8);

/// A notice and when it came.
#[derive(Debug)]
pub(super) struct TimedNotice {
    pub(super) at: Instant,
    pub(super) notice: Notice,
}

#[derive(Debug)]
pub(super) enum Notice {
    /// Something happened to an object.
    Object(Kind, Event),
    /// Something happened in the operator.
    Operator(Arc<TraceRecord>),
    /// A message for the user.
    Message(String),
    /// The demo cannot go on.
    Failure(String),
}

/// Sends notices to the receiver.
#[derive(Clone, Debug)]
pub(super) struct NoticeSender(UnboundedSender<TimedNotice>);

impl NoticeSender {
    pub(super) fn send(&self, notice: Notice) {
        let at = Instant::now();
        // The receiver is gone when the demo is over.
        let _ = self.0.send(TimedNotice { at, notice });
    }

    /// Sends a notice for each record of the operator's trace, until it is dropped.
    pub(super) async fn follow(self, trace: Trace) {
        let mut follower = trace.follow();
        loop {
            for record in follower.next().await {
                self.send(Notice::Operator(record));
            }
        }
    }
}

/// Lines that are written to it become messages.
impl Write for NoticeSender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.send(Notice::Message(line.trim_start_matches(['!', '•', ' ']).to_owned()));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The informers of the demo, which send notices.
pub(super) struct Watcher {
    notices: NoticeSender,
    watches: Vec<(Cache, CacheTasks, Vec<Registration>)>,
}

impl Watcher {
    /// A watcher that watches nothing yet, and the receiver of its notices.
    pub(super) fn new() -> (Watcher, NoticeReceiver) {
        let (sender, receiver) = unbounded_channel();
        let watcher = Watcher {
            notices: NoticeSender(sender),
            watches: Vec::new(),
        };
        (watcher, NoticeReceiver(receiver))
    }

    pub(super) fn notices(&self) -> &NoticeSender {
        &self.notices
    }

    /// Watches all objects of some kinds from now on.
    pub(super) async fn watch(
        &mut self,
        client: &kube::Client,
        kinds: impl IntoIterator<Item = Kind>,
    ) -> Result<(), Box<dyn Error>> {
        let mut declarations = Declarations::default();
        for kind in kinds {
            declarations.reads(kind);
        }
        let cache = Cache::new(declarations)?;
        let registrations = cache
            .informers()
            .map(|informer| {
                let (kind, notices) = (informer.store().kind().clone(), self.notices.clone());
                informer.add_handler(move |event: &Event| notices.send(Notice::Object(kind.clone(), event.clone())))
            })
            .collect();
        let tasks = cache.start(client, &Random::from_entropy());
        cache.synced().await;
        self.watches.push((cache, tasks, registrations));
        Ok(())
    }

    /// The informers of the last [`watch`](Self::watch).
    pub(super) fn cache(&self) -> Option<&Cache> {
        self.watches.last().map(|(cache, ..)| cache)
    }
}

/// The notices that were not printed yet.
pub(super) struct NoticeReceiver(UnboundedReceiver<TimedNotice>);

impl NoticeReceiver {
    /// The next notice and all that come shortly after it, in the order in which things happened.
    pub(super) async fn next(&mut self) -> Vec<TimedNotice> {
        let Some(first) = self.0.recv().await else {
            // All senders are gone, so there will be no notice.
            return std::future::pending().await;
        };
        tokio::time::sleep(OVERTAKING).await;
        let mut notices = vec![first];
        while let Ok(more) = self.0.try_recv() {
            notices.push(more);
        }
        in_order(notices)
    }
}

/// Sorts the events of objects by revision, whichever watch was faster. Other notices keep their positions.
fn in_order(mut notices: Vec<TimedNotice>) -> Vec<TimedNotice> {
    // The positions and times of events of objects stay; which event is at which position follows from the revisions.
    let positions: Vec<usize> = (0..notices.len())
        .filter(|at| revision(&notices[*at]).is_some())
        .collect();
    let mut order = positions.clone();
    order.sort_by_key(|at| revision(&notices[*at]));
    let times: Vec<Instant> = positions.iter().map(|at| notices[*at].at).collect();
    let mut taken: Vec<Option<Notice>> = notices
        .iter_mut()
        .map(|timed| Some(std::mem::replace(&mut timed.notice, Notice::Message(String::new()))))
        .collect();
    for ((position, from), time) in positions.iter().zip(&order).zip(times) {
        if let Some(notice) = taken[*from].take() {
            notices[*position] = TimedNotice { at: time, notice };
        }
    }
    for (position, notice) in taken.into_iter().enumerate() {
        if let Some(notice) = notice {
            notices[position].notice = notice;
        }
    }
    notices
}

fn revision(timed: &TimedNotice) -> Option<u64> {
    match &timed.notice {
        Notice::Object(_, event) => event.object().revision(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use kubewright_runtime::object::Record;

    use super::*;

    fn object(kind: &Kind, revision: u32) -> TimedNotice {
        let json = format!(r#"{{"metadata":{{"name":"a","uid":"a","resourceVersion":"{revision}"}}}}"#);
        let object = Arc::new(Record::parse(json.as_bytes(), kind).unwrap());
        let event = Event::Added { object, initial: false };
        TimedNotice {
            at: Instant::now(),
            notice: Notice::Object(kind.clone(), event),
        }
    }

    #[test]
    fn objects_are_in_the_order_of_their_revisions_and_messages_keep_their_positions() {
        let (pod, map) = (Kind::of::<Pod>(), Kind::of::<ConfigMap>());
        let words = || TimedNotice {
            at: Instant::now(),
            notice: Notice::Message("now".to_owned()),
        };
        let notices = in_order(vec![object(&pod, 9), object(&pod, 11), words(), object(&map, 10)]);
        let order: Vec<String> = notices
            .iter()
            .map(|timed| match &timed.notice {
                Notice::Message(words) => words.clone(),
                _ => revision(timed).unwrap().to_string(),
            })
            .collect();
        assert_eq!(order, ["9", "10", "now", "11"]);
        assert!(notices.windows(2).all(|pair| pair[0].at <= pair[1].at));
    }

    #[test]
    fn lines_become_messages_without_their_marks() {
        let (watcher, mut receiver) = Watcher::new();
        writeln!(watcher.notices().clone(), "! the operator may not list secrets").unwrap();
        let Ok(TimedNotice {
            notice: Notice::Message(words),
            ..
        }) = receiver.0.try_recv()
        else {
            panic!("there is no notice");
        };
        assert_eq!(words, "the operator may not list secrets");
    }
}
