//! Why a call failed, with the messages of Go's HTTP client and of upstream's REST client.

/// Why a call failed. Its text is what upstream puts behind `failed to call webhook: `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// The client configuration is invalid; upstream puts this behind `could not get REST client: `.
    #[error("{0}")]
    NoClient(String),
    /// No response came.
    #[error("{method} {}: {why}", kubewright_apimachinery::go::quote(.url))]
    Exchange {
        /// `Post`, or `Get` after a redirect.
        method: &'static str,
        /// The URL that was called.
        url: String,
        /// What happened.
        why: String,
    },
    /// The response ended early.
    #[error("unexpected error when reading response body. Please retry. Original error: {0}")]
    Body(String),
    /// The status of the response is an error.
    #[error("{0}")]
    Refused(String),
    /// The status of the response is 403.
    #[error("{}", .0["message"].as_str().unwrap_or_default())]
    Forbidden(serde_json::Value),
    /// The status of the response says that another attempt may succeed: 429, 500 or 504.
    #[error("{0}")]
    Passing(String),
    /// The response has no body.
    #[error("0-length response with status code: {code} and content type: {content_type}")]
    Empty {
        /// The HTTP status.
        code: u16,
        /// The content type of the response, or else the accepted one.
        content_type: String,
    },
}

impl CallError {
    /// Whether another attempt may succeed, by upstream's measure.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            CallError::Passing(_) => true,
            CallError::Exchange { why, .. } => why.contains("connection reset by peer"),
            _ => false,
        }
    }
}
