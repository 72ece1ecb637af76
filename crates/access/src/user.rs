//! Users: a name, a uid, groups and extra fields.

use std::collections::BTreeMap;

use kubewright_apimachinery::names;

/// The group of all authenticated users.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of unauthenticated users.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of unauthenticated users.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group that may do everything, whatever roles and bindings say.
pub const MASTERS: &str = "system:masters";

const ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// A user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct User {
    /// The user's name.
    pub name: String,
    /// The uid, which distinguishes users of the same name; may be empty.
    pub uid: String,
    /// The groups the user is in.
    pub groups: Vec<String>,
    /// Extra fields, such as the pod a token is bound to.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user in groups, to which `system:authenticated` is added as every authenticated user has it (Z1).
    pub fn new(name: impl Into<String>, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut user = User {
            name: name.into(),
            groups: groups.into_iter().map(Into::into).collect(),
            ..User::default()
        };
        user.join(AUTHENTICATED);
        user
    }

    /// The administrator: `system:masters`.
    pub fn admin() -> Self {
        User::new("admin", [MASTERS]).with_uid("admin")
    }

    /// The unauthenticated user.
    pub fn anonymous() -> Self {
        User {
            name: ANONYMOUS.into(),
            groups: vec![UNAUTHENTICATED.into()],
            ..User::default()
        }
    }

    /// A service account, in the groups it has by being one.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        User::new(account_name(namespace, name), account_groups(namespace))
    }

    /// The same user with a uid.
    pub fn with_uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = uid.into();
        self
    }

    /// The same user with one more extra field.
    pub fn with_extra(mut self, key: impl Into<String>, values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.extra
            .insert(key.into(), values.into_iter().map(Into::into).collect());
        self
    }

    /// Whether the user is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|member| member == group)
    }

    /// Whether the user may do everything.
    pub fn is_master(&self) -> bool {
        self.is_in(MASTERS)
    }

    /// Puts the user into a group, unless they are in it.
    pub fn join(&mut self, group: &str) {
        if !self.is_in(group) {
            self.groups.push(group.to_owned());
        }
    }
}

/// The user name of a service account.
pub(crate) fn account_name(namespace: &str, name: &str) -> String {
    format!("{ACCOUNT_PREFIX}{namespace}:{name}")
}

/// The groups of a service account.
pub(crate) fn account_groups(namespace: &str) -> [String; 2] {
    [
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
    ]
}

/// Whether a user's name is that of this service account; compares without building it.
pub(crate) fn is_account(user: &str, namespace: &str, name: &str) -> bool {
    user.strip_prefix(ACCOUNT_PREFIX)
        .and_then(|rest| rest.strip_prefix(namespace))
        .and_then(|rest| rest.strip_prefix(':'))
        == Some(name)
}

/// Namespace and name of the service account, if the user's name is that of one.
pub fn split_service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(ACCOUNT_PREFIX)?.split_once(':')?;
    (names::is_dns1123_label(namespace) && names::is_dns1123_subdomain(name)).then_some((namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_account_is_known_by_its_name() {
        let user = User::service_account("build", "robot");
        assert_eq!(user.name, "system:serviceaccount:build:robot");
        assert_eq!(
            user.groups,
            ["system:serviceaccounts", "system:serviceaccounts:build", AUTHENTICATED]
        );
        assert_eq!(split_service_account(&user.name), Some(("build", "robot")));
        assert!(is_account(&user.name, "build", "robot"));
        assert!(!is_account(&user.name, "buil", "d:robot"));
    }

    #[test]
    fn other_names_are_no_service_accounts() {
        for name in [
            "jane",
            "system:serviceaccount:a",
            "system:serviceaccount::b",
            "system:serviceaccount:a:",
            "system:serviceaccount:a:b:c",
            "system:serviceaccount:A:b",
            "system:serviceaccount:a.b:c",
        ] {
            assert_eq!(split_service_account(name), None, "{name}");
        }
    }
}
