//! The variables of a policy, and the environments in which its expressions are compiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_cel::{Env, LAZY_TYPE, ObjectType, Range, Type};

use crate::environment::{Declarations, environment};
use crate::expression::{CompileError, Expression, Returns, compile};

/// The compiled variables of a policy. Each may read those before it.
#[derive(Debug, Default)]
pub(crate) struct Composition {
    variables: Vec<(String, Expression)>,
}

impl Composition {
    pub(crate) fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.variables.len()
    }

    /// The variable of this name; of two with one name it is the last.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &Expression)> {
        let at = self.variables.iter().rposition(|(own, _)| own == name)?;
        Some((at, &self.variables[at].1))
    }

    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.variables.iter().map(|(_, expression)| expression)
    }
}

/// Compiles the expressions of a policy: its variables first, in their order, and then all others.
///
/// ```
/// use kubewright_admission::policy::PolicyExpressions;
///
/// let mut policy = PolicyExpressions::new(false);
/// policy.variable("size", "object.data.size()").unwrap();
/// assert!(policy.validation("variables.size < 3").is_ok());
/// let mistake = policy.validation("variables.sise < 3").unwrap_err().to_string();
/// assert!(mistake.contains("undefined field 'sise'"));
/// let mistake = policy.message("variables.size").unwrap_err().to_string();
/// assert_eq!(mistake, "must evaluate to string but got int");
/// ```
pub struct PolicyExpressions {
    params: bool,
    /// The types of the variables; `None` if a policy without variables does not know the name at all.
    types: Option<BTreeMap<String, Type>>,
    /// The environments of [`Declarations`] with authorizer, without, and for mutations.
    environments: [Env; 3],
    composition: Composition,
}

/// Which of the environments of a policy an expression is compiled in.
#[derive(Clone, Copy)]
enum Which {
    Rule,
    Message,
    Mutation,
}

impl PolicyExpressions {
    /// Of a policy with or without a `paramKind`.
    pub fn new(params: bool) -> PolicyExpressions {
        let of = |authorizer, mutation| {
            let declarations = Declarations {
                params,
                authorizer,
                mutation,
            };
            environment(declarations).clone()
        };
        PolicyExpressions {
            params,
            types: None,
            environments: [of(true, false), of(false, false), of(true, true)],
            composition: Composition::default(),
        }
    }

    /// Of a policy that may have no variables, and whose expressions may name `variables` all the same.
    pub fn composed(params: bool) -> PolicyExpressions {
        let mut expressions = PolicyExpressions::new(params);
        expressions.declare(None);
        expressions
    }

    /// Compiles a variable, which later expressions may read.
    pub fn variable(&mut self, name: &str, text: &str) -> Result<(), CompileError> {
        if self.types.is_none() {
            self.declare(None);
        }
        let expression = Expression::new(self.environment(Which::Rule), text, Returns::Anything);
        let ty = match &expression.program {
            Ok(program) => field_type(program.output_type()),
            Err(_) => Type::Dyn,
        };
        let outcome = expression.program.as_ref().map(|_| ()).map_err(Clone::clone);
        self.composition.variables.push((name.to_owned(), expression));
        self.declare(Some((name, ty)));
        outcome
    }

    /// What is wrong with a match condition, which cannot read variables.
    pub fn condition(&self, text: &str) -> Result<(), CompileError> {
        let declarations = Declarations {
            params: self.params,
            authorizer: true,
            mutation: false,
        };
        compile(environment(declarations), text, Returns::Bool).map(|_| ())
    }

    /// What is wrong with the expression of a validation.
    pub fn validation(&self, text: &str) -> Result<(), CompileError> {
        self.check(Which::Rule, text, Returns::Bool)
    }

    /// What is wrong with a `messageExpression`, which has no `authorizer`.
    pub fn message(&self, text: &str) -> Result<(), CompileError> {
        self.check(Which::Message, text, Returns::String)
    }

    /// What is wrong with the `valueExpression` of an audit annotation.
    pub fn annotation(&self, text: &str) -> Result<(), CompileError> {
        self.check(Which::Rule, text, Returns::StringOrNull)
    }

    /// What is wrong with an apply configuration.
    pub fn apply_configuration(&self, text: &str) -> Result<(), CompileError> {
        self.check(Which::Mutation, text, Returns::Object)
    }

    /// What is wrong with a JSON patch.
    pub fn json_patch(&self, text: &str) -> Result<(), CompileError> {
        self.check(Which::Mutation, text, Returns::Patches)
    }

    /// What evaluating an expression once costs, as far as it can be told before there is an object; `None` if it is wrong. What
    /// the variables cost that it reads is not included: they are evaluated once.
    pub fn estimate(&self, text: &str) -> Option<Range> {
        let env = self.environment(Which::Mutation);
        Some(env.estimate(&env.check(text).ok()?, None))
    }

    fn check(&self, which: Which, text: &str, returns: Returns) -> Result<(), CompileError> {
        compile(self.environment(which), text, returns).map(|_| ())
    }

    pub(super) fn rule(&self, text: &str, returns: Returns) -> Expression {
        Expression::new(self.environment(Which::Rule), text, returns)
    }

    pub(super) fn mutation(&self, text: &str, returns: Returns) -> Expression {
        Expression::new(self.environment(Which::Mutation), text, returns)
    }

    pub(super) fn message_expression(&self, text: &str) -> Expression {
        Expression::new(self.environment(Which::Message), text, Returns::String)
    }

    pub(super) fn into_composition(self) -> Composition {
        self.composition
    }

    fn environment(&self, which: Which) -> &Env {
        &self.environments[which as usize]
    }

    /// Declares `variables`, with one more field.
    fn declare(&mut self, field: Option<(&str, Type)>) {
        let types = self.types.get_or_insert_default();
        if let Some((name, ty)) = field {
            types.insert(field_name(name), ty);
        }
        let ty = variables_type(types);
        for env in &mut self.environments {
            *env = env.clone().with_variable("variables", ty.clone());
        }
    }
}

/// The type of `variables` with these fields.
pub(super) fn variables_type(types: &BTreeMap<String, Type>) -> Type {
    Type::Object(Arc::new(ObjectType {
        name: LAZY_TYPE.to_owned(),
        fields: Some(types.clone()),
    }))
}

/// The name of a variable as a field.
pub(super) fn field_name(name: &str) -> String {
    kubewright_cel::escape(name).map_or_else(|| name.to_owned(), Into::into)
}

/// The type that a variable has for other expressions: upstream forgets what objects are.
pub(super) fn field_type(ty: &Type) -> Type {
    match ty {
        Type::Bool
        | Type::Bytes
        | Type::Double
        | Type::Duration
        | Type::Int
        | Type::Null
        | Type::String
        | Type::Timestamp
        | Type::Uint => ty.clone(),
        Type::List(element) => Type::list(field_type(element)),
        Type::Map(pair) => Type::map(field_type(&pair.0), field_type(&pair.1)),
        _ => Type::Dyn,
    }
}
