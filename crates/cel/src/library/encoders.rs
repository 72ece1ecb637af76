//! Base64, as the functions `base64.encode` and `base64.decode` have it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use crate::error::EvalError;
use crate::library::{Implementation, wrong};
use crate::value::Value;

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "base64.encode" => |args| match args {
            [Value::Bytes(bytes)] => Ok(Value::text(STANDARD.encode(bytes))),
            _ => wrong(),
        },
        "base64.decode" => |args| match args {
            [Value::String(text)] => STANDARD
                .decode(text.as_str())
                .or_else(|_| STANDARD_NO_PAD.decode(text.as_str()))
                .map(|bytes| Value::Bytes(bytes.into()))
                .map_err(|error| EvalError::new(error.to_string())),
            _ => wrong(),
        },
        _ => return None,
    })
}
