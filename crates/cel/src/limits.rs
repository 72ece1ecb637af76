//! The limits Kubernetes sets (C17).

/// The cost of evaluating one expression once.
pub const PER_CALL: u64 = 1_000_000;
/// The cost of evaluating all expressions for one object.
pub const PER_OBJECT: u64 = 10_000_000;
/// The estimated cost of one expression of a CRD.
pub const PER_EXPRESSION_ESTIMATE: u64 = 10_000_000;
/// The estimated cost of all expressions of a CRD.
pub const PER_CRD_ESTIMATE: u64 = 100_000_000;
/// The longest message a `messageExpression` may give, in bytes.
pub const MESSAGE_BYTES: usize = 5 * 1024;
