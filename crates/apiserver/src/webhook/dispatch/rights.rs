//! What the user of a request may do, for the conditions that ask.

use std::fmt;
use std::sync::Arc;

use kubewright_cel::authorizer::{Authorize, Decision, Question, Target};

use crate::access::{self, Attributes as Asked, User};
use crate::admit::Attributes;
use crate::server::Server;

/// The rights of a user on a server.
pub(super) struct Rights {
    server: Option<Arc<Server>>,
    user: User,
}

impl Rights {
    pub(super) fn of(attributes: &Attributes<'_>) -> Rights {
        Rights {
            server: attributes.server.me.upgrade(),
            user: attributes.user.clone(),
        }
    }
}

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rights")
            .field("user", &self.user.name)
            .finish_non_exhaustive()
    }
}

impl Authorize for Rights {
    fn authorize(&self, question: &Question) -> Decision {
        let asked = match &question.target {
            Target::Path(path) => Asked::path(question.verb.as_str(), path.as_str()),
            Target::Resource(check) => Asked {
                version: "*".into(),
                field_selector: check.field_selector.as_str().into(),
                label_selector: check.label_selector.as_str().into(),
                ..Asked::resource(question.verb.as_str(), check.group.as_str(), check.resource.as_str())
                    .in_namespace(check.namespace.as_str())
                    .named(check.name.as_str())
                    .part(check.subresource.as_str())
            },
        };
        let account = question
            .service_account
            .as_ref()
            .map(|(namespace, name)| User::service_account(namespace, name));
        let Some(server) = &self.server else {
            return Decision::default();
        };
        let decision = access::decide(server, account.as_ref().unwrap_or(&self.user), &asked);
        Decision {
            allowed: decision.allowed,
            reason: decision.reason.to_string(),
            error: None,
        }
    }
}
