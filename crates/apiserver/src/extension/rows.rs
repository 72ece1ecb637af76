//! Objects that live elsewhere: what a server needs to know of them to serve them as if it stored them.

use futures_util::future::BoxFuture;
use http::StatusCode;
use serde_json::Value;

use crate::registry::Resource;
use crate::wire::status::Status;

/// What can be done to rows, besides getting and listing them. Discovery says no more than that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each verb is there or not, whatever the others are"
)]
pub struct RowVerbs {
    /// Whether changes are noticed, so that clients can watch.
    pub watch: bool,
    /// Whether rows can be made.
    pub create: bool,
    /// Whether rows can be changed: `update` and `patch`.
    pub update: bool,
    /// Whether rows can be removed: `delete` and `deletecollection`.
    pub delete: bool,
}

impl RowVerbs {
    /// The verbs as discovery names them, in its order.
    pub(crate) fn names(self) -> Vec<&'static str> {
        let has = |verb: &str| match verb {
            "get" | "list" => true,
            "watch" => self.watch,
            "create" => self.create,
            "update" | "patch" => self.update,
            _ => self.delete,
        };
        kubewright_structural::discovery::VERBS
            .into_iter()
            .filter(|verb| has(verb))
            .collect()
    }
}

/// Why rows cannot be had or changed, as the client of the API is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// There is no such row: 404.
    #[error("there is no such row")]
    NotFound,
    /// There is one of that name: 409.
    #[error("a row of that name exists")]
    Exists,
    /// The row was changed by somebody else meanwhile: 409, and clients try again.
    #[error("{0}")]
    Conflict(String),
    /// The change is one that cannot be made: 400.
    #[error("{0}")]
    Invalid(String),
    /// Nobody may do that: 403.
    #[error("{0}")]
    Forbidden(String),
    /// Where the rows are cannot be reached now: 503.
    #[error("{0}")]
    Unavailable(String),
    /// Anything else: 500.
    #[error("{0}")]
    Internal(String),
}

impl RowError {
    pub(crate) fn status(&self, resource: &Resource, name: &str) -> Box<Status> {
        let about = resource.about();
        match self {
            RowError::NotFound => Status::not_found(about, name),
            RowError::Exists => Status::already_exists(about, name),
            RowError::Conflict(why) => Status::conflict(about, name, why),
            RowError::Invalid(why) => Status::bad_request(why.clone()),
            RowError::Forbidden(why) => Status::forbidden(about, name, why),
            RowError::Unavailable(why) => {
                Status::new(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", why.clone())
            }
            RowError::Internal(why) => Status::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "InternalError",
                format!("Internal error occurred: {why}"),
            ),
        }
    }
}

/// Where the objects of a kind are, if not in the memory of the server. Objects are JSON in any served version of the kind.
///
/// The server asks before every answer, and keeps what it was told last: so it numbers changes, selects, pages, prints and
/// watches rows like anything else. Only methods that [`RowSource::verbs`] names are called.
pub trait RowSource: Send + Sync + 'static {
    /// What can be done to rows.
    fn verbs(&self) -> RowVerbs;

    /// One row. `namespace` is empty for a kind without namespaces.
    fn get<'a>(&'a self, namespace: &'a str, name: &'a str) -> BoxFuture<'a, Result<Option<Value>, RowError>>;

    /// The rows of a namespace, or all of them.
    fn list<'a>(&'a self, namespace: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Value>, RowError>>;

    /// Waits until rows may have changed since the last time.
    fn changed(&self) -> BoxFuture<'_, ()>;

    /// Makes a row, and returns it as it is then.
    fn create(&self, object: Value) -> BoxFuture<'_, Result<Value, RowError>>;

    /// Replaces a row, and returns it as it is then.
    fn update(&self, object: Value) -> BoxFuture<'_, Result<Value, RowError>>;

    /// Removes a row.
    fn delete<'a>(&'a self, namespace: &'a str, name: &'a str) -> BoxFuture<'a, Result<(), RowError>>;
}
