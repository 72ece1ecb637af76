//! Authorization without I/O: users, attributes of requests, roles and bindings, escalation, impersonation.
//!
//! [`Attributes`] are what a request asks for, [`User`] is who sent it. A [`Policy`] holds roles and bindings; an [`Authorizer`] is a
//! policy that is kept current and answers fast ([`Authorizer::decide`]). [`covers`] compares rules with rules, for
//! writes that would grant more than their author has; [`impersonate`] decides who may act as whom (Z3, Z4), and
//! [`decide_for_node`] what a kubelet may do.
//!
//! ```
//! use kubewright_access::{Attributes, Authorizer, Forbidden, Policy, Rule, RbacResource, User, covers};
//! use serde_json::json;
//!
//! let mut policy = Policy::default();
//! let role = json!({ "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] });
//! policy.set(RbacResource::Roles, "shop/reader", Some(&role));
//! let binding = json!({
//!     "metadata": { "name": "robots", "namespace": "shop" },
//!     "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader" },
//!     "subjects": [{ "kind": "ServiceAccount", "name": "robot", "namespace": "shop" }],
//! });
//! policy.set(RbacResource::RoleBindings, "shop/robots", Some(&binding));
//!
//! let authorizer = Authorizer::new(policy);
//! let robot = User::service_account("shop", "robot");
//! let get = Attributes::resource("get", "", "pods").in_namespace("shop").named("web");
//! assert!(authorizer.decide(&robot, &get).allowed);
//! assert!(!authorizer.decide(&User::anonymous(), &get).allowed);
//!
//! let delete = Attributes::resource("delete", "", "pods").in_namespace("shop").named("web");
//! let decision = authorizer.decide(&robot, &delete);
//! assert!(!decision.allowed);
//! let said = Forbidden::of(&robot, &delete, &decision).why;
//! assert!(said.contains(r#"User "system:serviceaccount:shop:robot" cannot delete resource "pods""#), "{said}");
//!
//! // A user who has `get` cannot grant `get` and `list`.
//! let held = Rule::resources([""], ["pods"], ["get"]);
//! let given = Rule::resources([""], ["pods"], ["get", "list"]);
//! assert_eq!(covers(&[held], &[given]), [Rule::resources([""], ["pods"], ["list"])]);
//! ```

mod aggregate;
mod attributes;
mod authorizer;
mod cover;
mod decision;
mod go;
mod impersonate;
mod node;
mod policy;
mod request_info;
mod rule;
mod user;

pub use aggregate::{ClusterRoleSelectors, aggregated};
pub use attributes::{Attributes, ListQuery};
pub use authorizer::Authorizer;
pub use cover::{break_down, compact, confirm_no_escalation, covers};
pub use decision::{Decision, Forbidden, Reason};
pub use impersonate::{Impersonated, Modes, impersonate};
pub use node::{NodeRelated, decide_for_node, node_of};
pub use policy::{Binding, Grant, Grants, Policy, RbacResource, RoleRef, Scope, Source, Subject};
pub use request_info::{Prefix, RequestInfo, ResourceInfo};
pub use rule::Rule;
pub use user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User, split_service_account};
