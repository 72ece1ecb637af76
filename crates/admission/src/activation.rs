//! Evaluates expressions of admission for one request, with variables that are computed when they are read (A6, A13).

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use kubewright_apimachinery::go::quote;
use kubewright_cel::authorizer::{Authorize, ResourceCheck};
use kubewright_cel::{ErrorKind, EvalError, LazyFields, Limits, Outcome, Value as Cel, limits};
use serde_json::Value;

use crate::attributes::Attributes;
use crate::expression::Expression;
use crate::policy::Composition;

pub(crate) const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// How many levels of nesting may be under evaluation at once, in all variables that wait for each other. It keeps a long
/// chain of variables from using up the stack.
const MAX_DEPTH: usize = 320;
/// What beginning to evaluate a variable takes of the stack, in levels.
const VARIABLE_DEPTH: usize = 3;

/// What expressions see of a request.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    /// The object; null when there is none.
    pub(crate) object: &'a Value,
    /// The object before; null when there is none.
    pub(crate) old: &'a Value,
    /// The variable `request`.
    pub(crate) request: &'a Value,
    /// The namespace of the object; null when there is none.
    pub(crate) namespace: &'a Value,
    /// The params of the binding; null when there are none.
    pub(crate) params: &'a Value,
    /// Answers the checks that expressions make through `authorizer`, about this request.
    pub(crate) authorizer: Option<(&'a Arc<dyn Authorize>, &'a Attributes)>,
}

/// Expressions under evaluation. What a variable evaluated to is remembered as long as this lives.
#[derive(Debug)]
pub(crate) struct Activation<'a> {
    bound: [(&'static str, Cel<'a>); 8],
    /// How many of these there are.
    count: usize,
    composition: Option<&'a Composition>,
    known: RefCell<Vec<Known<'a>>>,
    /// What variables cost since the last expression.
    cost: Cell<u64>,
    depth: Cell<usize>,
}

/// What is known of a variable.
#[derive(Clone, Debug)]
enum Known<'a> {
    Nothing,
    /// It is being evaluated.
    Pending,
    Value(Outcome<'a>),
}

impl<'a> Activation<'a> {
    pub(crate) fn new(inputs: &Inputs<'a>, composition: Option<&'a Composition>) -> Activation<'a> {
        let composition = composition.filter(|composition| !composition.is_empty());
        let mut bound = [
            ("object", Cel::from_json(inputs.object)),
            ("oldObject", Cel::from_json(inputs.old)),
            ("namespaceObject", Cel::from_json(inputs.namespace)),
            ("request", Cel::from_json(inputs.request)),
            ("params", Cel::from_json(inputs.params)),
            ("variables", Cel::Lazy),
            ("authorizer", Cel::Null),
            ("authorizer.requestResource", Cel::Null),
        ];
        let mut count = bound.len() - 2;
        if let Some((authorizer, attributes)) = inputs.authorizer {
            count = bound.len();
            bound[6].1 = Cel::authorizer(Arc::clone(authorizer));
            bound[7].1 = Cel::resource_check(Arc::clone(authorizer), check_of(attributes));
        }
        Activation {
            bound,
            count,
            composition,
            known: RefCell::new(Vec::new()),
            cost: Cell::new(0),
            depth: Cell::new(0),
        }
    }

    /// The outer error ends the evaluation of all expressions, the inner one is that of this expression.
    pub(crate) fn evaluate(
        &self,
        expression: &'a Expression,
        budget: &mut u64,
    ) -> Result<Result<Cel<'a>, String>, String> {
        let program = match &expression.program {
            Ok(program) => program,
            Err(why) => return Ok(Err(format!("compilation error: {why}"))),
        };
        self.depth.set(program.depth());
        let evaluation = program.eval_with(&self.bound[..self.count], Some(self), PER_CALL);
        let left = budget.checked_sub(self.cost.take());
        let left = left.and_then(|left| left.checked_sub(evaluation.cost));
        *budget = left.ok_or_else(|| OUT_OF_BUDGET.to_owned())?;
        Ok(match evaluation.outcome {
            Ok(value) => Ok(value),
            Err(error) if error.kind() == ErrorKind::Internal => return Err(error.message().to_owned()),
            Err(error) => Err(format!(
                "expression '{}' resulted in error: {}",
                expression.text,
                error.message()
            )),
        })
    }

    fn variable(&self, name: &str, expression: &'a Expression) -> Outcome<'a> {
        let failed = |why: String| Err(EvalError::new(why));
        let program = match &expression.program {
            Ok(program) => program,
            Err(why) => return failed(format!("composited variable {} fails to compile: {why}", quote(name))),
        };
        let outer = self.depth.get();
        let depth = outer + program.depth() + VARIABLE_DEPTH;
        if depth > MAX_DEPTH {
            return failed(format!(
                "composited variable {} fails to evaluate: too many variables wait for each other",
                quote(name)
            ));
        }
        self.depth.set(depth);
        let evaluation = program.eval_with(&self.bound[..self.count], Some(self), PER_CALL);
        self.depth.set(outer);
        self.cost.set(self.cost.get().saturating_add(evaluation.cost));
        evaluation.outcome.or_else(|error| {
            failed(format!(
                "composited variable {} fails to evaluate: {}",
                quote(name),
                error.message()
            ))
        })
    }
}

const PER_CALL: Limits<'static> = Limits {
    cost: limits::PER_CALL,
    interrupted: None,
};

impl<'a> LazyFields<'a> for Activation<'a> {
    fn field(&self, name: &str) -> Option<Outcome<'a>> {
        let composition = self.composition?;
        let (at, expression) = composition.find(name)?;
        {
            let mut known = self.known.borrow_mut();
            known.resize(composition.len(), Known::Nothing);
            match &known[at] {
                Known::Value(outcome) => return Some(outcome.clone()),
                Known::Pending => {
                    let why = format!("composited variable {} reads itself", quote(name));
                    return Some(Err(EvalError::new(why)));
                }
                Known::Nothing => known[at] = Known::Pending,
            }
        }
        let outcome = self.variable(name, expression);
        self.known.borrow_mut()[at] = Known::Value(outcome.clone());
        Some(outcome)
    }
}

fn check_of(attributes: &Attributes) -> ResourceCheck {
    ResourceCheck {
        group: attributes.resource.group.clone(),
        resource: attributes.resource.resource.clone(),
        subresource: attributes.subresource.clone(),
        namespace: attributes.namespace.clone(),
        name: attributes.name.clone(),
        ..ResourceCheck::default()
    }
}
