//! What reconcilers do again and again, built from the verbs of [`Client`](super::Client).

mod condition;
mod create_or;
mod finalizer;
mod owner;
mod retry;

pub use condition::{ConditionUpdate, find_condition, is_condition_true, remove_condition, set_condition};
pub use finalizer::{add_finalizer, has_finalizer, remove_finalizer};
pub use owner::{
    OwnerError, has_owner_reference, is_controlled_by, remove_owner_reference, set_controller_reference,
    set_owner_reference,
};
pub use retry::{ignore_already_exists, ignore_not_found, retry_on_conflict};
