#![doc = include_str!("../ARCHITECTURE.md")]

pub mod ast;
/// `authorizer`: checks of what the user of a request may do.
pub mod authorizer {
    pub use crate::library::authorizer::{
        Authorization, AuthorizationCheck, Authorize, Decision, ResourceCheck, Target,
    };
}
mod checker;
mod decl;
mod env;
mod error;
mod estimate;
mod eval;
mod functions;
mod lazy;
mod lexer;
mod library;
pub mod limits;
mod macros;
mod names;
mod object;
mod parser;
mod printer;
pub mod rules;
mod source;
mod syntax;
mod types;
mod unescape;
mod value;
mod wellknown;

pub use checker::{CheckedAst, Reference};
pub use decl::{Decl, DeclKind, ListKind};
pub use env::{Env, Signature};
pub use error::{ErrorKind, EvalError};
pub use estimate::Range;
pub use eval::{Evaluation, Limits, Program};
pub use lazy::{LazyFields, TYPE_NAME as LAZY_TYPE};
pub use library::time::Timestamp;
pub use library::{Implementation, Opaque};
pub use names::{RESERVED_WORDS, escape, unescape};
pub use parser::{ParseOptions, parse};
pub use printer::{PrintError, print};
pub use source::{Issue, Issues, Position, Source};
pub use types::{ObjectType, Type};
pub use value::{Key, List, Map, Object, Outcome, Text, Value};

impl Env {
    /// Parses and checks an expression.
    pub fn check(&self, text: &str) -> Result<CheckedAst, Issues> {
        let source = Source::new(text);
        let ast = parser::parse_source(&source, self.options())?;
        checker::check(&source, ast, self)
    }

    /// Parses an expression without checking its types: names and overloads are found when it runs.
    /// Kubernetes always checks; this is for callers of the language itself.
    ///
    /// ```
    /// use kubewright_cel::{Env, Limits};
    ///
    /// let env = Env::standard();
    /// assert!(env.compile("1 + 'a'").is_err());
    /// let unchecked = env.parse_only("1 + 'a'")?;
    /// assert!(env.program(&unchecked).eval(&[], Limits::default()).outcome.is_err());
    /// # Ok::<(), kubewright_cel::Issues>(())
    /// ```
    pub fn parse_only(&self, text: &str) -> Result<CheckedAst, Issues> {
        let mut ast = parser::parse_source(&Source::new(text), self.options())?;
        checker::resolve_names(&mut ast.root, self, &mut Vec::new());
        Ok(CheckedAst {
            ast,
            types: Vec::new(),
            references: Vec::new(),
            implementations: self.implementations(),
            patterns: Vec::new(),
        })
    }

    /// Parses, checks and compiles an expression.
    pub fn compile(&self, text: &str) -> Result<Program, Issues> {
        Ok(eval::compile(&self.check(text)?))
    }

    /// Estimates what a checked expression costs, with the sizes that the declaration of `self` allows.
    pub fn estimate(&self, checked: &CheckedAst, root: Option<&Decl>) -> Range {
        estimate::estimate(checked, root)
    }

    /// Compiles an expression that was checked.
    pub fn program(&self, checked: &CheckedAst) -> Program {
        eval::compile(checked)
    }
}
