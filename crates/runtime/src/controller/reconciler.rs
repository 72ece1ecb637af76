//! What you write: a function from the name of an object to what happens next.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;

use kubewright_description::Rule;
use parking_lot::Mutex;

use super::action::{Action, Failure};
use crate::cache::{DeclaredIndex, UnknownIndex};
use crate::client::Client;
use crate::events::EventRecorder;
use crate::metrics::Registry;
use crate::object::{Object, ObjectKey};

/// The object to reconcile. It says who, never what happened: read the state and act on that.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Request {
    key: ObjectKey,
}

impl Request {
    /// A request for an object.
    pub fn new(key: ObjectKey) -> Self {
        Request { key }
    }

    /// Namespace and name.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }
}

impl From<ObjectKey> for Request {
    fn from(key: ObjectKey) -> Self {
        Request::new(key)
    }
}

impl Deref for Request {
    type Target = ObjectKey;

    fn deref(&self) -> &ObjectKey {
        &self.key
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.key, f)
    }
}

/// Brings the world into the shape an object asks for. Called again and again, for one object never twice at once.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::client::Client;
/// use kubewright_runtime::controller::{Action, Failure, Reconciler, Request};
///
/// struct Settings {
///     client: Client,
/// }
///
/// impl Reconciler for Settings {
///     async fn reconcile(&self, request: Request) -> Result<Action, Failure> {
///         let Some(settings) = self.client.get_opt::<ConfigMap>(&request).await? else {
///             return Ok(Action::done()); // it is gone; what it owned goes with it
///         };
///         println!("{} has {:?}", request, settings.data);
///         Ok(Action::done())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a reconciler",
    note = "implement `Reconciler`, or use a closure `|request: Request| async move {{ Ok(Action::done()) }}`"
)]
pub trait Reconciler: Send + Sync + 'static {
    /// Reconciles one object.
    fn reconcile(&self, request: Request) -> impl Future<Output = Result<Action, Failure>> + Send;

    /// What it may do beyond reading what its controller watches. `#[rbac(…)]` on the implementation writes this.
    fn rules() -> Vec<Rule>
    where
        Self: Sized,
    {
        Vec::new()
    }
}

impl<F, Fut> Reconciler for F
where
    F: Fn(Request) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Action, Failure>> + Send,
{
    fn reconcile(&self, request: Request) -> impl Future<Output = Result<Action, Failure>> + Send {
        self(request)
    }
}

/// What a reconciler is made from.
#[derive(Clone, Debug)]
pub struct Context {
    pub(super) client: Client,
    pub(super) events: EventRecorder,
    pub(super) registry: Registry,
    /// Indexes that the reconciler wants and nobody declares: with one of them, the controller does not start.
    pub(super) missing: Arc<Mutex<Vec<UnknownIndex>>>,
}

impl Context {
    /// An index of a kind, to read by it. It is declared with [`Controller::index`](super::Controller::index); if nobody declares it,
    /// the operator ends when it makes the reconciler, with an error that names this call.
    #[track_caller]
    pub fn index<K: Object>(&self, name: impl Into<Arc<str>>) -> DeclaredIndex<K> {
        let name = name.into();
        let checked = self.client.cache().check_index::<K>(&name, Location::caller());
        self.missing.lock().extend(checked.err());
        DeclaredIndex::new(name)
    }

    /// The client of the operator; fields it writes belong to the controller by name.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Where the operator's metrics are, for some of your own.
    pub fn metrics(&self) -> &Registry {
        &self.registry
    }

    /// Takes events for people, in the controller's name.
    pub fn events(&self) -> EventRecorder {
        self.events.clone()
    }
}

type Reconciling<'a> = Pin<Box<dyn Future<Output = Result<Action, Failure>> + Send + 'a>>;

/// A reconciler without its type.
pub(super) trait AnyReconciler: Send + Sync {
    fn reconcile_any(&self, request: Request) -> Reconciling<'_>;
}

impl<R: Reconciler> AnyReconciler for R {
    fn reconcile_any(&self, request: Request) -> Reconciling<'_> {
        Box::pin(self.reconcile(request))
    }
}
