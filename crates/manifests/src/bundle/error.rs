//! The errors of making a bundle.

use kubewright_codec::yaml::YamlError;

use crate::install::MANAGER;

/// The reason why a bundle cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file is not YAML.
    #[error("{path} is not YAML")]
    Yaml {
        /// Which.
        path: String,
        /// What is wrong.
        source: YamlError,
    },
    /// A kustomization is a list or a text.
    #[error("{path} is not a kustomization: it must have fields such as `resources`")]
    NoKustomization {
        /// Which.
        path: String,
    },
    /// A patch does not apply to the manager.
    #[error(
        "{path} cannot be applied to {target}: {reason}; its lists `args`, `ports`, `volumeMounts` and `volumes` have to be there, if \
         only as `[]`"
    )]
    Patch {
        /// The file of the patch.
        path: String,
        /// What it patches.
        target: String,
        /// Why not.
        reason: String,
    },
    /// The manager's file has no Deployment.
    #[error("{MANAGER} has no Deployment; `kubewright init` wrote one called controller-manager")]
    NoManager,
    /// No container has the image that is to be replaced.
    #[error(
        "the image {image} was not put in: no container of {MANAGER} has the image `controller`; write `image: controller:latest` there"
    )]
    NoImage {
        /// The image.
        image: String,
    },
    /// The manager would not find its own objects under such a prefix.
    #[error(
        "the prefix {prefix:?} cannot be used: the manager keeps the certificates of its webhooks in objects whose names begin with \
         {wanted:?}; keep that prefix, or let cert-manager care for certificates (`kubewright edit --cert-manager`)"
    )]
    Prefix {
        /// What was asked for.
        prefix: String,
        /// What would do.
        wanted: String,
    },
}
