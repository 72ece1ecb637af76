//! Conversion between the versions of a kind by its webhook (C12).
//!
//! What reads and writes objects is pure and does not wait. Where it needs an object in another version it looks into the
//! [`ConversionCache`] that it is given; what is not there it names in an error, [`NeedsConversion`]. [`with_conversions`]
//! asks the webhook for that and does the work once more, with the answer in the cache: an apply cannot know beforehand
//! which versions it needs. So there is one path for kinds with and without a webhook, only those with one ever do anything
//! twice, and nothing can be mistaken for a converted object.

mod review;

use std::collections::{BTreeMap, BTreeSet};

use http::StatusCode;
use serde_json::Value;

use super::kind::CustomKind;
use crate::registry::Resource;
use crate::server::Server;
use crate::wire::status::Status;

/// How often work may find that it needs yet another conversion: a write through apply asks once per version of its owners.
const MOST_ROUNDS: usize = 64;

/// An object that is needed in another version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WantedObject {
    /// Group and version.
    api_version: String,
    /// The object's text.
    object: String,
}

/// What a webhook has converted for one piece of work, or could not convert.
#[derive(Default)]
pub(crate) struct ConversionCache {
    answers: BTreeMap<WantedObject, Result<Value, String>>,
}

/// Objects that a webhook has to convert before a piece of work can be done.
#[derive(Debug, Default)]
pub(crate) struct NeedsConversion(Vec<WantedObject>);

/// Why an object is not at hand in another version.
#[derive(Debug)]
pub(crate) enum Unconverted {
    /// The webhook has not been asked yet.
    Needed(NeedsConversion),
    /// The webhook was asked and failed, in upstream's words.
    Failed(String),
    /// The kind has no such version.
    MissingVersion,
}

/// Why work on objects stopped.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// It can go on once these objects are converted.
    NeedsConversion(NeedsConversion),
    /// It cannot be done.
    Refused(Box<Status>),
}

impl From<Box<Status>> for Unfinished {
    fn from(status: Box<Status>) -> Self {
        Unfinished::Refused(status)
    }
}

impl From<Unconverted> for Unfinished {
    fn from(unconverted: Unconverted) -> Self {
        let why = match unconverted {
            Unconverted::Needed(needed) => return Unfinished::NeedsConversion(needed),
            Unconverted::Failed(why) => why,
            Unconverted::MissingVersion => "no such version".to_owned(),
        };
        Unfinished::Refused(Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", why))
    }
}

impl ConversionCache {
    /// The object as the webhook converted it.
    pub(super) fn converted(&self, object: &Value, api_version: &str) -> Result<Value, Unconverted> {
        let wanted = WantedObject {
            api_version: api_version.to_owned(),
            object: object.to_string(),
        };
        match self.answers.get(&wanted) {
            Some(Ok(converted)) => Ok(converted.clone()),
            Some(Err(why)) => Err(Unconverted::Failed(why.clone())),
            None => Err(Unconverted::Needed(NeedsConversion(vec![wanted]))),
        }
    }
}

impl NeedsConversion {
    pub(crate) fn add(&mut self, other: NeedsConversion) {
        self.0.extend(other.0);
    }

    /// An error if anything is needed.
    pub(crate) fn check(self) -> Result<(), Unfinished> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Unfinished::NeedsConversion(self))
        }
    }
}

/// Collects the conversions that many objects need, so that the webhook is called once for all of them.
#[derive(Default)]
pub(crate) struct NeededConversions {
    needed: NeedsConversion,
    refused: Option<Box<Status>>,
}

impl NeededConversions {
    /// The result for one object, if there is one; why not is kept.
    pub(crate) fn take<T>(&mut self, result: Result<T, Unfinished>) -> Option<T> {
        match result {
            Ok(done) => Some(done),
            Err(Unfinished::NeedsConversion(needed)) => {
                self.needed.add(needed);
                None
            }
            Err(Unfinished::Refused(status)) => {
                self.refused.get_or_insert(status);
                None
            }
        }
    }

    /// An error unless every object had its result. What can still be converted is, before the first failure counts.
    pub(crate) fn check(self) -> Result<(), Unfinished> {
        self.needed.check()?;
        self.refused.map_or(Ok(()), |status| Err(Unfinished::Refused(status)))
    }
}

/// Does work that may need objects in other versions, as often as it takes to have them all.
pub(crate) async fn with_conversions<T>(
    server: &Server,
    resource: &Resource,
    mut work: impl FnMut(&ConversionCache) -> Result<T, Unfinished>,
) -> Result<T, Box<Status>> {
    let mut cache = ConversionCache::default();
    for _ in 0..MOST_ROUNDS {
        let needed = match work(&cache) {
            Ok(done) => return Ok(done),
            Err(Unfinished::Refused(status)) => return Err(status),
            Err(Unfinished::NeedsConversion(needed)) => needed,
        };
        let Some(kind) = converting_kind(resource) else {
            break;
        };
        ask(server, kind, needed, &mut cache).await;
    }
    Err(Status::internal("a request needs conversions without end"))
}

/// The same for work that consumes `object`, which is copied only if a webhook may have to be asked.
pub(crate) async fn consume_with_conversions<T>(
    server: &Server,
    resource: &Resource,
    object: Value,
    mut work: impl FnMut(Value, &ConversionCache) -> Result<T, Unfinished>,
) -> Result<T, Box<Status>> {
    let mut object = Some(object);
    let converts = converting_kind(resource).is_some();
    with_conversions(server, resource, move |cache| {
        let object = if converts { object.clone() } else { object.take() };
        work(object.unwrap_or_default(), cache)
    })
    .await
}

/// The kind of a resource whose versions a webhook converts.
fn converting_kind(resource: &Resource) -> Option<&CustomKind> {
    let kind = &*resource.custom()?.kind;
    kind.webhook().map(|_| kind)
}

/// Asks the webhook, with one review for each version that is wanted.
async fn ask(server: &Server, kind: &CustomKind, needed: NeedsConversion, cache: &mut ConversionCache) {
    let mut seen = BTreeSet::new();
    let mut open = needed.0;
    open.retain(|wanted| seen.insert(wanted.clone()));
    while let Some(first) = open.first() {
        let api_version = first.api_version.clone();
        let (asked, later): (Vec<WantedObject>, _) =
            open.into_iter().partition(|wanted| wanted.api_version == api_version);
        open = later;
        let objects: Vec<Value> = asked
            .iter()
            .map(|wanted| crate::object::parsed(wanted.object.as_bytes()))
            .collect();
        let answers = match review::call(server, kind, &api_version, &objects).await {
            Ok(converted) => converted.into_iter().map(Ok).collect(),
            Err(why) => vec![Err(why); asked.len()],
        };
        cache.answers.extend(asked.into_iter().zip(answers));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_that_was_not_converted_is_named_and_not_given() {
        let (object, mut cache) = (json!({ "apiVersion": "g/v1" }), ConversionCache::default());
        let Err(Unconverted::Needed(needed)) = cache.converted(&object, "g/v2") else {
            panic!("nothing has been converted yet");
        };
        let wanted = needed.0.into_iter().next().unwrap();
        assert_eq!(wanted.api_version, "g/v2");
        cache.answers.insert(wanted, Err("no".into()));
        assert!(matches!(cache.converted(&object, "g/v2"), Err(Unconverted::Failed(why)) if why == "no"));
        assert!(matches!(cache.converted(&object, "g/v3"), Err(Unconverted::Needed(_))));
    }

    #[test]
    fn everything_is_converted_before_the_first_failure_counts() {
        let failed = || Err::<(), _>(Unfinished::from(Unconverted::Failed("no".into())));
        let missing = |name: &str| {
            let object = json!({ "metadata": { "name": name } });
            ConversionCache::default()
                .converted(&object, "g/v2")
                .map_err(Unfinished::from)
        };
        let mut gathered = NeededConversions::default();
        gathered.take(failed());
        gathered.take(missing("a"));
        gathered.take(missing("b"));
        assert!(matches!(gathered.check(), Err(Unfinished::NeedsConversion(needed)) if needed.0.len() == 2));
        let mut gathered = NeededConversions::default();
        assert_eq!(gathered.take(Ok(1)), Some(1));
        gathered.take(failed());
        assert!(matches!(gathered.check(), Err(Unfinished::Refused(status)) if status.message == "no"));
    }
}
