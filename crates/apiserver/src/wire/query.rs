//! Query parameters, read as Go's parameter codec reads them.

use std::borrow::Cow;

use crate::wire::status::{Result, Status};

/// The decoded parameters, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        let pairs = query
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty() && !pair.contains(';'));
        // As in Go, a pair with a broken escape is no pair.
        Query(
            pairs
                .filter_map(|pair| {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    Some((decode_text(key)?, decode_text(value)?))
                })
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
                kubewright_schema::field::go_quote(text),
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

/// Undoes the encoding of a query, where `+` is a blank; `None` for a broken escape.
fn decode_text(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        match first {
            b'%' => {
                let [high, low, after @ ..] = tail else { return None };
                bytes.push((hex(*high)? << 4) | hex(*low)?);
                rest = after;
            }
            b'+' => bytes.push(b' '),
            byte => bytes.push(byte),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Undoes the encoding of a path; what is broken stays as it is.
pub(crate) fn percent_decode(path: &str) -> Cow<'_, str> {
    if !path.contains('%') {
        return Cow::Borrowed(path);
    }
    let decoded = decode_text(&path.replace('+', "%2B"));
    decoded.map_or(Cow::Borrowed(path), Cow::Owned)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}
