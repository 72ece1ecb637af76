//! What is wrong with webhooks before anything is started.

use std::collections::BTreeMap;

use kubewright_apimachinery::names;
use kubewright_description::{WebhookDescription, WebhookType};

use super::builder::Webhook;

/// What is wrong with webhooks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// Two webhooks are served at one path.
    #[error(
        "webhooks {first:?} and {second:?} are both served at {path}; give one another path with `settings.path(…)`"
    )]
    SamePath {
        /// The path.
        path: String,
        /// The name of the one.
        first: String,
        /// The name of the other.
        second: String,
    },
    /// Two webhooks of one configuration have one name.
    #[error(
        "two {role} webhooks are named {name:?}, at {first} and {second}; give one another name with `settings.name(…)`"
    )]
    SameName {
        /// `mutating` or `validating`.
        role: &'static str,
        /// The name.
        name: String,
        /// The path of the one.
        first: String,
        /// The path of the other.
        second: String,
    },
    /// The API server would not accept the name.
    #[error("webhook {0:?} needs a name of at least three words with dots, as `vview.example.com`")]
    Name(String),
    /// Nothing can be served there.
    #[error(
        "webhook {name:?} cannot be served at {path:?}: a path is `/` and words of letters, digits, `-` and `_`, joined by `/`"
    )]
    Path {
        /// The name.
        name: String,
        /// The path.
        path: String,
    },
    /// The API server would not wait so long, or not at all.
    #[error("webhook {name:?} has a timeout of {seconds} s: it must be between 1 and 30")]
    Timeout {
        /// The name.
        name: String,
        /// The timeout.
        seconds: i32,
    },
    /// It would never be asked.
    #[error("webhook {0:?} has no operations: it would never be asked")]
    NoOperations(String),
    /// A webhook without handlers.
    #[error("a webhook of {0} has neither a defaulter nor a validator")]
    NoHandler(String),
    /// Handlers that need a client need a manager.
    #[error("the webhook at {0} needs a client: run it with a manager, or use `WebhookServer::with_client`")]
    NeedsClient(String),
}

/// Whether webhooks can be served together. An error names the webhook, and comes before anything is started.
pub(crate) fn check(webhooks: &[Webhook]) -> Result<(), WebhookError> {
    let mut paths: BTreeMap<String, String> = BTreeMap::new();
    let mut names: BTreeMap<(&'static str, String), String> = BTreeMap::new();
    for webhook in webhooks {
        let hooks = webhook.describe();
        if hooks.is_empty() {
            return Err(WebhookError::NoHandler(webhook.kind_name()));
        }
        for (at, hook) in hooks.iter().enumerate() {
            check_one(hook)?;
            // A raw handler may be both mutating and validating at one path.
            let again = hooks[..at]
                .iter()
                .any(|other| other.path == hook.path && webhook.is_raw());
            if let Some(first) = paths.insert(hook.path.clone(), hook.name.clone())
                && !again
            {
                let (path, second) = (hook.path.clone(), hook.name.clone());
                return Err(WebhookError::SamePath { path, first, second });
            }
            let role = match hook.role {
                WebhookType::Mutating => "mutating",
                WebhookType::Validating => "validating",
                WebhookType::Unlisted => continue,
            };
            if let Some(first) = names.insert((role, hook.name.clone()), hook.path.clone()) {
                return Err(WebhookError::SameName {
                    role,
                    name: hook.name.clone(),
                    first,
                    second: hook.path.clone(),
                });
            }
        }
    }
    Ok(())
}

fn check_one(hook: &WebhookDescription) -> Result<(), WebhookError> {
    let name = || hook.name.clone();
    if !is_path(&hook.path) {
        let path = hook.path.clone();
        return Err(WebhookError::Path { name: name(), path });
    }
    if hook.role == WebhookType::Unlisted {
        return Ok(());
    }
    if !is_qualified(&hook.name) {
        return Err(WebhookError::Name(name()));
    }
    if let Some(seconds) = hook.timeout_seconds.filter(|seconds| !(1..=30).contains(seconds)) {
        return Err(WebhookError::Timeout { name: name(), seconds });
    }
    if hook.rules.iter().any(|rule| rule.operations.is_empty()) {
        return Err(WebhookError::NoOperations(name()));
    }
    Ok(())
}

/// controller-runtime's rule for paths.
fn is_path(path: &str) -> bool {
    let word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    path == "/" || path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(word))
}

/// The API server's rule for names: a DNS name of at least three labels.
fn is_qualified(name: &str) -> bool {
    name.len() <= names::SUBDOMAIN_MAX && name.split('.').count() >= 3 && name.split('.').all(names::is_dns1123_label)
}
