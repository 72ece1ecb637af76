//! The decision whether a request is allowed, and the message of a refusal.

use std::sync::Arc;

use kubewright_apimachinery::errors::aggregate;
use kubewright_apimachinery::go::quote;

use crate::attributes::Attributes;

use crate::policy::Source;
use crate::user::User;

/// Whether something is allowed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why.
    pub reason: Reason,
}

/// Why something is allowed or not; `Display` is the message, made only when it is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reason {
    /// No reason: a user in `system:masters`, a mode that allows everything, or no rule that allows it.
    #[default]
    None,
    /// A binding gives the right.
    Granted(Arc<Source>),
    /// No rule allows it, and these bindings' roles could not be found.
    Unresolved(Arc<[Arc<str>]>),
    /// What another server says, which was asked.
    Reviewed(Arc<str>),
    /// The authorization mode is `AlwaysDeny`.
    AlwaysDeny,
}

impl Decision {
    /// Allowed without a reason, as for `system:masters`.
    pub const ALLOWED: Decision = Decision {
        allowed: true,
        reason: Reason::None,
    };
    /// Not allowed, whatever it is.
    pub const EVERYTHING_FORBIDDEN: Decision = Decision {
        allowed: false,
        reason: Reason::AlwaysDeny,
    };
    /// What another server has decided, with its reason.
    pub fn reviewed(allowed: bool, reason: &str) -> Decision {
        Decision {
            allowed,
            reason: if reason.is_empty() {
                Reason::None
            } else {
                Reason::Reviewed(reason.into())
            },
        }
    }

    /// Not allowed, for lack of a rule.
    pub const DENIED: Decision = Decision {
        allowed: false,
        reason: Reason::None,
    };
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reason::None => Ok(()),
            Reason::AlwaysDeny => f.write_str("Everything is forbidden."),
            Reason::Granted(source) => write!(f, "RBAC: allowed by {source}"),
            Reason::Unresolved(errors) => {
                let errors = aggregate(errors.iter().map(|error| &**error)).unwrap_or_default();
                write!(f, "RBAC: {errors}")
            }
            Reason::Reviewed(reason) => f.write_str(reason),
        }
    }
}

/// A refusal: what it is about, and its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forbidden {
    /// The API group of what was asked for.
    pub group: String,
    /// The resource; empty for a path.
    pub resource: String,
    /// The object's name.
    pub name: String,
    /// `User "jane" cannot list resource "pods" …`, with the reason.
    pub why: String,
}

impl Forbidden {
    /// The refusal of what `user` asked for.
    pub fn new(user: &str, asked: &Attributes<'_>, reason: &str) -> Forbidden {
        let mut why = sanitized(&sentence(user, asked));
        if !reason.is_empty() {
            why.push_str(": ");
            why.push_str(reason);
        }
        Forbidden {
            group: asked.group.clone().into_owned(),
            resource: asked.resource.clone().into_owned(),
            name: asked.name.clone().into_owned(),
            why,
        }
    }

    /// The refusal that a decision means for a user.
    pub fn of(user: &User, asked: &Attributes<'_>, decision: &Decision) -> Forbidden {
        Forbidden::new(&user.name, asked, &decision.reason.to_string())
    }
}

fn sentence(user: &str, asked: &Attributes<'_>) -> String {
    let (user, verb) = (quote(user), &asked.verb);
    if !asked.is_resource {
        return format!("User {user} cannot {verb} path {}", quote(&asked.path));
    }
    let (resource, group) = (quote(&asked.combined_resource()), quote(&asked.group));
    if asked.namespace.is_empty() {
        format!("User {user} cannot {verb} resource {resource} in API group {group} at the cluster scope")
    } else {
        let namespace = quote(&asked.namespace);
        format!("User {user} cannot {verb} resource {resource} in API group {group} in the namespace {namespace}")
    }
}

/// Escapes what a browser could read as HTML.
fn sanitized(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
