//! Looking at a cluster the way controllers do: through informers, and at a controller through what it tells of itself.
//! Whatever is seen arrives in one place, in the order in which it happened.

use std::error::Error;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use kubewright_runtime::cache::{Event, Registration};
use kubewright_runtime::controller::{ControllerStats, Observation};
use kubewright_runtime::informer::{Cache, CacheTasks, Declarations};
use kubewright_runtime::object::Kind;
use kubewright_runtime::random::Random;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Watches of different kinds overtake each other by no more than this.
const OVERTAKING: Duration = Duration::from_millis(8);

/// Something that was seen.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) at: Instant,
    pub(super) sight: Sight,
}

#[derive(Debug)]
pub(super) enum Sight {
    /// Something happened to an object.
    Object(Kind, Event),
    /// Something happened in the operator's controller.
    Controller(Observation),
    /// Somebody has something to say.
    Words(String),
    /// The show cannot go on.
    Broken(String),
}

/// Where everything that is seen is sent to.
#[derive(Clone, Debug)]
pub(super) struct Nerve(UnboundedSender<Seen>);

impl Nerve {
    pub(super) fn send(&self, sight: Sight) {
        let at = Instant::now();
        // Nobody looks any more: the demo is over.
        let _ = self.0.send(Seen { at, sight });
    }

    /// Sees what a controller tells of itself.
    pub(super) fn observe(&self, stats: &ControllerStats) {
        let nerve = self.clone();
        stats.observe(move |observation| nerve.send(Sight::Controller(observation.clone())));
    }
}

/// Lines that are written here are words somebody has to say.
impl Write for Nerve {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.send(Sight::Words(line.trim_start_matches(['!', '•', ' ']).to_owned()));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is looked at.
pub(super) struct Eyes {
    nerve: Nerve,
    open: Vec<(Cache, CacheTasks, Vec<Registration>)>,
}

impl Eyes {
    /// Closed eyes, and what they will have seen.
    pub(super) fn new() -> (Eyes, Sights) {
        let (sender, receiver) = unbounded_channel();
        let eyes = Eyes {
            nerve: Nerve(sender),
            open: Vec::new(),
        };
        (eyes, Sights(receiver))
    }

    pub(super) fn nerve(&self) -> &Nerve {
        &self.nerve
    }

    /// Looks at all objects of some kinds from now on.
    pub(super) async fn open(
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
                let (kind, nerve) = (informer.store().kind().clone(), self.nerve.clone());
                informer.add_handler(move |event: &Event| nerve.send(Sight::Object(kind.clone(), event.clone())))
            })
            .collect();
        let tasks = cache.start(client, &Random::from_entropy());
        cache.synced().await;
        self.open.push((cache, tasks, registrations));
        Ok(())
    }

    /// The informers of what was opened last, for whoever wants to look things up.
    pub(super) fn cache(&self) -> Option<&Cache> {
        self.open.last().map(|(cache, ..)| cache)
    }
}

/// What was seen and not yet told.
pub(super) struct Sights(UnboundedReceiver<Seen>);

impl Sights {
    /// What is seen next, and all that comes with it, in the order in which it happened.
    pub(super) async fn next(&mut self) -> Vec<Seen> {
        let Some(first) = self.0.recv().await else {
            // Nobody can send any more, so nothing will ever be seen.
            return std::future::pending().await;
        };
        tokio::time::sleep(OVERTAKING).await;
        let mut seen = vec![first];
        while let Ok(more) = self.0.try_recv() {
            seen.push(more);
        }
        in_order(seen)
    }
}

/// Objects in the order of their revisions, which the API server gave them, whichever watch was faster.
fn in_order(mut seen: Vec<Seen>) -> Vec<Seen> {
    // The places and times where objects are stay; which of them is there follows from the revisions.
    let places: Vec<usize> = (0..seen.len()).filter(|at| revision(&seen[*at]).is_some()).collect();
    let mut order = places.clone();
    order.sort_by_key(|at| revision(&seen[*at]));
    let times: Vec<Instant> = places.iter().map(|at| seen[*at].at).collect();
    let mut sights: Vec<Option<Sight>> = seen
        .iter_mut()
        .map(|seen| Some(std::mem::replace(&mut seen.sight, Sight::Words(String::new()))))
        .collect();
    for ((place, from), time) in places.iter().zip(&order).zip(times) {
        if let Some(sight) = sights[*from].take() {
            seen[*place] = Seen { at: time, sight };
        }
    }
    for (place, sight) in sights.into_iter().enumerate() {
        if let Some(sight) = sight {
            seen[place].sight = sight;
        }
    }
    seen
}

fn revision(seen: &Seen) -> Option<u64> {
    match &seen.sight {
        Sight::Object(_, event) => event.object().revision(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use kubewright_runtime::object::Record;

    use super::*;

    fn object(kind: &Kind, revision: u32) -> Seen {
        let json = format!(r#"{{"metadata":{{"name":"a","uid":"a","resourceVersion":"{revision}"}}}}"#);
        let object = Arc::new(Record::parse(json.as_bytes(), kind).unwrap());
        let event = Event::Added { object, initial: false };
        Seen {
            at: Instant::now(),
            sight: Sight::Object(kind.clone(), event),
        }
    }

    #[test]
    fn objects_are_in_the_order_of_their_revisions_and_words_where_they_were_said() {
        let (pod, map) = (Kind::of::<Pod>(), Kind::of::<ConfigMap>());
        let words = || Seen {
            at: Instant::now(),
            sight: Sight::Words("now".to_owned()),
        };
        let seen = in_order(vec![object(&pod, 9), object(&pod, 11), words(), object(&map, 10)]);
        let told: Vec<String> = seen
            .iter()
            .map(|seen| match &seen.sight {
                Sight::Words(words) => words.clone(),
                _ => revision(seen).unwrap().to_string(),
            })
            .collect();
        assert_eq!(told, ["9", "10", "now", "11"]);
        assert!(seen.windows(2).all(|pair| pair[0].at <= pair[1].at));
    }

    #[test]
    fn lines_become_words_without_their_marks() {
        let (eyes, mut sights) = Eyes::new();
        writeln!(eyes.nerve().clone(), "! the operator may not list secrets").unwrap();
        let Ok(Seen {
            sight: Sight::Words(words),
            ..
        }) = sights.0.try_recv()
        else {
            panic!("nothing was seen");
        };
        assert_eq!(words, "the operator may not list secrets");
    }
}
