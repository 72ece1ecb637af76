//! A step that users take while the operator's webhooks are down.

use super::Run;
use crate::explore::compare;
use crate::traffic::WebhookTrouble;

impl Run<'_> {
    /// Has users act while no webhook answers. What is refused leaves no trace; what is not refused goes on as ever. Where users need
    /// none, those who watch and write for what they did meet the trouble, for a while. Whether the step goes on.
    pub(super) async fn take_step_without_webhooks(&mut self) -> bool {
        let (before, began) = (self.state(), self.cluster.revision());
        let gate = self.env.traffic().webhooks().clone();
        gate.begin_trouble(WebhookTrouble::Down);
        let done = self.act().await;
        let is_hit = gate.is_hit();
        if is_hit {
            gate.end_trouble();
        } else {
            gate.trouble(WebhookTrouble::Down);
        }
        self.rest().await;
        if gate.is_hit() {
            self.note_reached();
        }
        if done.is_ok() || !is_hit {
            return true;
        }
        self.give_up();
        // What the step itself wrote before it was refused stays, with all that comes of it.
        if !self.has_change_of_the_test(began) {
            self.note_reached();
            for difference in compare::states(self.step, &before, &self.state()) {
                self.problem(format!("refused, and {}", difference.name), difference.details);
            }
        }
        false
    }
}
