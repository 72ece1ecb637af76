#![doc = include_str!("../ARCHITECTURE.md")]
#![allow(
    clippy::similar_names,
    reason = "`list` and `last`, `text` and `test` are the words of the subject"
)]

pub mod ast;
mod checker;
mod decl;
mod env;
mod error;
mod estimate;
mod eval;
mod functions;
mod lexer;
mod library;
pub mod limits;
mod macros;
mod parser;
pub mod rules;
mod source;
mod syntax;
mod types;
mod unescape;
mod value;

pub use checker::{CheckedAst, Reference};
pub use decl::{Decl, DeclKind, ListKind, escape, unescape};
pub use env::Env;
pub use error::{ErrorKind, EvalError};
pub use estimate::Range;
pub use eval::{Evaluation, Limits, Program};
pub use library::Opaque;
pub use library::time::Timestamp;
pub use parser::{ParseOptions, parse};
pub use source::{Issue, Issues, Position, Source};
pub use types::{ObjectType, Type};
pub use value::{Key, List, Map, Outcome, Text, Value};

impl Env {
    /// Parses and checks an expression.
    pub fn check(&self, text: &str) -> Result<CheckedAst, Issues> {
        let source = Source::new(text);
        let ast = parser::parse_source(&source, self.options())?;
        checker::check(&source, ast, self)
    }

    /// Parses an expression without checking its types: names and overloads are found when it runs.
    /// Kubernetes always checks; this is for callers of the language itself.
    pub fn parse_only(&self, text: &str) -> Result<CheckedAst, Issues> {
        let ast = parser::parse_source(&Source::new(text), self.options())?;
        Ok(CheckedAst {
            ast,
            types: Vec::new(),
            references: Vec::new(),
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
