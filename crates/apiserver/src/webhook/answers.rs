//! Answers of a webhook that count for a while.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Answers by their questions, at most so many.
pub(crate) struct AnswerCache<T> {
    most: usize,
    answers: Mutex<HashMap<String, (T, Instant)>>,
}

impl<T: Clone> AnswerCache<T> {
    pub(crate) fn of(most: usize) -> Self {
        AnswerCache {
            most,
            answers: Mutex::default(),
        }
    }

    /// The answer to a question, if it still counts.
    pub(crate) fn known(&self, question: &str) -> Option<T> {
        let answers = self.answers.lock();
        let (answer, until) = answers.get(question)?;
        (Instant::now() < *until).then(|| answer.clone())
    }

    /// Keeps an answer for this time.
    pub(crate) fn keep(&self, question: String, answer: T, time: Duration) {
        let mut answers = self.answers.lock();
        let now = Instant::now();
        if answers.len() >= self.most {
            answers.retain(|_, (_, until)| now < *until);
        }
        if answers.len() >= self.most {
            answers.clear();
        }
        answers.insert(question, (answer, now + time));
    }
}
