//! A step that users take while no manager runs.

use super::Run;

impl Run<'_> {
    /// Ends the manager, has users act, and starts another manager on what they left. A step that does not work without the operator
    /// is given up.
    pub(super) async fn take_step_while_down(&mut self) {
        self.env.traffic().end_lives();
        self.count_panics();
        self.env.kill_manager();
        let done = self.act().await;
        self.rest().await;
        if done.is_err() {
            self.give_up();
            return;
        }
        if let Err(error) = Box::pin(self.env.try_start_manager()).await {
            self.problem("the operator does not start again", vec![error.text()]);
        }
        self.rest().await;
        self.note_reached();
    }
}
