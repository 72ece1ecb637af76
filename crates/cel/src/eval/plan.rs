//! A checked tree to a program: names become slots, constants are folded, patterns compiled.

use std::sync::Arc;

use crate::ast::{Entry, Expr, ExprKind, Literal, op, qualified_name};
use crate::checker::{CheckedAst, Reference, type_name};
use crate::error::EvalError;
use crate::functions;
use crate::library;
use crate::names::unescape;
use crate::value::{Map, Outcome, Text, Value};
use crate::wellknown;

use super::fold::{Fold, FoldSlots};
use super::object::{FieldInit, ObjectLiteral};
use super::{Call, CallCost, Comparison, MatchesConstant, Node, Pattern, Program, Select};

pub(crate) fn plan(checked: &CheckedAst) -> Program {
    let mut planner = Planner {
        checked,
        scopes: Vec::new(),
        slots: 0,
        level: 0,
        depth: 0,
        variables: Vec::new(),
        reads: Vec::new(),
        defect: None,
    };
    let root = planner.node(&checked.ast.root);
    Program {
        root,
        slots: planner.slots,
        depth: planner.depth,
        variables: planner.variables,
        output: checked.output_type().clone(),
        defect: planner.defect,
    }
}

struct Planner<'c> {
    checked: &'c CheckedAst,
    scopes: Vec<(String, usize)>,
    slots: usize,
    /// How deep the node is that is being planned, and how deep the deepest was.
    level: usize,
    depth: usize,
    variables: Vec<String>,
    /// The slots that were read so far, in order.
    reads: Vec<usize>,
    defect: Option<EvalError>,
}

impl Planner<'_> {
    fn node(&mut self, expr: &Expr) -> Node {
        self.level += 1;
        self.depth = self.depth.max(self.level);
        let node = self.planned(expr);
        self.level -= 1;
        node
    }

    fn planned(&mut self, expr: &Expr) -> Node {
        match &expr.kind {
            ExprKind::Literal(literal) => Node::Const(constant(literal)),
            ExprKind::Ident(name) => self.name(expr.id, name),
            ExprKind::Select {
                operand,
                field,
                test_only,
            } => {
                let select = Box::new(self.select(operand, field));
                if *test_only {
                    Node::Has(select)
                } else {
                    Node::Select(select)
                }
            }
            ExprKind::Call { target, function, args } => self.call(expr.id, target.as_deref(), function, args),
            ExprKind::List { elements, optionals } => {
                let elements: Vec<(Node, bool)> = elements
                    .iter()
                    .enumerate()
                    .map(|(index, element)| (self.node(element), optionals.contains(&index)))
                    .collect();
                fold_list(elements)
            }
            ExprKind::Map(entries) => {
                let entries = entries
                    .iter()
                    .map(|entry| (self.node(&entry.key), self.node(&entry.value), entry.optional));
                fold_map(entries.collect())
            }
            ExprKind::Struct { name, fields } => self.object(name, fields),
            ExprKind::Comprehension(fold) => {
                let range = self.node(&fold.range);
                let init = self.node(&fold.init);
                let outer = self.scopes.len();
                let accu = self.slot(&fold.accu);
                let inner = self.scopes.len();
                let var = self.slot(&fold.var);
                let var2 = fold.var2.as_ref().map(|name| self.slot(name));
                let condition = self.node(&fold.condition);
                let step = self.node(&fold.step);
                self.scopes.truncate(inner);
                let reads = self.reads.len();
                let result = self.node(&fold.result);
                let used = self.reads[reads..].contains(&accu);
                self.scopes.truncate(outer);
                let binding = matches!(&fold.range.kind, ExprKind::List { elements, .. } if elements.is_empty())
                    && matches!(condition, Node::Const(Value::Bool(false)));
                let slots = FoldSlots { var, var2, accu };
                Node::Fold(Box::new(Fold {
                    range,
                    slots,
                    init,
                    condition,
                    step,
                    result,
                    binding,
                    used,
                }))
            }
        }
    }

    fn object(&mut self, name: &str, fields: &[Entry]) -> Node {
        let fields = fields.iter().filter_map(|entry| {
            let ExprKind::Literal(Literal::String(name)) = &entry.key.kind else {
                return None;
            };
            Some(FieldInit {
                name: name.as_str().into(),
                value: self.node(&entry.value),
                optional: entry.optional,
            })
        });
        let fields = fields.collect();
        let type_name = name.strip_prefix('.').unwrap_or(name).into();
        Node::Object(Box::new(ObjectLiteral { type_name, fields }))
    }

    fn slot(&mut self, name: &str) -> usize {
        self.scopes.push((name.to_owned(), self.slots));
        self.slots += 1;
        self.slots - 1
    }

    fn name(&mut self, id: u32, name: &str) -> Node {
        if let Some((_, slot)) = self.scopes.iter().rev().find(|(scoped, _)| scoped == name) {
            let slot = *slot;
            self.reads.push(slot);
            return Node::Local(slot);
        }
        if let Some(Reference::TypeName(ty)) = self.checked.reference(id) {
            if wellknown::well_known_type(name).is_some_and(|message| !message.is_runtime_type()) {
                let error = EvalError::new(format!("reference to undefined type: {name}"));
                self.defect = self.defect.take().or(Some(error));
            }
            return Node::Const(Value::Type(Arc::new(ty.clone())));
        }
        if self.checked.reference(id).is_none()
            && let Some(ty) = type_name(name)
        {
            return Node::Const(Value::Type(Arc::new(ty)));
        }
        let number = self
            .variables
            .iter()
            .position(|variable| variable == name)
            .unwrap_or_else(|| {
                self.variables.push(name.to_owned());
                self.variables.len() - 1
            });
        Node::Variable(number)
    }

    fn select(&mut self, operand: &Expr, field: &str) -> Select {
        Select {
            operand: self.node(operand),
            field: field.into(),
            unescaped: unescape(field).map(String::into_boxed_str),
        }
    }

    fn pair(&mut self, args: &[Expr]) -> Option<Box<[Node; 2]>> {
        let [left, right] = args else { return None };
        Some(Box::new([self.node(left), self.node(right)]))
    }

    fn call(&mut self, id: u32, target: Option<&Expr>, function: &str, args: &[Expr]) -> Node {
        // An expression that was not checked still has the namespace of a function as its receiver.
        if let Some(prefix) = target.and_then(qualified_name)
            && let Some(found) = functions::lookup(&format!("{prefix}.{function}"))
        {
            return self.call(id, None, &found.name, args);
        }
        self.operator(target, function, args)
            .unwrap_or_else(|| self.function(id, target, function, args))
    }

    /// The calls that are not plain functions of their arguments.
    fn operator(&mut self, target: Option<&Expr>, function: &str, args: &[Expr]) -> Option<Node> {
        Some(match (function, target, args) {
            (op::AND, None, args) => Node::And(self.pair(args)?),
            (op::OR, None, args) => Node::Or(self.pair(args)?),
            (op::CONDITIONAL, None, [condition, then, otherwise]) => {
                Node::Conditional(Box::new([self.node(condition), self.node(then), self.node(otherwise)]))
            }
            (op::NOT_STRICTLY_FALSE, None, [arg]) => Node::NotStrictlyFalse(Box::new(self.node(arg))),
            (op::OPT_SELECT, None, [operand, field]) => {
                let ExprKind::Literal(Literal::String(field)) = &field.kind else {
                    return None;
                };
                Node::OptSelect(Box::new(self.select(operand, field)))
            }
            (op::INDEX | op::OPT_INDEX, None, [operand, index]) => {
                let operand = Box::new(self.node(operand));
                let index = Box::new(self.node(index));
                if let Node::Const(value) = &*index
                    && is_never_an_index(value)
                {
                    let error = EvalError::new(format!("invalid qualifier type: {}", value.go_type()));
                    self.defect = self.defect.take().or(Some(error));
                }
                Node::Index {
                    operand,
                    index,
                    optional: function == op::OPT_INDEX,
                }
            }
            ("or" | "orValue", Some(target), [arg]) => {
                let parts = Box::new([self.node(target), self.node(arg)]);
                Node::OptOr {
                    parts,
                    unwrap: function == "orValue",
                }
            }
            (op::ADD, None, [left, right]) => self.append(left, right)?,
            ("matches", target, args) => {
                let ((Some(text), [pattern]) | (None, [text, pattern])) = (target, args) else {
                    return None;
                };
                let ExprKind::Literal(Literal::String(source)) = &pattern.kind else {
                    return None;
                };
                Node::Matches(Box::new(MatchesConstant {
                    text: self.node(text),
                    pattern: Pattern::new(source, self.checked.pattern(pattern.id)),
                    pattern_size: source.chars().count() as u64,
                }))
            }
            (_, None, args) => {
                let comparison = match function {
                    op::EQUALS => Comparison::Equal,
                    op::NOT_EQUALS => Comparison::NotEqual,
                    "_<_" => Comparison::Less,
                    "_<=_" => Comparison::LessEqual,
                    "_>_" => Comparison::Greater,
                    "_>=_" => Comparison::GreaterEqual,
                    _ => return None,
                };
                Node::Compare(comparison, self.pair(args)?)
            }
            _ => return None,
        })
    }

    /// `accu + [element]` of a loop.
    fn append(&mut self, left: &Expr, right: &Expr) -> Option<Node> {
        let ExprKind::Ident(name) = &left.kind else { return None };
        let ExprKind::List { elements, optionals } = &right.kind else {
            return None;
        };
        let ([element], true, true) = (elements.as_slice(), optionals.is_empty(), name == op::ACCUMULATOR) else {
            return None;
        };
        let (_, slot) = *self.scopes.iter().rev().find(|(scoped, _)| scoped == name)?;
        Some(Node::Append {
            slot,
            element: Box::new(self.node(element)),
        })
    }

    fn function(&mut self, id: u32, target: Option<&Expr>, function: &str, args: &[Expr]) -> Node {
        let in_literal = matches!(args, [_, list] if matches!(list.kind, ExprKind::List { .. }));
        let declared = self.checked.implementation(function);
        let Some(implementation) = declared.or_else(|| library::implementation(function)) else {
            return Node::Unsupported("no such overload");
        };
        let overloads = self.checked.overloads(id);
        let overload = if let [only] = overloads { only } else { "" };
        let cost = CallCost::for_call(function, overload);
        let args: Vec<Node> = target.into_iter().chain(args).map(|arg| self.node(arg)).collect();
        match fold_conversion(function, implementation, &args) {
            Some(Ok(folded)) => return Node::Const(folded),
            Some(Err(error)) => self.defect = self.defect.take().or(Some(error)),
            None => {}
        }
        // Nothing is in an empty list, whatever the element.
        if function == op::IN
            && in_literal
            && matches!(args.get(1), Some(Node::Const(Value::List(list))) if list.is_empty())
        {
            return Node::Const(Value::Bool(false));
        }
        let search = library::regex::search(function).filter(|_| declared.is_none());
        let searches = library::regex::search(function).is_some();
        let constant_pattern = searches && matches!(args.get(1), Some(Node::Const(_)));
        let pattern = match args.get(1) {
            Some(Node::Const(Value::String(pattern))) if searches => library::regex::compile(pattern.as_str())
                .map_err(|message| self.defect = self.defect.take().or(Some(EvalError::new(message))))
                .ok(),
            _ => None,
        };
        let cost = if function == op::IN && args.get(1).is_some_and(is_constant_set) {
            CallCost::Free
        } else {
            cost
        };
        Node::Call(Box::new(Call {
            implementation,
            search: search.zip(pattern),
            cost,
            // Upstream calls these with all their arguments at once.
            ends_early: function == "format" || constant_pattern,
            guarded: functions::lookup(function).filter(|_| !functions::is_standard(function)),
            args,
        }))
    }
}

fn constant(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(value) => Value::Int(*value),
        Literal::Uint(value) => Value::Uint(*value),
        Literal::Double(value) => Value::Double(*value),
        Literal::String(text) => Value::String(Text::Shared(text.as_str().into())),
        Literal::Bytes(bytes) => Value::Bytes(bytes.as_slice().into()),
    }
}

/// Whether upstream builds no program with this constant as an index.
fn is_never_an_index(value: &Value<'_>) -> bool {
    !matches!(
        value,
        Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_)
    )
}

/// A list of constants is a constant; upstream's optimizer does the same, so it costs nothing at run time.
fn fold_list(elements: Vec<(Node, bool)>) -> Node {
    let constants: Option<Vec<Value<'static>>> = elements
        .iter()
        .map(|element| match element {
            (Node::Const(value), false) => Some(value.clone()),
            _ => None,
        })
        .collect();
    match constants {
        Some(values) => Node::Const(Value::list(values)),
        None => Node::List { elements },
    }
}

/// A conversion of a constant is a constant, as upstream's optimizer has it.
fn fold_conversion(function: &str, implementation: library::Implementation, args: &[Node]) -> Option<Outcome<'static>> {
    const CONVERSIONS: &[&str] = &[
        "bool",
        "bytes",
        "double",
        "duration",
        "dyn",
        "int",
        "string",
        "timestamp",
        "type",
        "uint",
    ];
    let [Node::Const(value)] = args else { return None };
    if !CONVERSIONS.contains(&function) {
        return None;
    }
    Some(implementation(std::slice::from_ref(value)))
}

/// A map of constants is a constant too, unless a key is no key or repeated.
fn fold_map(entries: Vec<(Node, Node, bool)>) -> Node {
    let mut map = std::collections::BTreeMap::new();
    for entry in &entries {
        let (Node::Const(key), Node::Const(value), false) = entry else {
            return Node::Map { entries };
        };
        let Some(normal) = key.key().filter(|normal| !map.contains_key(normal)) else {
            return Node::Map { entries };
        };
        map.insert(normal, (key.clone(), value.clone()));
    }
    Node::Const(Value::Map(Map::Shared(Arc::new(map))))
}

/// Whether it is a list of plain constants, which upstream turns into a set.
fn is_constant_set(node: &Node) -> bool {
    let Node::Const(Value::List(list)) = node else {
        return false;
    };
    list.iter()
        .all(|item| item.is_ok_and(|item| item.key().is_some() && !matches!(item, Value::Null)))
}
