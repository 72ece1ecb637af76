//! Reading and writing: cached reads that see your own writes, live writes, and what reconcilers need around them.
//! [`Client`] has the verbs, [`Objects`] has them for one kind, [`helpers`] has what is built from them.

mod applied;
mod delete;
mod error;
mod fence;
pub mod helpers;
mod objects;
mod patch;
mod read;
mod request;
mod subresource;
mod traced;
mod typed;
mod write;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::clock::Clock;
use crate::informer::Cache;
use crate::metrics::{ReadMetrics, RuntimeMetrics};
use crate::object::{Kind, Object};
use crate::trace::{Trace, traced};

use self::applied::AppliedMemory;
use self::request::Warnings;

pub use delete::{DeleteOptions, Propagation};
pub use error::Error;
pub use fence::{Fence, Fenced};
pub use objects::Objects;
pub use patch::Patch;
pub use subresource::Subresource;
pub use write::{Applied, Outcome};

/// How strictly the server looks at fields it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    /// Unknown and duplicate fields are errors.
    Strict,
    /// They are dropped with a warning, which is logged.
    Warn,
    /// They are dropped.
    Ignore,
}

impl FieldValidation {
    fn as_str(self) -> &'static str {
        match self {
            FieldValidation::Strict => "Strict",
            FieldValidation::Warn => "Warn",
            FieldValidation::Ignore => "Ignore",
        }
    }
}

/// What a call does differently. Set on a clone of the client, so that one option serves every verb.
#[derive(Clone, Debug)]
struct CallOptions {
    field_owner: Option<Arc<str>>,
    field_validation: Option<FieldValidation>,
    dry_run: bool,
    force: bool,
    live: bool,
    /// How long a cached read waits for our own writes. `None`: not at all.
    wait: Option<Duration>,
}

struct Shared {
    kube: kube::Client,
    cache: Cache,
    fence: Fence,
    warnings: Warnings,
    applied: AppliedMemory,
    read_metrics: OnceLock<ReadMetrics>,
    recording: OnceLock<Recording>,
}

/// Where a client records, and what others send through it meanwhile.
struct Recording {
    trace: Trace,
    /// Records what is sent past the client.
    kube: kube::Client,
}

/// Reads from the cache, writes to the server. Cheap to clone; options are set on a clone.
///
/// A cached read sees every write this client made before: it waits (5 s at most) until the cache has caught up with the keys
/// it reads. Servers before 1.35 do not promise that resourceVersions are ordered numbers; all known ones keep to it, and where
/// a server writes something else, reads do not wait.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kubewright_apiserver::ApiServer::new(kubewright_apiserver::Options::new());
/// # let kube = server.client();
/// # let mut declarations = kubewright_runtime::informer::Declarations::default();
/// # declarations.reads(kubewright_runtime::object::Kind::of::<k8s_openapi::api::core::v1::ConfigMap>());
/// # let cache = kubewright_runtime::informer::Cache::new(declarations)?;
/// # let _watches = cache.start(&kube, &kubewright_runtime::random::Random::seeded(1));
/// # let client = kubewright_runtime::client::Client::new(kube, cache).field_owner("example");
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::object::ObjectKey;
///
/// let key = ObjectKey::namespaced("default", "settings");
/// let mut settings = ConfigMap::default();
/// settings.metadata.name = Some("settings".to_owned());
/// settings.metadata.namespace = Some("default".to_owned());
/// client.create(&settings).await?;
///
/// let mut settings = client.get::<ConfigMap>(&key).await?.into_owned(); // from the cache, which has seen the create
/// settings.data.get_or_insert_default().insert("colour".to_owned(), "red".to_owned());
/// client.update(&settings).await?;
/// assert_eq!(client.get::<ConfigMap>(&key).await?.data, settings.data);
///
/// client.dry_run().delete::<ConfigMap>(&key).await?; // nothing happens
/// client.live().get::<ConfigMap>(&key).await?; // from the server
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    clock: Clock,
    options: CallOptions,
}

impl Client {
    /// A client that reads from `cache`.
    pub fn new(kube: kube::Client, cache: Cache) -> Self {
        Self::fenced(kube, cache, Fence::open())
    }

    /// A client whose writes a fence can stop.
    pub fn fenced(kube: kube::Client, cache: Cache, fence: Fence) -> Self {
        Client {
            shared: Arc::new(Shared {
                kube,
                cache,
                fence,
                warnings: Warnings::default(),
                applied: AppliedMemory::default(),
                read_metrics: OnceLock::new(),
                recording: OnceLock::new(),
            }),
            clock: Clock::system(),
            options: CallOptions {
                field_owner: None,
                field_validation: None,
                dry_run: false,
                force: false,
                live: false,
                wait: Some(Duration::from_secs(5)),
            },
        }
    }

    /// Counts how long cached reads wait for own writes, and how often in vain. Clones of the client count too; the first metrics
    /// given are those that count.
    pub fn with_metrics(self, metrics: &RuntimeMetrics) -> Self {
        // Somebody set them before: those stay.
        let _ = self.shared.read_metrics.set(metrics.reads.clone());
        self
    }

    /// Tells the time by this clock, as do clones of the client from here on. Default: one that shows the machine's time as it
    /// was when the client was made, and follows tokio's clock since.
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Records what it reads and asks for, and what is sent through [`kube`](Self::kube), as do clones of the client; the first trace given is
    /// the one. Default: nowhere.
    pub(crate) fn with_trace(self, trace: Trace) -> Self {
        if trace.is_on() {
            let kube = traced(self.shared.kube.clone(), &trace);
            // Somebody set it before: that stays.
            let _ = self.shared.recording.set(Recording { trace, kube });
        }
        self
    }

    /// Sets the field manager of writes. [`apply`](Self::apply) needs one.
    pub fn field_owner(&self, owner: impl Into<Arc<str>>) -> Self {
        self.with(|options| options.field_owner = Some(owner.into()))
    }

    /// How strictly the server looks at unknown fields. Default: the server's own, which is to warn.
    pub fn field_validation(&self, validation: FieldValidation) -> Self {
        self.with(|options| options.field_validation = Some(validation))
    }

    /// Writes change nothing; the server answers as if they did.
    pub fn dry_run(&self) -> Self {
        self.with(|options| options.dry_run = true)
    }

    /// [`apply`](Self::apply) takes fields over from other owners instead of failing with a conflict.
    pub fn force(&self) -> Self {
        self.with(|options| options.force = true)
    }

    /// Reads ask the server instead of the cache.
    pub fn live(&self) -> Self {
        self.with(|options| options.live = true)
    }

    /// Cached reads wait this long for the cache to catch up with this client's writes. Default: 5 s.
    pub fn wait_at_most(&self, wait: Duration) -> Self {
        self.with(|options| options.wait = Some(wait))
    }

    /// Cached reads do not wait for this client's writes.
    pub fn without_waiting(&self) -> Self {
        self.with(|options| options.wait = None)
    }

    fn with(&self, change: impl FnOnce(&mut CallOptions)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.options);
        changed
    }

    /// Where it records.
    pub(crate) fn trace(&self) -> &Trace {
        static OFF: Trace = Trace::off();
        self.shared.recording.get().map_or(&OFF, |recording| &recording.trace)
    }

    /// The client below, for what this one does not do.
    pub fn kube(&self) -> &kube::Client {
        let recording = self.shared.recording.get();
        recording.map_or(&self.shared.kube, |recording| &recording.kube)
    }

    /// The cache it reads from.
    pub fn cache(&self) -> &Cache {
        &self.shared.cache
    }

    /// The time it is.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The verbs for one Rust type.
    pub fn of<K: Object>(&self) -> Objects<K> {
        Objects::new(self.clone(), Kind::of::<K>(), false)
    }

    /// The verbs for a kind known only at run time.
    pub fn dynamic(&self, kind: Kind) -> Objects<kube::core::DynamicObject> {
        Objects::new(self.clone(), kind, false)
    }

    /// Reads of nothing but metadata. They are views of the same cache.
    pub fn metadata_of<K: Object>(&self) -> Objects<kube::core::PartialObjectMeta<K>> {
        Objects::new(self.clone(), Kind::of::<K>(), true)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
