//! Why a manager did not run, or stopped.

use crate::cache::UnknownIndex;
use crate::conversion::ConversionError;
use crate::informer::DeclarationError;
use crate::lease::{Lost, OptionsError};
use crate::metrics::RegistryError;
use crate::serve::{BindAddress, CertificateError};
use crate::webhook::WebhookError;

/// Why a manager did not run, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// Two controllers have one name, and so would share metrics and logs.
    #[error("two controllers are named {0:?}; give one another name with `named`")]
    SameName(String),
    /// A controller cannot reconcile.
    #[error("controller {0:?} has no reconciler; give it one with `reconcile_with`")]
    NoReconciler(String),
    /// The reconciler of a controller reads by an index that nobody declares.
    #[error("controller {controller:?} cannot start")]
    Index {
        /// The name of the controller.
        controller: String,
        /// Which index, and where it is asked for.
        #[source]
        source: UnknownIndex,
    },
    /// What is to be cached contradicts itself.
    #[error(transparent)]
    Declarations(#[from] DeclarationError),
    /// The durations of the election make no sense.
    #[error("leader election is not possible")]
    Election(
        #[source]
        #[from]
        OptionsError,
    ),
    /// The lease was lost.
    #[error(transparent)]
    Lease(#[from] Lost),
    /// A metric of the user has the name of one of ours.
    #[error("the metrics cannot be registered")]
    Metrics(
        #[source]
        #[from]
        RegistryError,
    ),
    /// The debug page would be seen by others.
    #[error("the debug page is for this machine only, unless it is served as secure metrics are: {0} is not loopback")]
    DebugNotLocal(BindAddress),
    /// An address cannot be listened at.
    #[error("cannot listen at {address}")]
    Listen {
        /// The address.
        address: BindAddress,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The metrics cannot be served with TLS.
    #[error("the metrics cannot be served with TLS")]
    Certificates(
        #[source]
        #[from]
        CertificateError,
    ),
    /// The webhooks cannot be served together.
    #[error(transparent)]
    Webhooks(#[from] WebhookError),
    /// The conversions cannot be served together.
    #[error(transparent)]
    Conversions(#[from] ConversionError),
    /// There are webhooks and no certificates: the API server calls webhooks only over TLS.
    #[error(
        "webhooks are served with TLS only: give the manager a certificate with `webhook_certificates`, the program \
         `--webhook-cert-path`, or serve none with `webhook_address(BindAddress::Off)`"
    )]
    NoWebhookCertificates,
    /// The webhooks cannot be served with TLS.
    #[error("the webhooks cannot be served with TLS")]
    WebhookCertificates(#[source] CertificateError),
    /// Something that ran failed.
    #[error("{name} failed")]
    Runnable {
        /// What it is called.
        name: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something that ran panicked.
    #[error("{name} panicked")]
    Panic {
        /// What it is called.
        name: String,
    },
    /// Stopping took too long; what still ran was dropped.
    #[error("not everything stopped within {0:?}: {1}")]
    Shutdown(std::time::Duration, String),
}
