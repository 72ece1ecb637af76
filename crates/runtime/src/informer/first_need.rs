//! Informers that begin when there is something to see: a kind without objects is not watched.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::object::Kind;

/// A kind that has no objects, as somebody knows who need not ask the server.
pub struct NoObjects {
    /// The resource version at which there is none.
    pub resource_version: String,
    /// Ends when there may be one.
    pub until: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl fmt::Debug for NoObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NoObjects").field(&self.resource_version).finish()
    }
}

type Look = dyn Fn(&Kind) -> Option<NoObjects> + Send + Sync;

/// Says of a kind that it has no objects yet. An informer of such a kind has synced at once, is empty, and begins to watch when the
/// first object comes. For caches in the process of the API server: nobody else knows it without a watch.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// # let kube = server.client();
/// use k8s_openapi::api::core::v1::Secret;
/// use kubewright_runtime::informer::{Cache, Declarations, FirstNeed, NoObjects};
/// use kubewright_runtime::object::Kind;
/// use kubewright_runtime::random::Random;
///
/// let mut declarations = Declarations::default();
/// declarations.reads(Kind::of::<Secret>());
/// declarations.first_need(FirstNeed::new(move |kind| {
///     let (revision, until) = server.no_objects(kind.group(), kind.version(), kind.plural())?;
///     Some(NoObjects { resource_version: revision.to_string(), until: Box::pin(until) })
/// }));
/// let cache = Cache::new(declarations)?;
/// let _watches = cache.start(&kube, &Random::from_entropy());
/// cache.synced().await; // without a request
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FirstNeed {
    look: Arc<Look>,
}

impl FirstNeed {
    /// By a function that returns `None` for kinds that have objects, or that it does not know: they are watched from the beginning.
    pub fn new(look: impl Fn(&Kind) -> Option<NoObjects> + Send + Sync + 'static) -> Self {
        FirstNeed { look: Arc::new(look) }
    }

    pub(super) fn look(&self, kind: &Kind) -> Option<NoObjects> {
        (self.look)(kind)
    }
}

impl fmt::Debug for FirstNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstNeed").finish_non_exhaustive()
    }
}
