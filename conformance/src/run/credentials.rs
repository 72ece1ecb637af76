//! The user who sends the request of a step: one impersonated by the administrator, the bearer of a token, or an anonymous one.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::StepError;
use crate::template::{Variables, fill_value};

/// Adds the headers that identify the user. Returns true if the administrator's credentials must not be added.
pub(super) fn add(headers: &mut HeaderMap, by: Option<&Value>, variables: &Variables) -> Result<bool, StepError> {
    let by = by.map(|by| fill_value(by, variables)).transpose()?;
    match by {
        None | Some(Value::Null) => Ok(headers.contains_key(AUTHORIZATION)),
        Some(Value::String(nobody)) if nobody == "nobody" => Ok(true),
        Some(Value::Object(somebody)) if somebody.contains_key("token") => {
            let token = somebody["token"].as_str().unwrap_or_default();
            headers.insert(AUTHORIZATION, value(&format!("Bearer {token}"))?);
            Ok(true)
        }
        Some(Value::Object(somebody)) if somebody.contains_key("user") => {
            impersonate(headers, &Value::Object(somebody))?;
            Ok(false)
        }
        Some(other) => Err(StepError::By(other)),
    }
}

fn impersonate(headers: &mut HeaderMap, somebody: &Value) -> Result<(), StepError> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    headers.insert("impersonate-user", value(&text(&somebody["user"]))?);
    for group in somebody["groups"].as_array().into_iter().flatten() {
        headers.append("impersonate-group", value(&text(group))?);
    }
    if let Some(uid) = somebody["uid"].as_str() {
        headers.insert("impersonate-uid", value(uid)?);
    }
    for (key, values) in somebody["extra"].as_object().into_iter().flatten() {
        // A header's name allows fewer characters than a key.
        let name = format!("impersonate-extra-{}", key.replace('%', "%25").replace('/', "%2f"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(http::Error::from)?;
        for one in values.as_array().into_iter().flatten() {
            headers.append(name.clone(), value(&text(one))?);
        }
    }
    Ok(())
}

fn value(text: &str) -> Result<HeaderValue, StepError> {
    Ok(HeaderValue::try_from(text).map_err(http::Error::from)?)
}

/// The claims of a token in a response, with times relative to its issue. The signature is left out.
pub(super) fn claims(body: &Value, pointer: &str) -> Result<Value, StepError> {
    let missing = || StepError::Token(pointer.to_owned());
    let token = body.pointer(pointer).and_then(Value::as_str).ok_or_else(missing)?;
    let part = token.split('.').nth(1).ok_or_else(missing)?;
    let decoded = BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| missing())?;
    let mut claims: Value = serde_json::from_slice(&decoded).map_err(|_| missing())?;
    relative(&mut claims);
    Ok(claims)
}

fn relative(claims: &mut Value) {
    let issued = claims["iat"].as_i64().unwrap_or_default();
    for key in ["exp", "nbf", "iat"] {
        if let Some(time) = claims[key].as_i64() {
            claims[key] = json!(format!("iat+{}", time - issued));
        }
    }
    if claims["kubernetes.io"]["warnafter"].is_i64() {
        let time = claims["kubernetes.io"]["warnafter"].as_i64().unwrap_or_default();
        claims["kubernetes.io"]["warnafter"] = json!(format!("iat+{}", time - issued));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(by: &Value) -> (HeaderMap, bool) {
        let mut headers = HeaderMap::new();
        let own = add(&mut headers, Some(by), &Variables::new()).unwrap();
        (headers, own)
    }

    #[test]
    fn somebody_is_impersonated_by_the_administrator() {
        let (headers, own) = added(&json!({"user": "a", "groups": ["b", "c"], "uid": "u", "extra": {"x.io/k": ["1"]}}));
        assert!(!own);
        assert_eq!(headers["impersonate-user"], "a");
        assert_eq!(headers.get_all("impersonate-group").iter().count(), 2);
        assert_eq!(headers["impersonate-extra-x.io%2fk"], "1");
    }

    #[test]
    fn a_bearer_and_nobody_have_their_own_credentials() {
        let (headers, own) = added(&json!({"token": "t"}));
        assert!(own);
        assert_eq!(headers[AUTHORIZATION], "Bearer t");
        let (headers, own) = added(&json!("nobody"));
        assert!(own && headers.is_empty());
    }

    #[test]
    fn the_times_in_a_token_are_told_from_its_issue() {
        let claims = BASE64_URL_SAFE_NO_PAD.encode(r#"{"iat":100,"exp":700,"sub":"s"}"#);
        let body = json!({"status": {"token": format!("h.{claims}.s")}});
        assert_eq!(
            super::claims(&body, "/status/token").unwrap(),
            json!({"iat": "iat+0", "exp": "iat+600", "sub": "s"})
        );
    }
}
