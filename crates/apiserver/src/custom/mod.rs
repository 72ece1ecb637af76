//! Custom resources: what `CustomResourceDefinitions` add to a server (C1–C19). `definitions` is the set a server has,
//! `lifecycle` what follows from a write of one, `kind` and `version` what it makes of the objects it defines.

mod api_services;
pub(crate) mod conversion;
mod definitions;
pub(crate) mod empties;
mod kind;
mod lifecycle;
mod rules;
mod version;

pub(crate) use definitions::{Definitions, ServedResources};
pub(crate) use rules::CustomResourceDefinition;
pub(crate) use version::{Lookup, Version};
