//! Who may do what, decided without I/O: users, what a request asks for, roles and bindings, escalation, impersonation.
//!
//! [`Attributes`] says what is asked, [`User`] by whom. A [`Policy`] holds roles and bindings; an [`Authorizer`] is a
//! policy that is kept current and answers fast ([`Authorizer::decide`]). [`covers`] compares rules with rules, for
//! writes that would give away more than their author has; [`impersonate`] decides who may act as whom (Z3, Z4).

mod aggregate;
mod attributes;
mod authorizer;
mod cover;
mod decision;
mod go;
mod impersonate;
mod policy;
mod rule;
mod user;

pub use aggregate::{ClusterRoleSelectors, aggregated};
pub use attributes::{Attributes, ListQuery};
pub use authorizer::Authorizer;
pub use cover::{break_down, compact, confirm_no_escalation, covers};
pub use decision::{Decision, Forbidden, Reason};
pub use go::aggregate_errors;
pub use impersonate::{Impersonated, Modes, impersonate};
pub use policy::{Binding, Grant, Grants, Policy, RoleRef, Scope, Source, Subject, Table};
pub use rule::Rule;
pub use user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User, split_service_account};
