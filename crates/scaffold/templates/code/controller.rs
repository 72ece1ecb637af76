{{header}}//! Brings about what {{a_kind}} asks for.

use kubewright::prelude::*;

use {{use}};

/// Reconciles `{{kind}}`s.
pub struct {{kind}}Reconciler {
    client: Client,
}

impl {{kind}}Reconciler {
    /// What is reconciled, and what else wakes it: add `.owns::<Deployment>()` and the like.
    pub fn controller() -> Controller {
        {{controller}}
    }

    fn new(context: &Context) -> Self {
        Self {
            client: context.client(),
        }
    }
}

// What may be read follows from what is watched. Say here what the controller writes.
{{rbac_status}}
impl Reconciler for {{kind}}Reconciler {
    // Called whenever something changed, and again after a failure: compare what is with what should be.
    async fn reconcile(&self, request: Request) -> Result {
        {{get}}
            return Ok(Action::done());
        };

        // Create, change and delete what belongs to the object here.

        let mut object = object.into_owned();
        let ready = ConditionUpdate::is_true("Available", "Reconciled")
            .message("all is as it should be")
            .observed(object.metadata.generation);
        let conditions = &mut object.status.get_or_insert_default().conditions;
        if set_condition(conditions, &ready, self.client.clock().now()) {
            self.client.update_status(&object).await?;
        }
        Ok(Action::done())
    }
}
