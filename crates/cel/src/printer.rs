//! An expression as text again, the way cel-go prints it.
//! Where cel-go's text does not parse back to the same tree (signs before signs, large doubles), the text differs.

use std::fmt;

use kubewright_apimachinery::go::{float, quote};

use crate::ast::{Ast, Entry, Expr, ExprKind, Literal, op};
use crate::names::is_identifier;

/// Why an expression cannot be printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrintError {
    /// A macro was expanded and its call was not kept; parse with `keep_macro_calls`.
    Macro {
        /// The node the macro became.
        id: u32,
    },
}

impl fmt::Display for PrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrintError::Macro { id } => write!(f, "node {id} was a macro: parse with keep_macro_calls to print it"),
        }
    }
}

impl std::error::Error for PrintError {}

/// Prints an expression that was parsed with [`keep_macro_calls`](crate::ParseOptions::keep_macro_calls).
///
/// ```
/// use kubewright_cel::{ParseOptions, parse, print};
///
/// let options = ParseOptions { keep_macro_calls: true, ..ParseOptions::KUBERNETES };
/// let ast = parse("self.ports.all(p,(p.min)<=p.max)&&(1+2)*3==9", options)?;
/// assert_eq!(print(&ast).unwrap(), "self.ports.all(p, p.min <= p.max) && (1 + 2) * 3 == 9");
/// # Ok::<(), kubewright_cel::Issues>(())
/// ```
pub fn print(ast: &Ast) -> Result<String, PrintError> {
    let mut printer = Printer {
        ast,
        out: String::new(),
        line_start: 0,
    };
    printer.expr(&ast.root)?;
    Ok(printer.out)
}

/// A line with `&&` or `||` is broken behind it from this column on.
const WRAP_COLUMN: usize = 80;

struct Printer<'a> {
    ast: &'a Ast,
    out: String,
    /// Where the current line was broken.
    line_start: usize,
}

type Printed = Result<(), PrintError>;

impl<'a> Printer<'a> {
    fn expr(&mut self, expr: &'a Expr) -> Printed {
        // Parentheses go by what a macro became, its text by how it was called.
        let expr = self.ast.macro_call(expr.id).unwrap_or(expr);
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Ident(name) => self.out.push_str(name),
            ExprKind::Select {
                operand,
                field,
                test_only,
            } => {
                if *test_only {
                    self.out.push_str("has(");
                }
                self.select(operand, ".", field)?;
                if *test_only {
                    self.out.push(')');
                }
            }
            ExprKind::Call { target, function, args } => self.call(target.as_deref(), function, args)?,
            ExprKind::List { elements, optionals } => {
                self.out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    self.separate(at);
                    if optionals.contains(&at) {
                        self.out.push('?');
                    }
                    self.expr(element)?;
                }
                self.out.push(']');
            }
            ExprKind::Map(entries) => self.entries(entries, false)?,
            ExprKind::Struct { name, fields } => {
                self.out.push_str(name);
                self.entries(fields, true)?;
            }
            ExprKind::Comprehension(_) => return Err(PrintError::Macro { id: expr.id }),
        }
        Ok(())
    }

    fn separate(&mut self, at: usize) {
        if at > 0 {
            self.out.push_str(", ");
        }
    }

    fn entries(&mut self, entries: &'a [Entry], message: bool) -> Printed {
        self.out.push('{');
        for (at, entry) in entries.iter().enumerate() {
            self.separate(at);
            if entry.optional {
                self.out.push('?');
            }
            match &entry.key.kind {
                ExprKind::Literal(Literal::String(field)) if message => self.field(field),
                _ => self.expr(&entry.key)?,
            }
            self.out.push_str(": ");
            self.expr(&entry.value)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn field(&mut self, field: &str) {
        if is_identifier(field) && field != "in" {
            self.out.push_str(field);
        } else {
            self.out.push('`');
            self.out.push_str(field);
            self.out.push('`');
        }
    }

    fn select(&mut self, operand: &'a Expr, dot: &str, field: &str) -> Printed {
        self.operand(operand)?;
        self.out.push_str(dot);
        self.field(field);
        Ok(())
    }

    fn nested(&mut self, expr: &'a Expr, parentheses: bool) -> Printed {
        if parentheses {
            self.out.push('(');
        }
        self.expr(expr)?;
        if parentheses {
            self.out.push(')');
        }
        Ok(())
    }

    /// What a field, an index or a method belongs to; operators bind weaker than those.
    fn operand(&mut self, expr: &'a Expr) -> Printed {
        let parentheses = operator(expr).is_some_and(|operator| operator.level >= UNARY);
        self.nested(expr, parentheses)
    }

    fn call(&mut self, target: Option<&'a Expr>, function: &str, args: &'a [Expr]) -> Printed {
        match (target, function, args) {
            (None, op::CONDITIONAL, [condition, then, otherwise]) => {
                self.nested(condition, is_complex(condition))?;
                self.out.push_str(" ? ");
                self.nested(then, is_complex(then))?;
                self.out.push_str(" : ");
                self.nested(otherwise, is_complex(otherwise))
            }
            (None, op::OPT_SELECT, [operand, field]) => match &field.kind {
                ExprKind::Literal(Literal::String(field)) => self.select(operand, ".?", field),
                _ => self.function(None, function, args),
            },
            (None, op::INDEX | op::OPT_INDEX, [operand, index]) => {
                self.operand(operand)?;
                self.out.push_str(if function == op::INDEX { "[" } else { "[?" });
                self.expr(index)?;
                self.out.push(']');
                Ok(())
            }
            (None, op::NOT | op::NEGATE, [operand]) => {
                self.out.push(if function == op::NOT { '!' } else { '-' });
                self.nested(operand, is_complex(operand) || is_signed(function, operand))
            }
            (None, _, [left, right]) => match binary(function) {
                Some(operator) => self.binary(operator, left, right),
                None => self.function(None, function, args),
            },
            _ => self.function(target, function, args),
        }
    }

    fn binary(&mut self, own: Operator, left: &'a Expr, right: &'a Expr) -> Printed {
        let level = |expr: &'a Expr| operator(expr).map_or(0, |operator| operator.level);
        let left_nested = level(left) > own.level;
        // Logic may be regrouped, everything else is read from the left.
        let right_nested = level(right) > own.level || (level(right) == own.level && !own.is_logic());
        self.nested(left, left_nested)?;
        self.out.push(' ');
        if own.is_logic() && self.out.len() - 1 - self.line_start + own.name.len() >= WRAP_COLUMN {
            self.line_start = self.out.len() - 1;
            self.out.push_str(own.symbol);
            self.out.push('\n');
        } else {
            self.out.push_str(own.symbol);
            self.out.push(' ');
        }
        self.nested(right, right_nested)
    }

    fn function(&mut self, target: Option<&'a Expr>, function: &str, args: &'a [Expr]) -> Printed {
        if let Some(target) = target {
            self.operand(target)?;
            self.out.push('.');
        }
        self.out.push_str(function);
        self.out.push('(');
        for (at, arg) in args.iter().enumerate() {
            self.separate(at);
            self.expr(arg)?;
        }
        self.out.push(')');
        Ok(())
    }

    fn literal(&mut self, literal: &Literal) {
        use fmt::Write as _;
        // Writing to a string does not fail.
        let _ = match literal {
            Literal::Null => self.out.write_str("null"),
            Literal::Bool(value) => write!(self.out, "{value}"),
            Literal::Int(value) => write!(self.out, "{value}"),
            Literal::Uint(value) => write!(self.out, "{value}u"),
            Literal::Double(value) => {
                let text = float::general(*value);
                let point = if text.contains(['.', 'e']) { "" } else { ".0" };
                write!(self.out, "{text}{point}")
            }
            Literal::String(text) => self.out.write_str(&quote(text)),
            Literal::Bytes(bytes) => {
                self.out.push_str("b\"");
                for byte in bytes {
                    let _ = write!(self.out, "\\{byte:03o}");
                }
                self.out.write_char('"')
            }
        };
    }
}

/// How strongly an operator binds; larger is weaker.
#[derive(Clone, Copy)]
struct Operator {
    name: &'static str,
    symbol: &'static str,
    level: u8,
}

const UNARY: u8 = 2;
const CONDITIONAL: u8 = 8;

const BINARY: [Operator; 14] = [
    Operator::new("_*_", "*", 3),
    Operator::new("_/_", "/", 3),
    Operator::new("_%_", "%", 3),
    Operator::new(op::ADD, "+", 4),
    Operator::new("_-_", "-", 4),
    Operator::new("_<_", "<", 5),
    Operator::new("_<=_", "<=", 5),
    Operator::new("_>_", ">", 5),
    Operator::new("_>=_", ">=", 5),
    Operator::new(op::EQUALS, "==", 5),
    Operator::new(op::NOT_EQUALS, "!=", 5),
    Operator::new(op::IN, "in", 5),
    Operator::new(op::AND, "&&", 6),
    Operator::new(op::OR, "||", 7),
];

impl Operator {
    const fn new(name: &'static str, symbol: &'static str, level: u8) -> Self {
        Self { name, symbol, level }
    }

    fn is_logic(self) -> bool {
        matches!(self.name, op::AND | op::OR)
    }
}

fn binary(function: &str) -> Option<Operator> {
    BINARY.into_iter().find(|operator| operator.name == function)
}

/// The operator a node is, if it is one.
fn operator(expr: &Expr) -> Option<Operator> {
    let ExprKind::Call {
        target: None,
        function,
        args,
    } = &expr.kind
    else {
        return None;
    };
    match (function.as_str(), args.len()) {
        (op::CONDITIONAL, 3) => Some(Operator::new(op::CONDITIONAL, "?", CONDITIONAL)),
        (op::NOT | op::NEGATE, 1) => Some(Operator::new("", "", UNARY)),
        (name, 2) => binary(name),
        _ => None,
    }
}

/// A call of two or more arguments, which cel-go puts in parentheses after a sign and within a condition.
fn is_complex(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call { args, .. } if args.len() >= 2)
}

/// Whether a sign before it needs parentheses: the grammar has one sign at a time, two of the same are none, and one
/// before a number is the number's.
fn is_signed(sign: &str, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(literal) => sign == op::NEGATE && matches!(literal, Literal::Int(_) | Literal::Double(_)),
        // The first thing that is printed decides.
        ExprKind::Select {
            operand,
            test_only: false,
            ..
        } => is_signed(sign, operand),
        ExprKind::Call {
            target: Some(target), ..
        } => is_signed(sign, target),
        ExprKind::Call {
            target: None,
            function,
            args,
        } if args.len() == 2 => match function.as_str() {
            op::INDEX | op::OPT_INDEX | op::OPT_SELECT => args.first().is_some_and(|operand| is_signed(sign, operand)),
            _ => false,
        },
        _ => operator(expr).is_some_and(|operator| operator.level == UNARY),
    }
}
