//! The authorizer that CEL match conditions ask about the user of a request.

use std::fmt;
use std::sync::Arc;

use kubewright_cel::authorizer::{AuthorizationCheck, Authorize, Decision, Target};

use crate::access::{self, Attributes as Asked, Questions, User};
use crate::admit::Attributes;
use crate::server::Server;

/// The rights of a user on a server.
pub(crate) struct Rights {
    server: Option<Arc<Server>>,
    user: User,
    questions: Option<Arc<Questions>>,
}

impl Rights {
    pub(crate) fn of(attributes: &Attributes<'_>) -> Rights {
        Rights {
            server: attributes.server.me.upgrade(),
            user: attributes.user.clone(),
            questions: attributes.questions(),
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
    fn authorize(&self, check: &AuthorizationCheck) -> Decision {
        let asked = match &check.target {
            Target::Path(path) => Asked::path(check.verb.as_str(), path.as_str()),
            Target::Resource(resource) => Asked {
                version: "*".into(),
                field_selector: resource.field_selector.as_str().into(),
                label_selector: resource.label_selector.as_str().into(),
                ..Asked::resource(check.verb.as_str(), resource.group.as_str(), resource.resource.as_str())
                    .in_namespace(resource.namespace.as_str())
                    .named(resource.name.as_str())
                    .part(resource.subresource.as_str())
            },
        };
        let account = check
            .service_account
            .as_ref()
            .map(|(namespace, name)| User::service_account(namespace, name));
        let Some(server) = &self.server else {
            return Decision::default();
        };
        let user = account.as_ref().unwrap_or(&self.user);
        let decision = match &self.questions {
            None => access::decide(server, user, &asked),
            Some(questions) => questions.decide(user, &asked),
        };
        Decision {
            allowed: decision.allowed,
            reason: decision.reason.to_string(),
            error: None,
        }
    }
}
