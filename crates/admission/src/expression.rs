//! Expressions of admission: compiled once, with the type that is demanded of them (A6, A13).

use std::fmt;
use std::sync::Arc;

use kubewright_cel::{Env, ObjectType, Program, Type};

/// Why an expression cannot be used, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// Its text is wrong.
    #[error("{0}")]
    Invalid(String),
    /// It can be checked, but not be run, which upstream counts among its own mistakes.
    #[error("{0}")]
    Internal(String),
}

/// What an expression has to evaluate to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returns {
    Bool,
    String,
    StringOrNull,
    /// What a variable is.
    Anything,
    /// An apply configuration.
    Object,
    /// The operations of a JSON patch.
    Patches,
}

/// An expression and what became of it.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) text: String,
    pub(crate) program: Result<Program, CompileError>,
}

impl Expression {
    pub(crate) fn new(env: &Env, text: &str, returns: Returns) -> Expression {
        Expression {
            program: compile(env, text, returns),
            text: text.to_owned(),
        }
    }

    /// Whether it reads this variable.
    pub(crate) fn reads(&self, name: &str) -> bool {
        self.program.as_ref().is_ok_and(|program| program.reads(name))
    }
}

impl Returns {
    fn types(self) -> Vec<Type> {
        let object = |name: &str| {
            Type::Object(Arc::new(ObjectType {
                name: name.to_owned(),
                fields: None,
            }))
        };
        match self {
            Returns::Bool => vec![Type::Bool],
            Returns::String => vec![Type::String],
            Returns::StringOrNull => vec![Type::String, Type::Null],
            Returns::Anything => Vec::new(),
            Returns::Object => vec![object("Object")],
            Returns::Patches => vec![Type::list(object("JSONPatch"))],
        }
    }
}

/// Compiles an expression that has to evaluate to this type.
pub(crate) fn compile(env: &Env, text: &str, returns: Returns) -> Result<Program, CompileError> {
    let program = env
        .compile(text)
        .map_err(|issues| CompileError::Invalid(format!("compilation failed: {issues}")))?;
    let (types, found) = (returns.types(), program.output_type());
    if !types.is_empty() && !types.contains(found) {
        let found = DeclaredName(found);
        return Err(CompileError::Invalid(match types.as_slice() {
            [only] => format!("must evaluate to {} but got {found}", DeclaredName(only)),
            several => {
                let names: Vec<String> = several.iter().map(|ty| DeclaredName(ty).to_string()).collect();
                format!("must evaluate to one of [{}] but got {found}", names.join(" "))
            }
        }));
    }
    match program.defect() {
        Some(defect) => Err(CompileError::Internal(format!(
            "program instantiation failed: {defect}"
        ))),
        None => Ok(program),
    }
}

/// The name under which cel-go declares a type, which differs for some from the name that its checker reports.
struct DeclaredName<'t>(&'t Type);

impl fmt::Display for DeclaredName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Type::Null => f.write_str("null_type"),
            Type::Duration => f.write_str("google.protobuf.Duration"),
            Type::Timestamp => f.write_str("google.protobuf.Timestamp"),
            Type::List(element) => write!(f, "list({})", DeclaredName(element)),
            Type::Map(pair) => write!(f, "map({}, {})", DeclaredName(&pair.0), DeclaredName(&pair.1)),
            other => write!(f, "{other}"),
        }
    }
}
