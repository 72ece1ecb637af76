//! What an object is expected to be: a function of the test, or a matcher that can say what is wrong.

use kubewright_runtime::object::{Kind, Object};
use serde_json::Value;

use crate::fail::CallSite;
use crate::matchers::Matcher;
use crate::report::source;

type CheckFn<'e, K> = Box<dyn Fn(&K, &Value) -> Result<(), Vec<String>> + Send + 'e>;

pub(crate) struct Expectation<'e, K> {
    judge: CheckFn<'e, K>,
    /// The description of a matcher; `None` for a function, whose text is read from the source of the test.
    text: Option<String>,
    at: CallSite,
}

impl<'e, K: Object> Expectation<'e, K> {
    pub(crate) fn of(holds: impl Fn(&K) -> bool + Send + 'e, at: CallSite) -> Self {
        let judge = move |object: &K, _: &Value| if holds(object) { Ok(()) } else { Err(Vec::new()) };
        Expectation {
            judge: Box::new(judge),
            text: None,
            at,
        }
    }

    pub(crate) fn matching(matcher: impl Matcher + 'e, at: CallSite) -> Self {
        let text = Some(matcher.to_string());
        let judge = move |_: &K, value: &Value| matcher.check(value);
        Expectation {
            judge: Box::new(judge),
            text,
            at,
        }
    }

    /// The object, if it is as expected; else what is wrong, as far as that is known.
    pub(crate) fn judge(&self, value: &Value) -> Result<K, Vec<String>> {
        let object: K = serde_json::from_value(value.clone())
            .map_err(|error| vec![format!("it does not decode as {}: {error}", Kind::of::<K>())])?;
        (self.judge)(&object, value)?;
        Ok(object)
    }

    pub(crate) fn text(&self) -> String {
        match &self.text {
            Some(text) => text.clone(),
            None => source::last_argument(self.at).unwrap_or_else(|| "the function of the test to be true".to_owned()),
        }
    }
}
