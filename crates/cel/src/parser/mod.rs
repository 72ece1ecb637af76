//! Tokens to a tree, macros expanded on the way.
//! A text with a syntax error is handed to [`crate::syntax`], which words it as cel-go does.

mod literal;
mod operators;
mod primary;

use std::collections::BTreeMap;

use crate::ast::{Ast, Entry, Expr, ExprKind, Literal, op};
use crate::lexer::{self, Token, TokenKind};
use crate::macros::{self, Expansion};
use crate::source::{Issue, Issues, Source};
use crate::syntax;

pub(crate) use literal::{double_literal, int_literal, uint_literal};

/// The longest expression in code points.
const MAX_CODE_POINTS: usize = 100_000;
/// The most nodes a tree may have when macros copy parts of it; each `optMap` doubles its target.
const MAX_COPIED_NODES: usize = 200_000;
/// How deep one rule of the grammar may be nested in itself.
const MAX_NESTING: usize = 250;

/// Which syntax is understood beyond the standard.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent piece of syntax")]
pub struct ParseOptions {
    /// `a.?b`, `a[?b]`, `[?a]`, `{?a: b}` and the macros of optional values.
    pub optional_syntax: bool,
    /// `cel.bind`
    pub bindings: bool,
    /// `sortBy`
    pub sort_by: bool,
    /// Comprehensions with two variables.
    pub two_variables: bool,
    /// `math.greatest` and `math.least`
    pub math: bool,
    /// Fields written between backticks.
    pub escaped_identifiers: bool,
    /// `cel.block`, `cel.index`, `cel.iterVar` and `cel.accuVar`: how optimizers write parts that are used twice.
    pub blocks: bool,
    /// Keep the calls that were macros, so that [`print`](crate::print) can write them again.
    pub keep_macro_calls: bool,
}

impl ParseOptions {
    /// What Kubernetes 1.36 understands.
    pub const KUBERNETES: Self = Self {
        optional_syntax: true,
        bindings: false,
        sort_by: true,
        two_variables: true,
        math: false,
        escaped_identifiers: false,
        blocks: false,
        keep_macro_calls: false,
    };
    /// Everything this crate understands.
    pub const ALL: Self = Self {
        optional_syntax: true,
        bindings: true,
        sort_by: true,
        two_variables: true,
        math: true,
        escaped_identifiers: true,
        blocks: true,
        keep_macro_calls: false,
    };
}

/// Parses an expression and expands its macros.
///
/// ```
/// use kubewright_cel::{ParseOptions, parse, print};
///
/// let ast = parse("a.b+1   >2", ParseOptions::KUBERNETES).unwrap();
/// assert_eq!(print(&ast).unwrap(), "a.b + 1 > 2");
/// assert!(!ast.is_empty() && ast.len() > 3);
/// assert_eq!(ast.offset(ast.root.id), 8); // `>`
/// ```
pub fn parse(text: &str, options: ParseOptions) -> Result<Ast, Issues> {
    let source = Source::new(text);
    parse_source(&source, options)
}

pub(crate) fn parse_source(source: &Source, options: ParseOptions) -> Result<Ast, Issues> {
    if source.chars.len() > MAX_CODE_POINTS {
        let message = format!(
            "expression code point size exceeds limit: size: {}, limit {MAX_CODE_POINTS}",
            source.chars.len()
        );
        return Err(Issues::new(
            source,
            vec![Issue {
                position: None,
                message,
            }],
        ));
    }
    let (tokens, lex_errors) = lexer::tokens(source);
    let mut parser = Parser::new(source, &tokens, options);
    let parsed = if lex_errors.is_empty() {
        parser.start()
    } else {
        Err(ParseFailure::Syntax)
    };
    let issues = match parsed {
        Ok(root) if parser.issues.is_empty() && !parser.too_deep => {
            return Ok(Ast {
                root,
                offsets: parser.offsets,
                macro_calls: parser.macro_calls,
            });
        }
        Ok(_) if parser.too_deep => {
            vec![Issue {
                position: None,
                message: "max recursion depth exceeded".to_owned(),
            }]
        }
        Ok(_) => parser.issues,
        Err(failure) => {
            let mut issues = syntax::errors(source, &tokens, &lex_errors, options);
            if issues.is_empty() {
                issues.push(match failure {
                    ParseFailure::TooDeep => Issue {
                        position: None,
                        message: format!("expression recursion limit exceeded: {MAX_NESTING}"),
                    },
                    // Following the grammar exceeded the limit of work for one text.
                    ParseFailure::Syntax => Issue {
                        position: tokens.last().map(|end| source.position(end.start)),
                        message: "Syntax error: expression is too long to say where".to_owned(),
                    },
                });
            }
            issues
        }
    };
    Err(Issues::new(source, issues))
}

/// Why a text was not parsed.
enum ParseFailure {
    Syntax,
    TooDeep,
}

type Parsed<T> = Result<T, ParseFailure>;

/// How deep the rules of the grammar are nested at the moment.
#[derive(Default, Clone, Copy)]
struct Depth {
    expr: usize,
    relation: usize,
    calc: usize,
    member: usize,
}

pub(crate) struct Parser<'s> {
    source: &'s Source,
    pub(crate) options: ParseOptions,
    tokens: &'s [Token],
    at: usize,
    offsets: Vec<u32>,
    issues: Vec<Issue>,
    depth: Depth,
    /// How many operators, selections and method calls are nested below each node, by id.
    nested: Vec<u16>,
    /// Whether that is more than upstream can visit; the tree is cut there.
    too_deep: bool,
    macro_calls: BTreeMap<u32, Expr>,
}

impl<'s> Parser<'s> {
    pub(crate) fn new(source: &'s Source, tokens: &'s [Token], options: ParseOptions) -> Self {
        Self {
            source,
            options,
            tokens,
            at: 0,
            offsets: vec![0],
            issues: Vec::new(),
            depth: Depth::default(),
            nested: vec![0],
            too_deep: false,
            macro_calls: BTreeMap::new(),
        }
    }

    fn peek(&self) -> TokenKind {
        self.tokens[self.at].kind
    }

    fn peek_at(&self, ahead: usize) -> TokenKind {
        self.tokens
            .get(self.at + ahead)
            .map_or(TokenKind::Eof, |token| token.kind)
    }

    fn advance(&mut self) -> Token {
        let token = self.tokens[self.at];
        if token.kind != TokenKind::Eof {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, kind: TokenKind) -> Option<Token> {
        (self.peek() == kind).then(|| self.advance())
    }

    fn expect(&mut self, kind: TokenKind) -> Parsed<Token> {
        self.eat(kind).ok_or(ParseFailure::Syntax)
    }

    fn text(&self, token: Token) -> String {
        self.source.slice(token.start, token.end)
    }

    /// A new id whose place is `offset`.
    pub(crate) fn id_at(&mut self, offset: usize) -> u32 {
        self.offsets.push(offset as u32);
        self.nested.push(0);
        (self.offsets.len() - 1) as u32
    }

    /// Records how deep a node is: `own` more than the deepest of its parts.
    fn note_depth(&mut self, id: u32, own: u16, parts: u16) {
        let depth = own.saturating_add(parts);
        if usize::from(depth) > MAX_NESTING {
            self.too_deep = true;
        }
        if let Some(noted) = self.nested.get_mut(id as usize) {
            *noted = depth;
        }
    }

    fn depth_of<'e>(&self, parts: impl IntoIterator<Item = &'e Expr>) -> u16 {
        let depth = |part: &Expr| self.nested.get(part.id as usize).copied().unwrap_or(0);
        parts.into_iter().map(depth).max().unwrap_or(0)
    }

    /// Whether macros made the tree so large that nothing may be copied any more.
    pub(crate) fn is_full(&self) -> bool {
        self.offsets.len() > MAX_COPIED_NODES
    }

    pub(crate) fn offset_of(&self, id: u32) -> usize {
        self.offsets.get(id as usize).copied().unwrap_or(0) as usize
    }

    pub(crate) fn report(&mut self, offset: usize, message: impl Into<String>) {
        self.issues.push(Issue {
            position: Some(self.source.position(offset)),
            message: message.into(),
        });
    }

    /// A placeholder where parsing failed; only used when an issue was reported.
    fn placeholder(&mut self, offset: usize) -> Expr {
        let id = self.id_at(offset);
        Expr {
            id,
            kind: ExprKind::Literal(Literal::Null),
        }
    }

    fn start(&mut self) -> Parsed<Expr> {
        let root = self.expr()?;
        self.expect(TokenKind::Eof)?;
        Ok(root)
    }

    fn expr(&mut self) -> Parsed<Expr> {
        self.depth.expr += 1;
        if self.depth.expr > MAX_NESTING {
            return Err(ParseFailure::TooDeep);
        }
        let condition = self.operators()?;
        let result = match self.eat(TokenKind::Question) {
            None => condition,
            Some(question) => {
                let id = self.id_at(question.start);
                let then = self.operators()?;
                self.expect(TokenKind::Colon)?;
                let otherwise = self.expr()?;
                let parts = self.depth_of([&condition, &then, &otherwise]);
                self.note_depth(id, 0, parts);
                call(id, op::CONDITIONAL, vec![condition, then, otherwise])
            }
        };
        self.depth.expr -= 1;
        Ok(result)
    }

    fn check_depth(&self) -> Parsed<()> {
        let Depth {
            expr: _,
            relation,
            calc,
            member,
        } = self.depth;
        if relation.max(calc).max(member) > MAX_NESTING {
            Err(ParseFailure::TooDeep)
        } else {
            Ok(())
        }
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let operator = self.peek();
        // One minus before a number belongs to the number; more of them are operators.
        let signed = operator == TokenKind::Minus && matches!(self.peek_at(1), TokenKind::Int | TokenKind::Float);
        if signed || !matches!(operator, TokenKind::Exclam | TokenKind::Minus) {
            return self.member();
        }
        let first = self.advance();
        let mut count = 1;
        while self.eat(operator).is_some() {
            count += 1;
        }
        if count % 2 == 0 {
            return self.member();
        }
        let id = self.id_at(first.start);
        let operand = self.member()?;
        let parts = self.depth_of([&operand]);
        self.note_depth(id, 0, parts);
        let name = if operator == TokenKind::Exclam {
            op::NOT
        } else {
            op::NEGATE
        };
        Ok(call(id, name, vec![operand]))
    }

    fn member(&mut self) -> Parsed<Expr> {
        let before = self.depth;
        self.depth.member += 1;
        self.check_depth()?;
        let mut expr = self.primary()?;
        loop {
            match self.peek() {
                TokenKind::Dot => expr = self.selection(expr)?,
                TokenKind::LBracket => expr = self.index(expr)?,
                _ => break,
            }
            expr = self.cut(expr);
        }
        self.depth = before;
        Ok(expr)
    }

    fn selection(&mut self, operand: Expr) -> Parsed<Expr> {
        let dot = self.advance();
        let optional = self.eat(TokenKind::Question).is_some();
        let name = match self.peek() {
            TokenKind::Ident | TokenKind::EscIdent => self.advance(),
            _ => return Err(ParseFailure::Syntax),
        };
        if !optional && name.kind == TokenKind::Ident && self.peek() == TokenKind::LParen {
            let open = self.advance();
            let function = self.text(name);
            let id = self.id_at(open.start);
            let args = self.arguments()?;
            let parts = self.depth_of(args.iter().chain([&operand]));
            let call = self.call_or_macro(id, function, Some(operand), args);
            self.note_depth(call.id, 1, parts);
            return Ok(call);
        }
        let field = self.field_name(name);
        if optional {
            if !self.options.optional_syntax {
                self.report(dot.start, "unsupported syntax '.?'");
            }
            let id = self.id_at(dot.start);
            let field_id = self.id_at(name.start);
            let field = Expr {
                id: field_id,
                kind: ExprKind::Literal(Literal::String(field)),
            };
            let parts = self.depth_of([&operand]);
            self.note_depth(id, 1, parts);
            return Ok(call(id, op::OPT_SELECT, vec![operand, field]));
        }
        let id = self.id_at(dot.start);
        let parts = self.depth_of([&operand]);
        self.note_depth(id, 1, parts);
        Ok(Expr {
            id,
            kind: ExprKind::Select {
                operand: Box::new(operand),
                field,
                test_only: false,
            },
        })
    }

    fn field_name(&mut self, token: Token) -> String {
        let text = self.text(token);
        if token.kind == TokenKind::Ident {
            return text;
        }
        if !self.options.escaped_identifiers {
            self.report(token.start, "unsupported syntax: '`'");
        }
        text.trim_matches('`').to_owned()
    }

    fn index(&mut self, operand: Expr) -> Parsed<Expr> {
        let open = self.advance();
        let id = self.id_at(open.start);
        let optional = self.eat(TokenKind::Question).is_some();
        let index = self.expr()?;
        self.expect(TokenKind::RBracket)?;
        if optional && !self.options.optional_syntax {
            self.report(open.start, "unsupported syntax '[?'");
        }
        let parts = self.depth_of([&operand, &index]);
        self.note_depth(id, 1, parts);
        Ok(call(
            id,
            if optional { op::OPT_INDEX } else { op::INDEX },
            vec![operand, index],
        ))
    }

    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut args = Vec::new();
        if self.eat(TokenKind::RParen).is_some() {
            return Ok(args);
        }
        loop {
            args.push(self.expr()?);
            if self.eat(TokenKind::Comma).is_none() {
                break;
            }
        }
        self.expect(TokenKind::RParen)?;
        Ok(args)
    }

    fn call_or_macro(&mut self, id: u32, function: String, target: Option<Expr>, args: Vec<Expr>) -> Expr {
        let written = self.options.keep_macro_calls.then(|| {
            let part = |part: &Expr| written_part(part, &self.macro_calls);
            let target = target.as_ref().map(|target| Box::new(part(target)));
            let args = args.iter().map(part).collect();
            let function = function.clone();
            let kind = ExprKind::Call { target, function, args };
            Expr { id, kind }
        });
        match macros::expand(self, id, &function, target, args) {
            Expansion::Expanded(expr) => {
                if let Some(written) = written {
                    self.macro_calls.insert(expr.id, written);
                }
                expr
            }
            Expansion::Failed { offset, message } => {
                self.report(offset, message);
                self.placeholder(offset)
            }
            Expansion::NotAMacro(target, args) => Expr {
                id,
                kind: ExprKind::Call {
                    target: target.map(Box::new),
                    function,
                    args,
                },
            },
        }
    }
}

/// A copy of what was written, without what macros within it became: those are found by their ids.
fn written_part(expr: &Expr, macro_calls: &BTreeMap<u32, Expr>) -> Expr {
    let part = |part: &Expr| written_part(part, macro_calls);
    let entries = |entries: &[Entry]| -> Vec<Entry> {
        entries
            .iter()
            .map(|entry| Entry {
                id: entry.id,
                key: part(&entry.key),
                value: part(&entry.value),
                optional: entry.optional,
            })
            .collect()
    };
    let kind = match &expr.kind {
        _ if macro_calls.contains_key(&expr.id) => ExprKind::Literal(Literal::Null),
        ExprKind::Literal(_) | ExprKind::Ident(_) | ExprKind::Comprehension(_) => expr.kind.clone(),
        ExprKind::Select {
            operand,
            field,
            test_only,
        } => ExprKind::Select {
            operand: Box::new(part(operand)),
            field: field.clone(),
            test_only: *test_only,
        },
        ExprKind::Call { target, function, args } => ExprKind::Call {
            target: target.as_deref().map(|target| Box::new(part(target))),
            function: function.clone(),
            args: args.iter().map(part).collect(),
        },
        ExprKind::List { elements, optionals } => ExprKind::List {
            elements: elements.iter().map(part).collect(),
            optionals: optionals.clone(),
        },
        ExprKind::Map(written) => ExprKind::Map(entries(written)),
        ExprKind::Struct { name, fields } => ExprKind::Struct {
            name: name.clone(),
            fields: entries(fields),
        },
    };
    Expr { id: expr.id, kind }
}

pub(crate) fn call(id: u32, function: &str, args: Vec<Expr>) -> Expr {
    Expr {
        id,
        kind: ExprKind::Call {
            target: None,
            function: function.to_owned(),
            args,
        },
    }
}
