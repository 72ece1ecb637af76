//! Conversion between the versions of a kind by its webhook (C12).
//!
//! What reads and writes objects is pure and does not wait. Where it needs an object in another version it asks the desk;
//! what the desk does not know yet is asked of the webhook afterwards, and the work is done once more with the answer at
//! hand. So there is one path for kinds with and without a webhook, and only those with one ever do anything twice.

mod review;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use http::StatusCode;
use serde_json::Value;

use super::kind::Kind;
use crate::registry::Resource;
use crate::server::Server;
use crate::status::Status;

/// How often work may find that it needs yet another conversion: a write through apply asks once per version of its owners.
const MOST_ROUNDS: usize = 64;

thread_local! {
    /// The desk of the work that this thread is at.
    static DESK: RefCell<Option<Desk>> = const { RefCell::new(None) };
}

/// An object that is needed in another version.
#[derive(Clone, Hash, PartialEq, Eq)]
struct Question {
    /// Group and version.
    wanted: String,
    /// The object's text.
    object: String,
}

/// What has been converted for one piece of work, or could not be, and what it still needs.
#[derive(Default)]
struct Desk {
    answers: HashMap<Question, Result<Value, String>>,
    open: Vec<Question>,
    /// Why the work cannot be done: it depends on a conversion that failed.
    failure: Option<String>,
}

/// What the desk knows of a conversion.
pub(super) enum Converted {
    Done(Value),
    Failed(String),
    /// The webhook will be asked, and what the caller does meanwhile is done again.
    Unknown,
}

/// Does work that may need objects in other versions, as often as it takes to have them all.
pub(crate) async fn settled<T>(
    server: &Server,
    resource: &Resource,
    mut work: impl FnMut() -> T,
) -> Result<T, Box<Status>> {
    let Some(kind) = resource
        .custom()
        .map(|version| &*version.kind)
        .filter(|kind| kind.webhook().is_some())
    else {
        return Ok(work());
    };
    let mut desk = Desk::default();
    for _ in 0..MOST_ROUNDS {
        let (done, after) = at_desk(desk, &mut work);
        desk = after;
        let (open, failure) = (std::mem::take(&mut desk.open), desk.failure.take());
        if !open.is_empty() {
            ask(server, kind, open, &mut desk.answers).await;
            continue;
        }
        return match failure {
            None => Ok(done),
            Some(why) => Err(Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", why)),
        };
    }
    Err(Status::internal("a write needs conversions without end"))
}

/// Runs `work` with the desk at hand.
fn at_desk<T>(desk: Desk, work: impl FnOnce() -> T) -> (T, Desk) {
    /// Clears the desk of a thread, also if the work panics.
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            DESK.take();
        }
    }
    DESK.replace(Some(desk));
    let leave = Leave;
    let done = work();
    let desk = DESK.take().unwrap_or_default();
    drop(leave);
    (done, desk)
}

/// The object in the version `wanted`, if the webhook has been asked for it already.
pub(super) fn converted(object: &Value, wanted: &str) -> Converted {
    DESK.with_borrow_mut(|desk| {
        let Some(desk) = desk else {
            return Converted::Unknown;
        };
        let question = Question {
            wanted: wanted.to_owned(),
            object: object.to_string(),
        };
        match desk.answers.get(&question) {
            Some(Ok(converted)) => Converted::Done(converted.clone()),
            Some(Err(why)) => Converted::Failed(why.clone()),
            None => {
                desk.open.push(question);
                Converted::Unknown
            }
        }
    })
}

/// The work at the desk cannot be done for this reason.
pub(super) fn fail(why: String) {
    DESK.with_borrow_mut(|desk| {
        if let Some(desk) = desk {
            desk.failure.get_or_insert(why);
        }
    });
}

/// Asks the webhook, with one review for each version that is wanted.
async fn ask(
    server: &Server,
    kind: &Kind,
    mut open: Vec<Question>,
    answers: &mut HashMap<Question, Result<Value, String>>,
) {
    let mut seen = HashSet::new();
    open.retain(|question| seen.insert(question.clone()));
    while let Some(first) = open.first() {
        let wanted = first.wanted.clone();
        let (asked, later): (Vec<Question>, _) = open.into_iter().partition(|question| question.wanted == wanted);
        open = later;
        let objects: Vec<Value> = asked
            .iter()
            .map(|question| crate::object::parsed(question.object.as_bytes()))
            .collect();
        match review::call(server, kind, &wanted, &objects).await {
            Ok(converted) => answers.extend(asked.into_iter().zip(converted.into_iter().map(Ok))),
            Err(why) => answers.extend(asked.into_iter().map(|question| (question, Err(why.clone())))),
        }
    }
}
