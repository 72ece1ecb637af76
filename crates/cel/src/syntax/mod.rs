//! Error messages for texts that are not expressions: those of cel-go's generated parser.
//! Its grammar is followed here with the same way to predict, to report and to recover, since users see
//! the result; this path is only taken once the parser proper has refused a text.

mod grammar;
mod predict;
mod recover;
mod shapes;

use crate::lexer::{LexError, Token};
use crate::parser::ParseOptions;
use crate::source::{Issue, Source};

/// The syntax errors of a text, in the order they are found.
pub(crate) fn errors(source: &Source, tokens: &[Token], lex_errors: &[LexError], options: ParseOptions) -> Vec<Issue> {
    let mut issues: Vec<Issue> = lex_errors
        .iter()
        .map(|error| {
            let text = source.slice(error.start, error.end);
            Issue {
                position: Some(source.position(error.start)),
                message: format!("Syntax error: token recognition error at: '{text}'"),
            }
        })
        .collect();
    issues.extend(recover::parse(source, tokens, lex_errors, options));
    issues
}
