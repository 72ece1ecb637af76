//! The opaque token with which a paged list goes on (R4, R5), in the form upstream gives it.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use kubewright_store::Revision;
use serde_json::Value;

use crate::wire::status::{Result, Status};

/// Go does not mind bits that are left over behind the last byte.
const TOKEN: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// Where a list goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Continue {
    /// The revision of the first page; `None` to go on with whatever is there now.
    pub(crate) revision: Option<Revision>,
    /// The last key already shown.
    pub(crate) after: String,
    /// Whether the page begins with the key itself. The server makes no such token, but a client may.
    pub(crate) inclusive: bool,
}

impl Continue {
    pub(crate) fn encode(&self) -> String {
        let revision = self.revision.map_or(-1, |revision| revision.0 as i64);
        let start = format!("{}{}", self.after, if self.inclusive { "" } else { "\0" });
        // In Go's order: a token is shown as it is.
        let mut token = format!("{{\"v\":\"meta.k8s.io/v1\",\"rv\":{revision},\"start\":").into_bytes();
        kubewright_codec::json::write_string(&start, &mut token);
        token.push(b'}');
        TOKEN.encode(token)
    }

    pub(crate) fn decode(token: &str) -> Result<Continue> {
        let invalid = |why: &str| Status::bad_request(format!("invalid continue token: {why}"));
        let generic = |why: String| invalid(&format!("continue key is not valid: {why}"));
        let bytes = TOKEN
            .decode(token)
            .map_err(|error| generic(illegal_base64(&error, token)))?;
        let decoded = kubewright_codec::json::decode(&bytes)
            .map_err(|error| generic(error.to_string()))?
            .value;
        match decoded.get("v").and_then(Value::as_str).unwrap_or_default() {
            "meta.k8s.io/v1" => {}
            other => {
                return Err(invalid(&format!(
                    "continue key is not valid: server does not recognize this encoded version {other}"
                )));
            }
        }
        let revision = decoded.get("rv").and_then(Value::as_i64).unwrap_or(0);
        let start = decoded.get("start").and_then(Value::as_str).unwrap_or_default();
        if revision == 0 {
            return Err(invalid(
                "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ));
        }
        if start.is_empty() {
            return Err(invalid(
                "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
            ));
        }
        if start.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(generic(start.to_owned()));
        }
        Ok(Continue {
            revision: u64::try_from(revision).ok().map(Revision),
            after: start.strip_suffix('\0').unwrap_or(start).to_owned(),
            inclusive: !start.ends_with('\0'),
        })
    }
}

/// Go's words for text that is not base64.
fn illegal_base64(error: &base64::DecodeError, token: &str) -> String {
    let at = match error {
        base64::DecodeError::InvalidByte(at, _) => *at,
        _ => token.len() & !3,
    };
    format!("illegal base64 data at input byte {at}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_token_comes_back_as_it_went(revision in 1u64..1 << 60, inclusive: bool, name in "[a-z]{1,9}(/[a-z]{1,9})?") {
            let token = Continue { revision: Some(Revision(revision)), after: name, inclusive };
            prop_assert_eq!(Continue::decode(&token.encode()).expect("own token"), token);
        }

        #[test]
        fn no_token_panics(text in ".*") {
            let _ = Continue::decode(&text);
            let _ = Continue::decode(&TOKEN.encode(text));
        }
    }
}
