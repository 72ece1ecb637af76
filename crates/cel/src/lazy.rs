//! Fields that are computed when they are first read: the `variables` of admission policies.

use std::fmt;

use crate::value::Outcome;

/// The name of their type.
pub const TYPE_NAME: &str = "kubernetes.variables";

/// The fields behind a [`Value::Lazy`](crate::Value::Lazy). Whoever implements it remembers what was computed.
///
/// ```
/// use std::cell::Cell;
/// use std::collections::BTreeMap;
/// use std::sync::Arc;
///
/// use kubewright_cel::{Env, LazyFields, Limits, ObjectType, Outcome, Type, Value};
///
/// #[derive(Debug, Default)]
/// struct Answers(Cell<u32>);
///
/// impl<'a> LazyFields<'a> for Answers {
///     fn field(&self, name: &str) -> Option<Outcome<'a>> {
///         self.0.set(self.0.get() + 1);
///         (name == "answer").then_some(Ok(Value::Int(42)))
///     }
/// }
///
/// let fields = BTreeMap::from([("answer".to_owned(), Type::Int)]);
/// let ty = ObjectType { name: kubewright_cel::LAZY_TYPE.to_owned(), fields: Some(fields) };
/// let env = Env::kubernetes().with_variable("variables", Type::Object(Arc::new(ty)));
/// let (read, unread) = (env.compile("variables.answer == 42").unwrap(), env.compile("true || variables.answer == 1").unwrap());
/// let answers = Answers::default();
/// for program in [&read, &unread] {
///     let evaluation = program.eval_with(&[("variables", Value::Lazy)], Some(&answers), Limits::default());
///     assert!(matches!(evaluation.outcome, Ok(Value::Bool(true))));
/// }
/// assert_eq!(answers.0.get(), 1);
/// assert!(read.reads("variables") && !read.reads("object"));
/// ```
pub trait LazyFields<'a>: fmt::Debug {
    /// The value of a field; `None` if there is no such field.
    fn field(&self, name: &str) -> Option<Outcome<'a>>;
}
