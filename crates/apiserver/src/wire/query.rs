//! Query parameters, read as Go's parameter codec reads them.

use std::borrow::Cow;

use kubewright_apimachinery::url::{path_unescape, query_pairs};

use crate::wire::status::{Result, Status};

/// The decoded parameters, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        // As in Go, a pair with an invalid escape is ignored.
        let pairs = query_pairs(query.unwrap_or_default());
        Query(
            pairs
                .map(|(key, value)| (key.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    /// The first value of a parameter.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter; empty when it is not there.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.get(key).unwrap_or_default()
    }

    /// Every value of a parameter.
    pub(crate) fn all(&self, key: &str) -> Vec<&str> {
        self.0
            .iter()
            .filter(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// The same with another value of a parameter, or without it.
    pub(crate) fn replaced(&self, key: &str, value: Option<&str>) -> Query {
        let others = self.0.iter().filter(|(name, _)| name != key).cloned();
        let own = value.map(|value| (key.to_owned(), value.to_owned()));
        Query(others.chain(own).collect())
    }

    /// A boolean: everything but `0` and `false` is true, the empty value included.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)
            .map(|value| !matches!(value.to_ascii_lowercase().as_str(), "0" | "false"))
    }

    /// An integer; anything else is a bad request in Go's words.
    pub(crate) fn integer(&self, key: &str) -> Result<Option<i64>> {
        let Some(text) = self.get(key) else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Status::bad_request(format!(
                "strconv.ParseInt: parsing {}: {}",
                kubewright_apimachinery::go::quote(text),
                if is_number(text) {
                    "value out of range"
                } else {
                    "invalid syntax"
                }
            ))),
        }
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Undoes the encoding of a path; what is broken stays as it is.
pub(crate) fn percent_decode(path: &str) -> Cow<'_, str> {
    path_unescape(path).unwrap_or(Cow::Borrowed(path))
}
