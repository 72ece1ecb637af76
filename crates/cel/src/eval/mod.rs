//! Runs a program over borrowed values, counting what it costs.
//! Nothing is copied for field reads and comparisons; errors are values that `&&` and `||` may absorb.

pub(crate) mod cost;
mod fold;
pub(crate) mod ops;
mod plan;

use std::sync::Arc;

use crate::checker::CheckedAst;
use crate::error::EvalError;
use crate::library::Implementation;
use crate::types::Type;
use crate::value::{Key, Map, Outcome, Value};

use cost::CallCost;
pub(crate) use plan::plan;

/// A compiled expression. It is immutable: evaluating takes `&self`, from any thread.
#[derive(Debug)]
pub struct Program {
    root: Node,
    slots: usize,
    variables: Vec<String>,
    output: Type,
    defect: Option<EvalError>,
}

/// How far an evaluation may go.
#[derive(Clone, Copy)]
pub struct Limits<'l> {
    /// The evaluation stops when it costs more than this.
    pub cost: u64,
    /// Asked now and then while iterating; `true` stops the evaluation.
    pub interrupted: Option<&'l dyn Fn() -> bool>,
}

impl Default for Limits<'_> {
    /// The limit Kubernetes sets for one call (C17).
    fn default() -> Self {
        Self {
            cost: crate::limits::PER_CALL,
            interrupted: None,
        }
    }
}

/// What an evaluation gave and what it cost.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// The value, or why there is none.
    pub outcome: Outcome<'a>,
    /// What it cost.
    pub cost: u64,
}

impl Program {
    /// Evaluates with the given variables.
    pub fn eval<'a>(&'a self, variables: &[(&str, Value<'a>)], limits: Limits<'_>) -> Evaluation<'a> {
        let mut run = Run {
            program: self,
            variables,
            slots: Vec::new(),
            cost: 0,
            limits,
        };
        run.slots.resize_with(self.slots, || Ok(Value::Null));
        let outcome = run.eval(&self.root);
        Evaluation {
            outcome,
            cost: run.cost,
        }
    }

    /// Why the program can never work: a conversion of a constant that fails. Upstream refuses to build it.
    pub fn defect(&self) -> Option<&EvalError> {
        self.defect.as_ref()
    }

    /// The type of the value.
    pub fn output_type(&self) -> &Type {
        &self.output
    }
}

/// Compiles a checked expression.
pub(crate) fn compile(checked: &CheckedAst) -> Program {
    plan(checked)
}

/// One step of a program.
#[derive(Debug)]
pub(crate) enum Node {
    Const(Value<'static>),
    /// A variable of the caller, by its number in the program.
    Variable(usize),
    /// A variable of a loop or binding.
    Local(usize),
    Select(Box<Select>),
    Has(Box<Select>),
    OptSelect(Box<Select>),
    Index {
        operand: Box<Node>,
        index: Box<Node>,
        optional: bool,
    },
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Conditional(Box<[Node; 3]>),
    NotStrictlyFalse(Box<Node>),
    Compare(Comparison, Box<[Node; 2]>),
    Matches(Box<MatchesConstant>),
    /// `a.or(b)` and `a.orValue(b)`, which evaluate `b` only if needed.
    OptOr {
        parts: Box<[Node; 2]>,
        unwrap: bool,
    },
    /// A call; up to three arguments need no allocation.
    Call(Box<Call>),
    List {
        elements: Vec<(Node, bool)>,
    },
    Map {
        entries: Vec<(Node, Node, bool)>,
    },
    Fold(Box<fold::Fold>),
    /// The accumulator of a loop with one element added.
    Append {
        slot: usize,
        element: Box<Node>,
    },
    /// An object literal, which Kubernetes has no types for.
    Unsupported(&'static str),
}

impl Node {
    /// Whether it reads a name, or something below one.
    fn is_read(&self) -> bool {
        use Node::{Index, Local, OptSelect, Select, Variable};
        matches!(self, Variable(_) | Local(_) | Select(_) | OptSelect(_) | Index { .. })
    }

    /// What reading from it costs more than reading from a name: upstream starts a new path there.
    fn relative(&self) -> u64 {
        u64::from(!self.is_read())
    }
}

#[derive(Debug)]
pub(crate) struct Select {
    operand: Node,
    field: Box<str>,
    unescaped: Option<Box<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

#[derive(Debug)]
pub(crate) struct MatchesConstant {
    text: Node,
    pattern: Arc<regex::Regex>,
    pattern_size: u64,
}

#[derive(Debug)]
pub(crate) struct Call {
    implementation: Implementation,
    cost: CallCost,
    args: Vec<Node>,
}

struct Run<'a, 'r> {
    program: &'a Program,
    variables: &'r [(&'r str, Value<'a>)],
    slots: Vec<Outcome<'a>>,
    cost: u64,
    limits: Limits<'r>,
}

impl<'a> Run<'a, '_> {
    fn charge(&mut self, cost: u64) -> Result<(), EvalError> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limits.cost {
            Err(EvalError::cost_limit())
        } else {
            Ok(())
        }
    }

    fn refund(&mut self) {
        self.cost = self.cost.saturating_sub(1);
    }

    /// Charges for an optional value that is there; looking for one that is not costs nothing.
    fn charge_found(&mut self, found: Value<'a>, price: u64) -> Outcome<'a> {
        if !matches!(found, Value::Optional(None)) {
            self.charge(price)?;
        }
        Ok(found)
    }

    fn eval(&mut self, node: &'a Node) -> Outcome<'a> {
        match node {
            Node::Const(value) => Ok(value.clone()),
            Node::Variable(number) => {
                self.charge(1)?;
                let name = self.program.variables.get(*number).map_or("", String::as_str);
                let found = self.variables.iter().find(|(variable, _)| *variable == name);
                found
                    .map(|(_, value)| value.clone())
                    .ok_or_else(|| EvalError::new(format!("no such attribute(s): {name}")))
            }
            Node::Local(slot) => {
                self.charge(1)?;
                self.slots[*slot].clone()
            }
            Node::Select(select) => {
                let operand = self.eval(&select.operand)?;
                self.charge(1 + select.operand.relative())?;
                select_field(&operand, select)
            }
            Node::Has(select) => {
                let operand = self.eval(&select.operand);
                // The test itself is free; upstream takes its price back even if it never came to it.
                if operand.is_err() {
                    self.refund();
                }
                has_field(&operand?, select)
            }
            Node::OptSelect(select) => {
                let operand = self.eval(&select.operand)?;
                let found = opt_select_field(&operand, select)?;
                self.charge_found(found, 1)
            }
            Node::Index {
                operand,
                index,
                optional,
            } => {
                let price = 1 + operand.relative();
                let operand = self.eval(operand)?;
                // A name as an index is part of the path and not charged by itself.
                if index.is_read() {
                    self.refund();
                }
                let index = self.eval(index)?;
                if *optional {
                    let found = ops::index(&operand, &index, true)?;
                    return self.charge_found(found, price);
                }
                self.charge(price)?;
                ops::index(&operand, &index, false)
            }
            Node::And(parts) => self.logic(parts, false),
            Node::Or(parts) => self.logic(parts, true),
            Node::Conditional(parts) => match self.eval(&parts[0])? {
                Value::Bool(condition) => {
                    let branch = &parts[if condition { 1 } else { 2 }];
                    // Upstream charges a name or a field that is the whole branch only for what is read from it.
                    if branch.is_read() {
                        self.refund();
                    }
                    self.eval(branch)
                }
                _ => Err(EvalError::no_such_overload()),
            },
            Node::NotStrictlyFalse(part) => {
                let outcome = self.eval(part);
                self.charge(1)?;
                match outcome {
                    Err(error) if error.is_fatal() => Err(error),
                    Ok(Value::Bool(value)) => Ok(Value::Bool(value)),
                    _ => Ok(Value::Bool(true)),
                }
            }
            Node::Compare(comparison, parts) => {
                let left = self.strict(&parts[0])?;
                let right = self.strict(&parts[1])?;
                let nothing = Value::Null;
                let (shown_left, shown_right) = (left.as_ref().unwrap_or(&nothing), right.as_ref().unwrap_or(&nothing));
                self.charge(cost::comparison(*comparison, shown_left, shown_right))?;
                ops::compare(*comparison, &left?, &right?)
            }
            Node::Matches(matches) => {
                let text = self.eval(&matches.text)?;
                let Some(text) = text.as_str() else {
                    return Err(EvalError::no_such_overload());
                };
                let size = text.chars().count() as u64;
                self.charge(cost::regex(size, matches.pattern_size))?;
                Ok(Value::Bool(matches.pattern.is_match(text)))
            }
            Node::OptOr { parts, unwrap } => match self.eval(&parts[0])? {
                Value::Optional(Some(value)) if *unwrap => Ok((*value).clone()),
                Value::Optional(Some(value)) => Ok(Value::Optional(Some(value))),
                Value::Optional(None) => self.eval(&parts[1]),
                _ => Err(EvalError::no_such_overload()),
            },
            Node::Call(call) => self.call(call),
            Node::List { elements } => self.list(elements),
            Node::Map { entries } => self.map(entries),
            Node::Fold(fold) => self.fold(fold),
            Node::Append { slot, element } => self.append(*slot, element),
            Node::Unsupported(message) => Err(EvalError::fixed(message)),
        }
    }

    /// `&&` and `||`: either side decides alone, whatever the other one is.
    fn logic(&mut self, parts: &'a [Node; 2], decisive: bool) -> Outcome<'a> {
        let left = self.eval(&parts[0]);
        match &left {
            Ok(Value::Bool(value)) if *value == decisive => return left,
            Err(error) if error.is_fatal() => return left,
            _ => {}
        }
        let right = self.eval(&parts[1]);
        match (&left, &right) {
            (_, Err(error)) if error.is_fatal() => right,
            (_, Ok(Value::Bool(value))) if *value == decisive => right,
            (Err(_), _) => left,
            (Ok(Value::Bool(_)), Ok(Value::Bool(_)) | Err(_)) => right,
            _ => Err(EvalError::no_such_overload()),
        }
    }

    fn call(&mut self, call: &'a Call) -> Outcome<'a> {
        let outcome = self.call_now(call);
        match &outcome {
            // Upstream's price of these needs a list and fails without one, whatever absorbs errors around it.
            Err(error) if call.cost == CallCost::CompareAll && error.kind() == crate::error::ErrorKind::Value => {
                Err(EvalError::unpriced_list())
            }
            _ => outcome,
        }
    }

    /// An argument: errors of the expression are kept, since the other arguments are evaluated all the same.
    fn strict(&mut self, node: &'a Node) -> Result<Outcome<'a>, EvalError> {
        match self.eval(node) {
            Err(error) if error.is_fatal() => Err(error),
            outcome => Ok(outcome),
        }
    }

    fn finish(&mut self, call: &'a Call, args: &[Value<'a>], failed: Option<EvalError>) -> Outcome<'a> {
        let result = match failed {
            None => (call.implementation)(args),
            Some(error) => Err(error),
        };
        self.charge(call.cost.of(args, &result))?;
        result
    }

    fn call_now(&mut self, call: &'a Call) -> Outcome<'a> {
        let split = |outcome: Outcome<'a>, failed: &mut Option<EvalError>| {
            outcome.unwrap_or_else(|error| {
                failed.get_or_insert(error);
                Value::Null
            })
        };
        let mut failed = None;
        match call.args.as_slice() {
            [] => self.finish(call, &[], None),
            [only] => {
                let args = [split(self.strict(only)?, &mut failed)];
                self.finish(call, &args, failed)
            }
            [first, second] => {
                let args = [
                    split(self.strict(first)?, &mut failed),
                    split(self.strict(second)?, &mut failed),
                ];
                self.finish(call, &args, failed)
            }
            [first, second, third] => {
                let args = [self.eval(first)?, self.eval(second)?, self.eval(third)?];
                self.finish(call, &args, None)
            }
            many => {
                let args = many.iter().map(|arg| self.eval(arg)).collect::<Result<Vec<_>, _>>()?;
                self.finish(call, &args, None)
            }
        }
    }

    fn list(&mut self, elements: &'a [(Node, bool)]) -> Outcome<'a> {
        let mut items = Vec::with_capacity(elements.len());
        for (element, optional) in elements {
            let value = self.eval(element)?;
            match (optional, value) {
                (false, value) => items.push(value),
                (true, Value::Optional(Some(value))) => items.push((*value).clone()),
                (true, Value::Optional(None)) => {}
                (true, other) => return Err(not_optional(&other)),
            }
        }
        self.charge(cost::LIST)?;
        Ok(Value::list(items))
    }

    fn map(&mut self, entries: &'a [(Node, Node, bool)]) -> Outcome<'a> {
        let mut map = std::collections::BTreeMap::new();
        for (key, value, optional) in entries {
            let key = self.eval(key)?;
            let value = self.eval(value)?;
            let value = match (optional, value) {
                (false, value) => value,
                (true, Value::Optional(Some(value))) => (*value).clone(),
                (true, Value::Optional(None)) => continue,
                (true, other) => return Err(not_optional(&other)),
            };
            let unsupported = || EvalError::new(format!("unsupported key type: {}", key.type_of()));
            let normal: Key = key.key().ok_or_else(unsupported)?;
            if map.contains_key(&normal) {
                return Err(EvalError::new(format!(
                    "Failed with repeated key: {}",
                    crate::library::display(&key)
                )));
            }
            map.insert(normal, (key, value));
        }
        self.charge(cost::MAP)?;
        Ok(Value::Map(Map::Shared(Arc::new(map))))
    }
}

fn not_optional(value: &Value<'_>) -> EvalError {
    EvalError::new(format!(
        "cannot initialize optional element from non-optional value {}",
        crate::library::display(value)
    ))
}

fn no_such_key(field: &str) -> EvalError {
    EvalError::new(format!("no such key: {field}"))
}

fn select_field<'a>(operand: &Value<'a>, select: &Select) -> Outcome<'a> {
    match operand {
        Value::Map(map) => map
            .field(&select.field, select.unescaped.as_deref())
            .unwrap_or_else(|| Err(no_such_key(&select.field))),
        Value::Optional(None) => Ok(Value::Optional(None)),
        Value::Optional(Some(_)) => opt_select_field(operand, select),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn has_field<'a>(operand: &Value<'a>, select: &Select) -> Outcome<'a> {
    match operand {
        Value::Map(map) => match map.field(&select.field, select.unescaped.as_deref()) {
            Some(Err(error)) => Err(error),
            found => Ok(Value::Bool(found.is_some())),
        },
        Value::Optional(None) => Ok(Value::Bool(false)),
        Value::Optional(Some(value)) => has_field(value, select),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn opt_select_field<'a>(operand: &Value<'a>, select: &Select) -> Outcome<'a> {
    match operand {
        Value::Map(map) => match map.field(&select.field, select.unescaped.as_deref()) {
            Some(value) => Ok(Value::some(value?)),
            None => Ok(Value::Optional(None)),
        },
        Value::Optional(None) => Ok(Value::Optional(None)),
        Value::Optional(Some(value)) => opt_select_field(value, select),
        _ => Err(EvalError::no_such_overload()),
    }
}
