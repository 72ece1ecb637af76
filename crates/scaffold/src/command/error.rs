//! Why a command fails.

use super::Target;
use crate::names::NameError;

/// Why a command fails. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// An invalid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The project was written by a command that knows more.
    #[error(
        "this project was written by kubewright {theirs}, and this is kubewright {own}, which is older; install kubewright {theirs}"
    )]
    Newer {
        /// The version that wrote it.
        theirs: String,
        /// The version that would upgrade it.
        own: String,
    },
    /// An unknown license.
    #[error("--license {0:?} is not known; choose apache2, copyright or none")]
    License(String),
    /// An owner that would break a comment.
    #[error("--owner {0:?} has a line break or another control character in it")]
    Owner(String),
    /// No address and no name of a repository.
    #[error("--repo {0:?} is not a repository (for example \"github.com/ginoh/markdown-view\")")]
    Repo(String),
    /// A second group where there is one.
    #[error(
        "this project has the group {first:?} and no other; `kubewright edit --multigroup` makes room for {second:?} \
         beside it"
    )]
    SecondGroup {
        /// The group there is.
        first: String,
        /// The group that was asked for.
        second: String,
    },
    /// Neither the types nor a controller were asked for.
    #[error("with --resource=false and --controller=false there is nothing to create")]
    Nothing,
    /// A controller for a kind that is not there.
    #[error(
        "there is no {0} in this project; create its types too (--resource), take the group of a kind of Kubernetes \
         (--group apps), or say where the type of a foreign kind is (--external-api-path)"
    )]
    NoApi(Target),
    /// A kind that Kubernetes does not have.
    #[error("Kubernetes has no {target}; it has {choices}")]
    NoSuchCoreKind {
        /// What was asked for.
        target: Target,
        /// What there is in that group.
        choices: String,
    },
    /// A group of Kubernetes for a kind of one's own.
    #[error(
        "{group:?} is a group of Kubernetes itself: pass --resource for a kind of your own in {own}, or --resource=false \
         for a controller of theirs"
    )]
    CoreGroup {
        /// What was asked for.
        group: String,
        /// The group with the domain of the project.
        own: String,
    },
    /// No path of Rust.
    #[error("--external-api-path {0:?} is not the path of a Rust module (for example \"cert_manager::v1\")")]
    ExternalPath(String),
    /// Another version has the controller.
    #[error("{kind} has its controller for version {version}; pass --controller=false")]
    SecondController {
        /// The kind.
        kind: String,
        /// The version that has one.
        version: String,
    },
    /// Two kinds that only differ in case or have one plural.
    #[error("{kind} would have the same {what} as {other}, which is there already; choose another name")]
    Clash {
        /// The new kind.
        kind: String,
        /// The old one.
        other: String,
        /// What is the same.
        what: String,
    },
    /// Versions of one kind in different scopes.
    #[error("{kind} is {there} in version {version}, and all versions of a kind are alike")]
    Scope {
        /// The kind.
        kind: String,
        /// Where its objects live.
        there: &'static str,
        /// The version that says so.
        version: String,
    },
    /// Versions of one kind with different plurals.
    #[error("the plural of {kind} is {there} in version {version}, and all versions of a kind are alike")]
    Plural {
        /// The kind.
        kind: String,
        /// Its plural.
        there: String,
        /// The version that says so.
        version: String,
    },
    /// A flag differs from what PROJECT has.
    #[error("{target} is there with {flag}={there}; leave {flag} out to keep that, or --force changes it")]
    DiffersFromProject {
        /// The kind.
        target: Target,
        /// The flag.
        flag: &'static str,
        /// The value in PROJECT.
        there: String,
    },
    /// An invalid image.
    #[error("--image {0:?} is not a container image (for example \"memcached:1.6.26-alpine3.19\")")]
    Image(String),
    /// An option of `--image` that is invalid, or that excludes another.
    #[error("{0}")]
    ImageOption(&'static str),
    /// A kind of an aggregated API that cannot be what was asked for.
    #[error("--aggregated: {0}")]
    Aggregated(&'static str),
    /// A webhook of a kind that the cluster does not store.
    #[error("{0} is served by this program itself, so that no webhook is called for it: check its objects in its rows")]
    AggregatedWebhook(Target),
    /// No webhook was asked for.
    #[error("choose a webhook: --defaulting, --programmatic-validation or --conversion")]
    NoWebhook,
    /// A webhook for a kind that is not there.
    #[error("there is no {0} in this project; `kubewright create api` makes it")]
    NoKind(Target),
    /// A conversion without a second version.
    #[error("--conversion needs --spoke: the version that is converted to {target}{}", spokes(.others))]
    NoSpoke {
        /// The hub.
        target: Target,
        /// The other versions there are.
        others: Vec<String>,
    },
    /// Spokes without a conversion.
    #[error("--spoke goes with --conversion")]
    SpokeAlone,
    /// A version that does not exist.
    #[error("there is no version {version} of {kind}; `kubewright create api --version {version}` makes it")]
    NoSuchSpoke {
        /// The kind.
        kind: String,
        /// The version.
        version: String,
    },
    /// A version as the spoke of itself.
    #[error("{0} is the hub and cannot be its own --spoke")]
    OwnSpoke(String),
    /// A second hub.
    #[error(
        "{kind} has its hub in version {hub}; `kubewright delete webhook --version {hub} --conversion` takes it back"
    )]
    SecondHub {
        /// The kind.
        kind: String,
        /// Its hub.
        hub: String,
    },
    /// A conversion of a kind that another project defines.
    #[error("{0} is not defined by this project, so it cannot be converted here")]
    ForeignConversion(Target),
    /// Something to delete that is not there.
    #[error("there is no {what} of {target} in this project")]
    NotThere {
        /// What was to be deleted.
        what: &'static str,
        /// Of which kind.
        target: Target,
    },
    /// The kind still has webhooks.
    #[error("{0} has webhooks; `kubewright delete webhook` takes them away first")]
    HasWebhooks(Target),
    /// A spoke of another version.
    #[error("{target} is converted to {hub}; `kubewright delete webhook --version {hub} --conversion` ends that first")]
    IsSpoke {
        /// The version that was to be deleted.
        target: Target,
        /// Its hub.
        hub: String,
    },
    /// Several groups that would become one.
    #[error("there are kinds of several groups ({0}), so the layout cannot be --multigroup=false")]
    SeveralGroups(String),
    /// Nothing to edit.
    #[error(
        "say what to change: --multigroup, --namespaced, --cert-manager, --prometheus, --grafana, --network-policy, --max-description-length, --license or --owner"
    )]
    NothingToEdit,
}

fn spokes(others: &[String]) -> String {
    match others {
        [] => " (there is only this one so far; create another first)".to_owned(),
        some => format!(" (there is {})", some.join(", ")),
    }
}
