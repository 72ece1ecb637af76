//! Runs a program over borrowed values, counting what it costs.
//! Nothing is copied for field reads and comparisons; errors are values that `&&` and `||` may absorb.

pub(crate) mod cost;
mod fold;
mod object;
pub(crate) mod ops;
mod path;
mod plan;

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use kubewright_re2::Regex;

use crate::checker::CheckedAst;
use crate::error::{ErrorKind, EvalError};
use crate::functions::Function;
use crate::lazy::LazyFields;
use crate::library::regex::Search;
use crate::library::{self, Implementation};
use crate::types::Type;
use crate::value::{Key, Map, Outcome, Text, Value};

use cost::CallCost;
use path::Select;
pub(crate) use plan::plan;

/// A compiled expression. It is immutable: evaluating takes `&self`, from any thread.
///
/// ```
/// use kubewright_cel::{Env, ErrorKind, Limits, Type, Value};
/// use serde_json::json;
///
/// let env = Env::kubernetes().with_variable("self", Type::list(Type::Int));
/// let program = env.compile("self.all(x, x > 0)")?;
/// let data = json!([1, 2, 3]);
/// let variables = [("self", Value::from_json(&data))];
/// let evaluation = program.eval(&variables, Limits::default());
/// assert!(matches!(evaluation.outcome, Ok(Value::Bool(true))));
///
/// let limits = Limits { cost: evaluation.cost - 1, ..Limits::default() };
/// let error = program.eval(&variables, limits).outcome.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::CostLimit);
/// # Ok::<(), kubewright_cel::Issues>(())
/// ```
///
/// ```
/// use kubewright_cel::{Env, Limits, Type, Value};
///
/// let program = Env::kubernetes().with_variable("n", Type::Int).compile("n * n").unwrap();
/// assert_eq!(program.output_type(), &Type::Int);
/// assert!(program.defect().is_none());
/// let evaluation = program.eval(&[("n", Value::Int(12))], Limits::default());
/// assert!(matches!(evaluation.outcome, Ok(Value::Int(144))));
/// assert!(evaluation.cost > 0);
/// ```
#[derive(Debug)]
pub struct Program {
    root: Node,
    slots: usize,
    depth: usize,
    variables: Vec<String>,
    output: Type,
    defect: Option<EvalError>,
}

/// The variables of this many loops and bindings are kept without asking the allocator: a loop has two.
const SLOTS_ON_STACK: usize = 8;

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
    /// The value, or the error.
    pub outcome: Outcome<'a>,
    /// What it cost.
    pub cost: u64,
}

impl Program {
    /// Evaluates with the given variables.
    pub fn eval<'a>(&'a self, variables: &[(&str, Value<'a>)], limits: Limits<'_>) -> Evaluation<'a> {
        self.eval_with(variables, None, limits)
    }

    /// Evaluates with the given variables; a [`Value::Lazy`] among them has the fields of `lazy`.
    pub fn eval_with<'a>(
        &'a self,
        variables: &[(&str, Value<'a>)],
        lazy: Option<&dyn LazyFields<'a>>,
        limits: Limits<'_>,
    ) -> Evaluation<'a> {
        match self.slots {
            0 => self.run(variables, lazy, limits, &mut []),
            few @ 1..=SLOTS_ON_STACK => {
                let mut slots: [Outcome<'a>; SLOTS_ON_STACK] = std::array::from_fn(|_| Ok(Value::Null));
                self.run(variables, lazy, limits, &mut slots[..few])
            }
            many => {
                let mut slots = Vec::new();
                slots.resize_with(many, || Ok(Value::Null));
                self.run(variables, lazy, limits, &mut slots)
            }
        }
    }

    fn run<'a>(
        &'a self,
        variables: &[(&str, Value<'a>)],
        lazy: Option<&dyn LazyFields<'a>>,
        limits: Limits<'_>,
        slots: &mut [Outcome<'a>],
    ) -> Evaluation<'a> {
        let mut run = Run {
            program: self,
            variables,
            lazy,
            slots,
            cost: 0,
            limits,
        };
        let outcome = run.eval(&self.root);
        Evaluation {
            outcome,
            cost: run.cost,
        }
    }

    /// Whether the program reads a variable of this name.
    pub fn reads(&self, name: &str) -> bool {
        self.variables.iter().any(|variable| variable == name)
    }

    /// How many levels of nesting it has, which is what evaluating it takes of the stack.
    pub fn depth(&self) -> usize {
        self.depth
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
    /// An object literal.
    Object(Box<object::ObjectLiteral>),
    /// A call of a function that does not exist.
    Unsupported(&'static str),
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

impl Comparison {
    /// Whether it holds for values that stand in this order.
    fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Equal => order == Ordering::Equal,
            Comparison::NotEqual => order != Ordering::Equal,
            Comparison::Less => order == Ordering::Less,
            Comparison::LessEqual => order != Ordering::Greater,
            Comparison::Greater => order == Ordering::Greater,
            Comparison::GreaterEqual => order != Ordering::Less,
        }
    }
}

#[derive(Debug)]
pub(crate) struct MatchesConstant {
    text: Node,
    pattern: Pattern,
    pattern_size: u64,
}

/// A constant pattern. The checker has compiled it; in an expression that was not checked, its first use compiles it.
#[derive(Debug)]
pub(crate) struct Pattern {
    source: Box<str>,
    compiled: OnceLock<Result<Arc<Regex>, EvalError>>,
}

impl Pattern {
    fn new(source: &str, compiled: Option<Arc<Regex>>) -> Pattern {
        Pattern {
            source: source.into(),
            compiled: compiled.map_or_else(OnceLock::new, |regex| OnceLock::from(Ok(regex))),
        }
    }

    fn compiled(&self) -> Result<&Regex, EvalError> {
        let compile = || library::regex::compile(&self.source).map_err(EvalError::new);
        self.compiled.get_or_init(compile).as_deref().map_err(Clone::clone)
    }
}

#[derive(Debug)]
pub(crate) struct Call {
    implementation: Implementation,
    /// What to do instead if the function searches for a constant pattern.
    search: Option<(Search, Arc<Regex>)>,
    cost: CallCost,
    /// Whether the first failed argument ends it before the next one is evaluated.
    ends_early: bool,
    /// The function, if upstream looks at the types of its arguments before it calls it.
    guarded: Option<&'static Function>,
    args: Vec<Node>,
}

impl Call {
    fn run<'a>(&self, args: &[Value<'a>]) -> Outcome<'a> {
        match &self.search {
            Some((search, pattern)) => search(pattern, args),
            None => (self.implementation)(args),
        }
    }

    /// The error for arguments that no overload takes.
    #[cold]
    fn refusal(&self, error: EvalError, args: &[Value<'_>]) -> EvalError {
        match self.guarded {
            Some(function) if error == EvalError::no_such_overload() && !function.takes(args) => {
                let types: Vec<String> = args.iter().map(|arg| arg.type_of().runtime_name()).collect();
                EvalError::new(format!("no such overload: {}({})", function.name, types.join(", ")))
            }
            _ => error,
        }
    }
}

struct Run<'a, 'r> {
    program: &'a Program,
    variables: &'r [(&'r str, Value<'a>)],
    lazy: Option<&'r dyn LazyFields<'a>>,
    slots: &'r mut [Outcome<'a>],
    cost: u64,
    limits: Limits<'r>,
}

impl<'a, 'r> Run<'a, 'r> {
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

    /// One step. What is more than a few lines has a function of its own, which keeps this one's frame small: it is
    /// on the stack once per level of nesting.
    fn eval(&mut self, node: &'a Node) -> Outcome<'a> {
        match node {
            // Strings are the most frequent constants; borrowing them saves the reference count.
            Node::Const(Value::String(text)) => Ok(Value::String(Text::Borrowed(text.as_str()))),
            Node::Const(value) => Ok(value.clone()),
            Node::Variable(number) => {
                self.charge(1)?;
                self.variable(*number).cloned()
            }
            Node::Local(slot) => {
                self.charge(1)?;
                self.slots[*slot].clone()
            }
            Node::Select(select) => self.select(select),
            Node::Has(select) => self.has(select),
            Node::OptSelect(select) => self.opt_select(select),
            Node::Index {
                operand,
                index,
                optional,
            } => self.index(operand, index, *optional),
            Node::And(parts) => self.logic(parts, false),
            Node::Or(parts) => self.logic(parts, true),
            Node::Conditional(parts) => self.conditional(parts),
            Node::NotStrictlyFalse(part) => self.not_strictly_false(part),
            Node::Compare(comparison, parts) => self.compare(*comparison, parts),
            Node::Matches(matches) => self.matches(matches),
            Node::OptOr { parts, unwrap } => match self.eval(&parts[0])? {
                Value::Optional(Some(value)) if *unwrap => Ok((*value).clone()),
                Value::Optional(Some(value)) => Ok(Value::Optional(Some(value))),
                Value::Optional(None) => self.eval(&parts[1]),
                // A value that is not optional counts as present.
                value => Ok(value),
            },
            Node::Call(call) => self.call(call),
            Node::List { elements } => self.list(elements),
            Node::Map { entries } => self.map(entries),
            Node::Fold(fold) => self.fold(fold),
            Node::Append { slot, element } => self.append(*slot, element),
            Node::Object(literal) => self.object(literal),
            Node::Unsupported(message) => Err(EvalError::fixed(message)),
        }
    }

    fn variable(&self, number: usize) -> Result<&'r Value<'a>, EvalError> {
        let name = self.program.variables.get(number).map_or("", String::as_str);
        let found = self.variables.iter().find(|(variable, _)| *variable == name);
        found
            .map(|(_, value)| value)
            .ok_or_else(|| EvalError::new(format!("no such attribute(s): {name}")))
    }

    #[inline(never)]
    fn conditional(&mut self, parts: &'a [Node; 3]) -> Outcome<'a> {
        match self.eval(&parts[0])? {
            Value::Bool(condition) => {
                let branch = &parts[if condition { 1 } else { 2 }];
                // Upstream charges a name or a field that is the whole branch only for what is read from it.
                self.eval_part(branch)
            }
            _ => Err(EvalError::no_such_overload()),
        }
    }

    #[inline(never)]
    fn not_strictly_false(&mut self, part: &'a Node) -> Outcome<'a> {
        let outcome = self.eval(part);
        self.charge(1)?;
        match outcome {
            Err(error) if error.is_fatal() => Err(error),
            Ok(Value::Bool(value)) => Ok(Value::Bool(value)),
            _ => Ok(Value::Bool(true)),
        }
    }

    #[inline(never)]
    fn compare(&mut self, comparison: Comparison, parts: &'a [Node; 2]) -> Outcome<'a> {
        let left = self.eval(&parts[0]);
        if is_fatal(&left) {
            return left;
        }
        let right = self.eval(&parts[1]);
        if is_fatal(&right) {
            return right;
        }
        if let (Ok(Value::Int(left)), Ok(Value::Int(right))) = (&left, &right) {
            self.charge(1)?;
            return Ok(Value::Bool(comparison.holds(left.cmp(right))));
        }
        let nothing = Value::Null;
        let (shown_left, shown_right) = (left.as_ref().unwrap_or(&nothing), right.as_ref().unwrap_or(&nothing));
        self.charge(cost::comparison(comparison, shown_left, shown_right))?;
        ops::compare(comparison, &left?, &right?)
    }

    #[inline(never)]
    fn matches(&mut self, matches: &'a MatchesConstant) -> Outcome<'a> {
        let text = self.eval(&matches.text)?;
        let Some(text) = text.as_str() else {
            return Err(EvalError::no_such_overload());
        };
        let size = text.chars().count() as u64;
        self.charge(cost::regex(size, matches.pattern_size))?;
        Ok(Value::Bool(matches.pattern.compiled()?.is_match(text)))
    }

    /// `&&` and `||`: either side decides alone, whatever the other one is.
    #[inline(never)]
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

    /// An argument: errors of the expression are kept, since the other arguments are evaluated all the same.
    fn strict(&mut self, node: &'a Node) -> Result<Outcome<'a>, EvalError> {
        match self.eval(node) {
            Err(error) if error.is_fatal() => Err(error),
            outcome => Ok(outcome),
        }
    }

    fn finish(&mut self, call: &'a Call, args: &[Value<'a>], failed: Option<EvalError>) -> Outcome<'a> {
        let result = match failed {
            None => call.run(args).map_err(|error| call.refusal(error, args)),
            Some(error) => Err(error),
        };
        // Upstream computes the cost of these from a list and fails without one; nothing absorbs that error.
        if call.cost == CallCost::CompareAll && result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Value) {
            return Err(EvalError::unpriced_list());
        }
        self.charge(call.cost.of(args, &result))?;
        result
    }

    #[inline(never)]
    fn call(&mut self, call: &'a Call) -> Outcome<'a> {
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
            [first, second] if call.ends_early => {
                let args = [self.eval(first)?, split(self.strict(second)?, &mut failed)];
                self.finish(call, &args, failed)
            }
            [first, second] => {
                let args = [
                    split(self.strict(first)?, &mut failed),
                    split(self.strict(second)?, &mut failed),
                ];
                self.finish(call, &args, failed)
            }
            // From three arguments on the first failure ends it; only if it is the last is the call charged.
            [first, second, third] => {
                let args = [
                    self.eval(first)?,
                    self.eval(second)?,
                    split(self.strict(third)?, &mut failed),
                ];
                self.finish(call, &args, failed)
            }
            [most @ .., last] => {
                let mut args = most.iter().map(|arg| self.eval(arg)).collect::<Result<Vec<_>, _>>()?;
                args.push(split(self.strict(last)?, &mut failed));
                self.finish(call, &args, failed)
            }
        }
    }

    #[inline(never)]
    fn list(&mut self, elements: &'a [(Node, bool)]) -> Outcome<'a> {
        let items = self.items(elements);
        self.charge_built(cost::LIST, items.map(Value::list))
    }

    /// A literal is charged even if a part of it fails.
    fn charge_built(&mut self, price: u64, built: Outcome<'a>) -> Outcome<'a> {
        if !is_fatal(&built) {
            self.charge(price)?;
        }
        built
    }

    fn items(&mut self, elements: &'a [(Node, bool)]) -> Result<Vec<Value<'a>>, EvalError> {
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
        Ok(items)
    }

    #[inline(never)]
    fn map(&mut self, entries: &'a [(Node, Node, bool)]) -> Outcome<'a> {
        let built = self.entries(entries);
        self.charge_built(cost::MAP, built)
    }

    fn entries(&mut self, entries: &'a [(Node, Node, bool)]) -> Outcome<'a> {
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
        Ok(Value::Map(Map::Shared(Arc::new(map))))
    }
}

fn is_fatal(outcome: &Outcome<'_>) -> bool {
    matches!(outcome, Err(error) if error.is_fatal())
}

fn not_optional(value: &Value<'_>) -> EvalError {
    EvalError::new(format!(
        "cannot initialize optional element from non-optional value {}",
        crate::library::display(value)
    ))
}
