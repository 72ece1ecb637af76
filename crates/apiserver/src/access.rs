//! Who asks, and whether they may. Identities come from the door; authorization is "authenticated" until RBAC arrives.

use std::sync::OnceLock;

use crate::status::{Result, Status};

/// An authenticated identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    /// The user's name.
    pub name: String,
    /// The groups the user is in.
    pub groups: Vec<String>,
}

impl User {
    /// A user in groups, to which `system:authenticated` is added as every authenticated user has it (Z1).
    pub fn new(name: impl Into<String>, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        if !groups.iter().any(|group| group == "system:authenticated") {
            groups.push("system:authenticated".into());
        }
        User {
            name: name.into(),
            groups,
        }
    }

    /// The administrator: `system:masters`.
    pub fn admin() -> Self {
        User::new("admin", ["system:masters"])
    }

    /// A service account, in the groups it has by being one.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        User::new(
            format!("system:serviceaccount:{namespace}:{name}"),
            [
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
            ],
        )
    }
}

/// Paths that anybody may read, as upstream's `system:public-info-viewer` allows (H13).
pub(crate) fn is_public(path: &str) -> bool {
    matches!(path, "/healthz" | "/livez" | "/readyz" | "/version")
        || ["/healthz/", "/livez/", "/readyz/"]
            .iter()
            .any(|prefix| path.starts_with(prefix))
}

/// Lets a request in, or answers 401.
pub(crate) fn authorize<'u>(user: Option<&'u User>, path: &str) -> Result<&'u User> {
    static NOBODY: OnceLock<User> = OnceLock::new();
    match user {
        Some(user) => Ok(user),
        None if is_public(path) => Ok(NOBODY.get_or_init(|| User {
            name: "system:anonymous".into(),
            groups: vec!["system:unauthenticated".into()],
        })),
        None => Err(Status::unauthorized()),
    }
}
