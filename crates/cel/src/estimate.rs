//! What an expression costs at most, estimated before it runs: cel-go's model with Kubernetes' costs of its libraries.
//! Sizes come from constants, from the schema and from what is known about calls.

mod calls;

use std::collections::HashMap;

use crate::ast::{Comprehension, Expr, ExprKind, Literal};
use crate::checker::CheckedAst;
use crate::decl::{Decl, DeclKind};
use crate::eval::cost::{LIST, MAP, STRUCT};
use crate::names::{is_keyword, unescape};
use crate::types::Type;

/// A range of costs or sizes; arithmetic stops at the largest number instead of overflowing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
}

impl Range {
    const UNKNOWN: Range = Range { min: 0, max: u64::MAX };
    const ZERO: Range = Range { min: 0, max: 0 };

    const fn fixed(value: u64) -> Range {
        Range { min: value, max: value }
    }

    fn add(self, other: Range) -> Range {
        Range {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    fn multiply(self, other: Range) -> Range {
        Range {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    fn scale(self, factor: f64) -> Range {
        // Casts of doubles saturate, so what is too large becomes the largest number.
        let scale = |value: u64| (value as f64 * factor).ceil() as u64;
        Range {
            min: scale(self.min),
            max: scale(self.max),
        }
    }

    fn union(self, other: Range) -> Range {
        Range {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// Estimates the cost of a checked expression; `roots` are the declarations of its variables.
pub(crate) fn estimate(checked: &CheckedAst, root: Option<&Decl>) -> Range {
    let mut estimator = Estimator {
        checked,
        root,
        paths: HashMap::new(),
        sizes: HashMap::new(),
        entries: HashMap::new(),
        locals: Vec::new(),
    };
    estimator.cost(&checked.ast.root)
}

/// One step from a variable to a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathElement {
    Variable(String),
    Field(String),
    Items,
    Keys,
    Values,
    Indices,
}

/// The sizes of the keys and values of a list or map.
#[derive(Debug, Clone, Copy)]
struct EntrySize {
    list: bool,
    key: Range,
    value: Range,
}

impl EntrySize {
    fn union(first: Option<EntrySize>, second: Option<EntrySize>) -> Option<EntrySize> {
        let (first, second) = (first?, second?);
        Some(EntrySize {
            list: first.list,
            key: first.key.union(second.key),
            value: first.value.union(second.value),
        })
    }
}

struct Local {
    name: String,
    path: Vec<PathElement>,
    size: Option<Range>,
    entry: Option<EntrySize>,
}

struct Estimator<'c> {
    checked: &'c CheckedAst,
    root: Option<&'c Decl>,
    paths: HashMap<u32, Vec<PathElement>>,
    sizes: HashMap<u32, Range>,
    entries: HashMap<u32, EntrySize>,
    locals: Vec<Local>,
}

/// What is known about an argument when the cost of a call is estimated.
struct Argument<'e> {
    expr: Option<&'e Expr>,
    path: Vec<PathElement>,
    ty: Type,
    size: Option<Range>,
}

impl Estimator<'_> {
    fn cost(&mut self, expr: &Expr) -> Range {
        match &expr.kind {
            ExprKind::Literal(_) => Range::ZERO,
            ExprKind::Ident(name) => {
                let path = match self.local(name) {
                    Some(local) => local.path.clone(),
                    None => vec![PathElement::Variable(name.clone())],
                };
                self.paths.insert(expr.id, path);
                Range::fixed(1)
            }
            ExprKind::Select {
                operand,
                field,
                test_only,
            } => {
                let cost = self.cost(operand);
                if *test_only {
                    return cost;
                }
                let mut path = self.path(operand);
                path.push(PathElement::Field(field.clone()));
                self.paths.insert(expr.id, path);
                match self.checked.type_of(operand.id) {
                    Type::Map(_) | Type::Object(_) | Type::Var(_) => cost.add(Range::fixed(1)),
                    _ => cost,
                }
            }
            ExprKind::Call { target, function, args } => self.call(expr, target.as_deref(), function, args),
            ExprKind::List { elements, .. } => {
                let mut sum = Range::ZERO;
                let mut size = Range {
                    min: if elements.is_empty() { 0 } else { u64::MAX },
                    max: 0,
                };
                for element in elements {
                    sum = sum.add(self.cost(element));
                    size = size.union(self.size_or_unknown(element));
                }
                self.entries.insert(
                    expr.id,
                    EntrySize {
                        list: true,
                        key: Range::fixed(1),
                        value: size,
                    },
                );
                sum.add(Range::fixed(LIST))
            }
            ExprKind::Map(entries) => {
                let mut sum = Range::ZERO;
                let empty = Range {
                    min: if entries.is_empty() { 0 } else { u64::MAX },
                    max: 0,
                };
                let (mut key, mut value) = (empty, empty);
                for entry in entries {
                    sum = sum.add(self.cost(&entry.key)).add(self.cost(&entry.value));
                    key = key.union(self.size_or_unknown(&entry.key));
                    value = value.union(self.size_or_unknown(&entry.value));
                }
                self.entries.insert(
                    expr.id,
                    EntrySize {
                        list: false,
                        key,
                        value,
                    },
                );
                sum.add(Range::fixed(MAP))
            }
            ExprKind::Struct { fields, .. } => {
                let parts = fields.iter().map(|field| self.cost(&field.value));
                parts.fold(Range::ZERO, Range::add).add(Range::fixed(STRUCT))
            }
            ExprKind::Comprehension(fold) if is_binding(fold) => self.binding(expr, fold),
            ExprKind::Comprehension(fold) => self.comprehension(expr, fold),
        }
    }

    fn binding(&mut self, expr: &Expr, fold: &Comprehension) -> Range {
        let sum = self.cost(&fold.range).add(self.cost(&fold.init));
        self.push_value(&fold.accu, &fold.init);
        let sum = sum.add(self.cost(&fold.result));
        let size = self.size(&fold.result);
        let entry = self.entry(&fold.result);
        self.locals.pop();
        self.remember(expr.id, size, entry);
        sum
    }

    fn comprehension(&mut self, expr: &Expr, fold: &Comprehension) -> Range {
        let mut sum = self.cost(&fold.range).add(self.cost(&fold.init));
        self.push_value(&fold.accu, &fold.init);
        let depth = self.locals.len();
        let entry = self.entry(&fold.range);
        let is_list = match entry {
            Some(entry) => entry.list,
            None => matches!(self.checked.type_of(fold.range.id), Type::List(_)),
        };
        let path = self.path(&fold.range);
        let mut push = |name: &str, step: PathElement, size: Option<Range>| {
            let mut path = path.clone();
            path.push(step);
            self.locals.push(Local {
                name: name.to_owned(),
                path,
                size,
                entry: None,
            });
        };
        let (key, value) = (entry.map(|entry| entry.key), entry.map(|entry| entry.value));
        match &fold.var2 {
            Some(var2) => {
                push(
                    &fold.var,
                    if is_list {
                        PathElement::Indices
                    } else {
                        PathElement::Keys
                    },
                    key,
                );
                push(
                    var2,
                    if is_list {
                        PathElement::Items
                    } else {
                        PathElement::Values
                    },
                    value,
                );
            }
            None if is_list => push(&fold.var, PathElement::Items, value),
            None => push(&fold.var, PathElement::Keys, key),
        }
        let condition = self.cost(&fold.condition);
        let step = self.cost(&fold.step);
        let step_entry = self.entry(&fold.step);
        self.locals.truncate(depth);
        sum = sum.add(self.cost(&fold.result));
        self.locals.truncate(depth - 1);
        let count = self.size_or_unknown(&fold.range);
        sum = sum.add(count.multiply(step.add(condition)));
        match &fold.init.kind {
            ExprKind::Literal(_) => {
                let size = self.size(&fold.init);
                self.remember(expr.id, size, None);
            }
            ExprKind::List { .. } | ExprKind::Map(_) => self.remember(expr.id, Some(count), step_entry),
            _ => {}
        }
        sum
    }

    fn remember(&mut self, id: u32, size: Option<Range>, entry: Option<EntrySize>) {
        if let Some(size) = size {
            self.sizes.insert(id, size);
        }
        if let Some(entry) = entry {
            self.entries.insert(id, entry);
        }
    }

    fn push_value(&mut self, name: &str, value: &Expr) {
        let path = self.path(value);
        let size = self.size(value);
        let entry = self.entry(value);
        self.locals.push(Local {
            name: name.to_owned(),
            path,
            size,
            entry,
        });
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| local.name == name)
    }

    fn path(&self, expr: &Expr) -> Vec<PathElement> {
        if let ExprKind::Ident(name) = &expr.kind
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(&expr.id).cloned().unwrap_or_default()
    }

    fn size_or_unknown(&mut self, expr: &Expr) -> Range {
        self.size(expr).unwrap_or(Range::UNKNOWN)
    }

    fn size(&mut self, expr: &Expr) -> Option<Range> {
        if let Some(size) = self.sizes.get(&expr.id) {
            return Some(*size);
        }
        if let Some(size) = written_size(expr) {
            return Some(size);
        }
        if let Some(size) = self.declared_size(&self.path(expr)) {
            self.sizes.insert(expr.id, size);
            return Some(size);
        }
        if is_scalar(self.checked.type_of(expr.id)) {
            return Some(Range::fixed(1));
        }
        match &expr.kind {
            ExprKind::Ident(name) => self.local(name)?.size,
            _ => None,
        }
    }

    fn entry(&self, expr: &Expr) -> Option<EntrySize> {
        if let Some(entry) = self.entries.get(&expr.id) {
            return Some(*entry);
        }
        match &expr.kind {
            ExprKind::Ident(name) => self.local(name)?.entry,
            _ => None,
        }
    }

    /// The size the schema allows at the end of a path. Whatever the path starts with, upstream reads it as `self`.
    fn declared_size(&self, path: &[PathElement]) -> Option<Range> {
        let (_, steps) = path.split_first()?;
        let mut decl = self.root?;
        for (at, step) in steps.iter().enumerate() {
            decl = match step {
                PathElement::Items | PathElement::Values => decl.element().filter(|element| element.visible)?,
                PathElement::Keys if matches!(decl.kind, DeclKind::Map(_)) => {
                    // Keys are plain strings without a limit; nothing is declared below them.
                    return (at + 1 == steps.len()).then_some(Range::ZERO);
                }
                // Upstream finds no size for a keyword that was not escaped.
                PathElement::Field(name) if is_keyword(name) => return None,
                PathElement::Field(name) => decl.property(&unescape(name)?).filter(|property| property.visible)?,
                PathElement::Keys | PathElement::Indices | PathElement::Variable(_) => return None,
            };
        }
        Some(Range {
            min: 0,
            max: decl.max_elements.max(0) as u64,
        })
    }
}

fn is_binding(fold: &Comprehension) -> bool {
    matches!(&fold.range.kind, ExprKind::List { elements, .. } if elements.is_empty())
        && matches!(fold.condition.kind, ExprKind::Literal(Literal::Bool(false)))
}

fn is_scalar(ty: &Type) -> bool {
    match ty {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        _ => ty.unwrap_optional().is_some_and(is_scalar),
    }
}

/// The size that is plain from the text.
fn written_size(expr: &Expr) -> Option<Range> {
    Some(Range::fixed(match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => text.chars().count() as u64,
        ExprKind::Literal(Literal::Bytes(bytes)) => bytes.len() as u64,
        ExprKind::Literal(_) => 1,
        ExprKind::List { elements, .. } => elements.len() as u64,
        ExprKind::Map(entries) => entries.len() as u64,
        _ => return None,
    }))
}
