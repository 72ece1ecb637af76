//! A write as one value, [`PendingWrite`], that goes through the stages behind decoding, defaulting and merging:
//!
//! admit (mutating) → access (rights that the object gives away) → prepare → validate → access (certificate signers) →
//! admit (validating) → store → effects
//!
//! Each stage is a file of that name; [`create`] and [`update`] are their order (M1–M13).

mod access;
pub(crate) mod addressed;
mod admin_access;
mod admit;
pub(crate) mod allocate;
mod create;
pub(crate) mod decode;
pub(crate) mod defaults;
pub(crate) mod effects;
pub(crate) mod go_text;
pub(crate) mod integers;
pub(crate) mod managed_fields;
mod prepare;
mod privileged;
pub(crate) mod scale;
mod store;
mod update;
mod validate;

use std::sync::Arc;

use kubewright_store::Record;
use serde_json::Value;

pub(crate) use create::create;
pub(crate) use prepare::bump_generation;
pub(crate) use update::{IfMissing, Mode, update};

use crate::admit::{Attributes, Operation};
use crate::registry::{Resource, Subresource};
use crate::request::call::Call;
use crate::wire::status::Result;
use crate::write::allocate::Allocation;
use scale::ScaleWrite;

/// What a write came to.
pub(crate) enum Written {
    Created(Arc<Record>),
    Updated(Arc<Record>),
    /// Removing its last finalizer deleted the object (M8); this is its last state.
    Deleted(Value),
    /// A dry run would have created or updated this.
    Dry {
        object: Value,
        created: bool,
    },
}

/// What a verb wants to be written, in the stored version.
pub(crate) struct Proposal {
    pub(crate) object: Value,
    /// Set where the client wrote a Scale, which is what admission is shown.
    pub(crate) scale: Option<ScaleWrite>,
}

impl From<Value> for Proposal {
    fn from(object: Value) -> Self {
        Proposal { object, scale: None }
    }
}

/// An object on its way into the store, and what the stages need to know about it.
struct PendingWrite<'c, 'a> {
    call: &'c mut Call<'a>,
    /// The resource in the version that is stored.
    resource: &'a Resource,
    /// The attributes of the request for admission.
    attributes: Attributes<'a>,
    object: Value,
    scale: Option<ScaleWrite>,
    /// What is replaced; `None` for a create.
    live: Option<LiveObject>,
    dry_run: bool,
}

/// The object that a write replaces.
struct LiveObject {
    record: Arc<Record>,
    object: Value,
}

impl<'c, 'a> PendingWrite<'c, 'a> {
    fn create(call: &'c mut Call<'a>, object: Value, name: &str, dry_run: bool) -> Self {
        PendingWrite {
            resource: call.resource().stored(),
            attributes: Attributes::new(call, Operation::Create, name, dry_run),
            call,
            object,
            scale: None,
            live: None,
            dry_run,
        }
    }

    fn update(call: &'c mut Call<'a>, proposal: Proposal, live: LiveObject, dry_run: bool) -> Self {
        PendingWrite {
            resource: call.resource().stored(),
            attributes: Attributes::new(call, Operation::Update, call.target.name, dry_run),
            call,
            object: proposal.object,
            scale: proposal.scale,
            live: Some(live),
            dry_run,
        }
    }

    fn old(&self) -> Option<&Value> {
        self.live.as_ref().map(|live| &live.object)
    }

    /// Reserves the addresses and ports that the object needs; they are free again unless the write is stored.
    fn allocate(&mut self) -> Result<Allocation<'a>> {
        let server = self.call.server;
        let (allocations, random) = (&server.allocate, &server.random);
        match &self.live {
            None => allocations.for_create(self.resource, &mut self.object, self.dry_run, random),
            // The spec that a write of the status brings along is not looked at.
            Some(_) if self.call.target.subresource == Some(Subresource::Status) => Ok(allocations.nothing()),
            Some(live) => allocations.for_update(self.resource, &mut self.object, &live.object, self.dry_run, random),
        }
    }
}
