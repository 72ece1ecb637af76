//! Why a call gave no answer, in the words of Go's HTTP client and of upstream's REST client.

/// Why a call gave no answer. Its text is what upstream puts behind `failed to call webhook: `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// The webhook cannot be reached as it is configured; upstream puts this behind `could not get REST client: `.
    #[error("{0}")]
    NoClient(String),
    /// No response came.
    #[error("{method} {}: {why}", kubewright_apimachinery::go::quote(.url))]
    Exchange {
        /// `Post`, or `Get` after a redirect.
        method: &'static str,
        /// The URL that was asked.
        url: String,
        /// What happened.
        why: String,
    },
    /// The response broke off.
    #[error("unexpected error when reading response body. Please retry. Original error: {0}")]
    Body(String),
    /// The response says that it is none.
    #[error("{0}")]
    Refused(String),
    /// The response has no body.
    #[error("0-length response with status code: {code} and content type: {content_type}")]
    Empty {
        /// The HTTP status.
        code: u16,
        /// The content type, or what was asked for.
        content_type: String,
    },
}
