//! Why a step cannot be played.

use serde_json::Value;
use thiserror::Error;

use super::PATIENCE;
use crate::target::TransportError;
use crate::template::UndefinedVariable;
use crate::webhook::{ScriptError, WebhookServerError};

/// The reason why a step could not be played. A refusal by the *server* is not one: it belongs to the transcript.
#[derive(Debug, Error)]
pub(super) enum StepError {
    #[error(transparent)]
    Undefined(#[from] UndefinedVariable),
    #[error("{0:?} is not a request line: METHOD /path")]
    RequestLine(String),
    #[error("the request cannot be made from these parts: {0}")]
    Parts(#[from] http::Error),
    #[error("no answer: {0}")]
    Transport(#[source] TransportError),
    #[error("no answer within {} s", PATIENCE.as_secs())]
    Hang,
    #[error("the answer never came to be {0}")]
    Until(Value),
    #[error("nothing to capture as {0}: no {1} in the answer")]
    Capture(String, String),
    #[error("no watch named {0} is open")]
    NoWatch(String),
    #[error("`frame` cannot be read: {0}")]
    ClientFrame(String),
    #[error("the watch named {0} is no WebSocket")]
    NoWebSocket(String),
    #[error("the stream stayed silent after frame {0}")]
    Silent(usize),
    #[error("a frame of the stream is not JSON: {0}")]
    Frame(String),
    #[error("the given {0} was refused: {1}")]
    Given(String, Value),
    #[error("a given object has no apiVersion, kind or name")]
    Nameless,
    #[error("the webhook or policy {0} would be asked about what other cases do: select by `${{ns}}` or `${{unique}}`")]
    Unscoped(String),
    #[error("`by` is neither `nobody` nor a map with a `token` or a `user`: {0}")]
    By(Value),
    #[error("no token at {0} in the answer")]
    Token(String),
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error("{0}")]
    Extension(String),
    #[error("{0}")]
    Webhooks(&'static WebhookServerError),
}
