//! Questions of work that cannot wait for their answers: it is done again once they are known.

use std::convert::Infallible;

use kubewright_access::{Attributes, Decision, User};
use parking_lot::Mutex;

use super::ruling;
use crate::server::Server;

/// Whether a user may do something.
pub(super) type Question = (User, Attributes<'static>);

/// What is known of a user's rights, and what somebody asked in vain.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    known: Mutex<Vec<(Question, Decision)>>,
    /// The first of them; what was asked afterwards may not be asked once it is known.
    missing: Mutex<Option<Question>>,
}

impl Questions {
    /// Whether a user may do what is asked, as far as that is known.
    pub(crate) fn decide(&self, user: &User, asked: &Attributes<'_>) -> Decision {
        let question = (user.clone(), asked.clone().into_owned());
        if let Some((_, decision)) = self.known.lock().iter().find(|(known, _)| *known == question) {
            return decision.clone();
        }
        self.missing.lock().get_or_insert(question);
        Decision::DENIED
    }

    /// Does work until everything that it asks is known.
    pub(crate) async fn settled<T>(&self, server: &Server, work: impl FnMut() -> T) -> T {
        let answer = |question: Question| async move {
            let decision = ruling(server, &question.0, &question.1).await.decision;
            Ok::<_, Infallible>((question, decision))
        };
        let Ok(done) = self.settled_by(work, answer).await;
        done
    }

    /// The same with answers from elsewhere. The first one that cannot be had ends it.
    pub(super) async fn settled_by<T, E, F>(
        &self,
        mut work: impl FnMut() -> T,
        answer: impl Fn(Question) -> F,
    ) -> Result<T, E>
    where
        F: Future<Output = Result<(Question, Decision), E>>,
    {
        loop {
            let done = work();
            let missing = self.missing.lock().take();
            let Some(question) = missing else {
                return Ok(done);
            };
            drop(done);
            let answered = answer(question).await?;
            self.known.lock().push(answered);
        }
    }
}
