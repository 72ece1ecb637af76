//! `'%d of %s'.format([a, b])`: clauses and arguments that are both written out must fit each other.

use kubewright_apimachinery::go::quote;

use crate::ast::{Expr, ExprKind, Literal};
use crate::checker::CheckedAst;
use crate::types::Type;

/// What is wrong with a call of `format`, and the node that the message is about; `None` for every other node.
pub(super) fn mistake(checked: &CheckedAst, expr: &Expr) -> Option<(u32, String)> {
    let ExprKind::Call {
        target: Some(target),
        function,
        args,
    } = &expr.kind
    else {
        return None;
    };
    let (ExprKind::Literal(Literal::String(pattern)), [args]) = (&target.kind, args.as_slice()) else {
        return None;
    };
    let ExprKind::List { elements, .. } = &args.kind else {
        return None;
    };
    if function != "format" {
        return None;
    }
    let mut found = Vec::new();
    let unreadable = clauses(pattern, elements.len(), &mut found).err();
    let clauses = found;
    for (clause, arg) in clauses.iter().zip(elements) {
        if let Some((id, message)) = unfit(checked, *clause, arg) {
            return Some((id, format!("error during formatting: {message}")));
        }
    }
    if let Some(message) = unreadable {
        return Some((expr.id, message));
    }
    (elements.len() > clauses.len()).then(|| {
        let (expected, got) = (clauses.len(), elements.len());
        let message = format!("too many arguments supplied to string.format (expected {expected}, got {got})");
        (expr.id, message)
    })
}

/// Finds the letters of the clauses, as far as they can be read and there are arguments for them.
fn clauses(pattern: &str, args: usize, found: &mut Vec<char>) -> Result<(), String> {
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' || chars.next_if_eq(&'%').is_some() {
            continue;
        }
        if chars.peek().is_none() {
            return Err("unexpected end of string".to_owned());
        }
        if found.len() >= args {
            return Err(format!("index {} out of range", found.len()));
        }
        let precision = |why: &str| {
            Err(format!(
                "could not parse formatting clause: error while parsing precision: {why}"
            ))
        };
        if chars.next_if_eq(&'.').is_some() {
            let mut digits = String::new();
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            if chars.peek().is_none() {
                return precision("could not find end of precision specifier");
            }
            if digits.parse::<i64>().is_err() {
                let why = if digits.is_empty() {
                    "invalid syntax"
                } else {
                    "value out of range"
                };
                return precision(&format!(
                    "error while converting precision to integer: strconv.Atoi: parsing {}: {why}",
                    quote(&digits)
                ));
            }
        }
        match chars.next() {
            Some(clause @ ('s' | 'd' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o')) => found.push(clause),
            other => {
                let other = other.unwrap_or_default();
                return Err(format!(
                    "could not parse formatting clause: unrecognized formatting clause \"{other}\""
                ));
            }
        }
    }
    Ok(())
}

fn unfit(checked: &CheckedAst, clause: char, arg: &Expr) -> Option<(u32, String)> {
    let ty = checked.type_of(arg.id);
    let plain = ty.unwrapped();
    let (fits, message) = match clause {
        's' => return unfit_text(checked, arg),
        'd' => (
            matches!(plain, Type::Int | Type::Uint),
            "decimal clause can only be used on integers",
        ),
        'f' => (
            matches!(plain, Type::Double | Type::String),
            "fixed-point clause can only be used on doubles",
        ),
        'e' => (
            matches!(plain, Type::Double | Type::String),
            "scientific clause can only be used on doubles",
        ),
        'b' => (
            matches!(plain, Type::Int | Type::Uint | Type::Bool),
            "only integers and bools can be formatted as binary",
        ),
        'o' => (
            matches!(plain, Type::Int | Type::Uint),
            "octal clause can only be used on integers",
        ),
        _ => (
            matches!(plain, Type::Int | Type::Uint | Type::String | Type::Bytes),
            "only integers, byte buffers, and strings can be formatted as hex",
        ),
    };
    (!fits && !ty.is_dyn()).then(|| (arg.id, format!("{message}, was given {}", ty.runtime_name())))
}

/// Lists and maps that are written out are looked into.
fn unfit_text(checked: &CheckedAst, arg: &Expr) -> Option<(u32, String)> {
    let ty = checked.type_of(arg.id);
    if matches!(ty.unwrapped(), Type::Opaque(..) | Type::Object(_)) {
        let message = "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, \
                       durations, and timestamps";
        return Some((arg.id, format!("{message}, was given {}", ty.runtime_name())));
    }
    match &arg.kind {
        ExprKind::List { elements, .. } => elements.iter().find_map(|element| unfit_text(checked, element)),
        ExprKind::Map(entries) => entries
            .iter()
            .find_map(|entry| unfit_text(checked, &entry.key).or_else(|| unfit_text(checked, &entry.value))),
        _ => None,
    }
}
