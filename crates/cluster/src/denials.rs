//! What the operator was not allowed to do at the embedded API server, with the line that allows it.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use kubewright_apiserver::{ApiServer, Attributes};
use tokio::time::sleep;

use crate::Reference;
use crate::progress::Progress;

const LOOK: Duration = Duration::from_millis(500);

/// Tells once of each thing that an account was not allowed to do from now on, for ever.
pub async fn tell(server: ApiServer, account: Reference, progress: Progress) {
    let since = Timestamp::now();
    let mut told = BTreeSet::new();
    loop {
        for line in lines(&server, &account, since) {
            if told.insert(line.clone()) {
                progress.warn(line);
            }
        }
        sleep(LOOK).await;
    }
}

/// What an account was not allowed to do since a time.
fn lines(server: &ApiServer, account: &Reference, since: Timestamp) -> Vec<String> {
    let namespace = account.namespace.as_deref().unwrap_or_default();
    let refused = server.audit().service_account(namespace, &account.name).refused();
    refused
        .since(since)
        .events()
        .iter()
        .map(|event| line(&event.attributes))
        .collect()
}

/// What was not allowed and what would allow it.
fn line(asked: &Attributes<'_>) -> String {
    let verb = &asked.verb;
    if !asked.is_resource {
        return format!(
            "the operator may not {verb} {path}: add #[rbac(urls = \"{path}\", verbs = \"{verb}\")] to its reconciler",
            path = asked.path
        );
    }
    let resource = if asked.subresource.is_empty() {
        asked.resource.to_string()
    } else {
        format!("{}/{}", asked.resource, asked.subresource)
    };
    let group = &asked.group;
    let full = if group.is_empty() {
        resource.clone()
    } else {
        format!("{resource} of {group}")
    };
    format!(
        "the operator may not {verb} {full}: add #[rbac(groups = \"{group}\", resources = \"{resource}\", verbs = \"{verb}\")] to its \
         reconciler"
    )
}

#[cfg(test)]
mod tests {
    use kubewright_apiserver::{Options, User};

    use super::*;

    #[test]
    fn a_denial_names_the_line_that_allows_it() {
        let mut asked = Attributes::resource("patch", "apps", "deployments");
        asked.subresource = "status".into();
        assert_eq!(
            line(&asked),
            "the operator may not patch deployments/status of apps: add #[rbac(groups = \"apps\", resources = \
             \"deployments/status\", verbs = \"patch\")] to its reconciler"
        );
    }

    #[tokio::test]
    async fn only_what_was_refused_to_this_operator_since_it_runs_is_told() {
        let server = ApiServer::new(Options::new());
        let account = Reference::new("v1", "ServiceAccount", Some("shop-system"), "shop");
        let before = Timestamp::now();
        let user = User::new("system:serviceaccount:shop-system:shop", ["system:serviceaccounts"]);
        let request = http::Request::get("/api/v1/secrets").body("".into()).unwrap();
        assert_eq!(server.handle_as(Some(&user), request).await.status(), 403);
        let told = lines(&server, &account, before);
        assert_eq!(told.len(), 1);
        assert!(
            told[0].starts_with("the operator may not list secrets: add #[rbac("),
            "{}",
            told[0]
        );
        let later = before + jiff::SignedDuration::from_hours(1);
        assert_eq!(lines(&server, &account, later), Vec::<String>::new());
        let other = Reference::new("v1", "ServiceAccount", Some("shop-system"), "other");
        assert_eq!(lines(&server, &other, before), Vec::<String>::new());
    }
}
