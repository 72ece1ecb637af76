// SPDX-License-Identifier: Apache-2.0

//! Has a webhook complete what users leave out, and lets through what the webhook did not see: while it is down, users get something else.

use kubewright::prelude::*;
use kubewright::webhook::FailurePolicy;

use crate::{App, Children, ensure, operator};

/// With the mistake.
pub fn broken() -> Operator {
    with_webhook(FailurePolicy::Ignore)
}

/// Refuses what cannot be completed; users try again.
pub fn fixed() -> Operator {
    with_webhook(FailurePolicy::Fail)
}

fn with_webhook(policy: FailurePolicy) -> Operator {
    let webhook = Webhook::of::<App>()
        .defaulter(|app: &mut App, _: &AdmissionRequest| {
            if app.spec.text.is_empty() {
                "hello".clone_into(&mut app.spec.text);
            }
            Ok(())
        })
        .settings(move |settings| settings.failure_policy(policy));
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
    .webhook(webhook)
}
