//! Loops and bindings: what macros such as `all`, `map` and `cel.bind` expand to.

use std::sync::Arc;

use crate::decl::Decl;
use crate::error::EvalError;
use crate::value::{List, Map, Outcome, Text, Value};

use super::{Node, Run, cost, is_fatal};

#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: Node,
    pub(crate) slots: FoldSlots,
    pub(crate) init: Node,
    pub(crate) condition: Node,
    pub(crate) step: Node,
    pub(crate) result: Node,
    /// A binding has a value and runs no step.
    pub(crate) binding: bool,
    /// Whether the result reads the accumulator; the value of a binding that is not read is not evaluated.
    pub(crate) used: bool,
}

#[derive(Debug)]
pub(crate) struct FoldSlots {
    pub(crate) var: usize,
    pub(crate) var2: Option<usize>,
    pub(crate) accu: usize,
}

/// The caller is asked whether to go on after this many iterations, as upstream does.
const CHECK_EVERY: usize = 100;

impl<'a> Run<'a, '_> {
    #[inline(never)]
    pub(super) fn fold(&mut self, fold: &'a Fold) -> Outcome<'a> {
        if fold.binding {
            if fold.used {
                let value = self.eval(&fold.init);
                if let Err(error) = &value
                    && error.is_fatal()
                {
                    return value;
                }
                self.slots[fold.slots.accu] = value;
            }
            return self.eval(&fold.result);
        }
        let range = self.eval(&fold.range)?;
        let init = self.eval(&fold.init);
        self.slots[fold.slots.accu] = init;
        match range {
            Value::List(list) => {
                for index in 0..list.len() {
                    let Some(item) = list.get(index) else { break };
                    if fold.slots.var2.is_some() {
                        self.bind(fold, Ok(Value::Int(index as i64)), Some(item));
                    } else {
                        self.bind(fold, item, None);
                    }
                    if !self.iterate(fold, index)? {
                        break;
                    }
                }
            }
            // The keys of a map of the object are read where they are.
            Value::Map(Map::Json { fields, decl }) if decl.is_none_or(|decl| decl.element().is_some()) => {
                for (index, (key, value)) in fields.iter().enumerate() {
                    let value = fold.slots.var2.map(|_| match decl.and_then(Decl::element) {
                        Some(values) => values.read(value),
                        None => Ok(Value::from_json(value)),
                    });
                    self.bind(fold, Ok(Value::String(Text::Borrowed(key))), value);
                    if !self.iterate(fold, index)? {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                for (index, key) in map.keys().into_iter().enumerate() {
                    let value = fold.slots.var2.map(|_| {
                        map.get(&key)
                            .and_then(|value| value.ok_or(EvalError::fixed("no such key")))
                    });
                    self.bind(fold, Ok(key), value);
                    if !self.iterate(fold, index)? {
                        break;
                    }
                }
            }
            other => {
                let kind = other.go_type();
                return Err(EvalError::new(format!("got '{kind}', expected iterable type")));
            }
        }
        self.eval(&fold.result)
    }

    fn bind(&mut self, fold: &Fold, var: Outcome<'a>, var2: Option<Outcome<'a>>) {
        self.slots[fold.slots.var] = var;
        if let (Some(slot), Some(value)) = (fold.slots.var2, var2) {
            self.slots[slot] = value;
        }
    }

    /// One step; whether to go on.
    fn iterate(&mut self, fold: &'a Fold, index: usize) -> Result<bool, EvalError> {
        if index % CHECK_EVERY == CHECK_EVERY - 1
            && let Some(interrupted) = self.limits.interrupted
            && interrupted()
        {
            return Err(EvalError::interrupted());
        }
        match &fold.condition {
            // Loops that look at every element ask nothing.
            Node::Const(Value::Bool(true)) => {}
            condition => match self.eval(condition) {
                Ok(Value::Bool(false)) => return Ok(false),
                Err(error) if error.is_fatal() => return Err(error),
                _ => {}
            },
        }
        let accu = self.eval(&fold.step);
        if let Err(error) = &accu
            && error.is_fatal()
        {
            return Err(error.clone());
        }
        self.slots[fold.slots.accu] = accu;
        Ok(true)
    }

    /// `accu + [element]` in place: the accumulator has no other owner.
    #[inline(never)]
    pub(super) fn append(&mut self, slot: usize, element: &'a Node) -> Outcome<'a> {
        self.charge(1)?;
        let accu = std::mem::replace(&mut self.slots[slot], Ok(Value::Null));
        let value = self.eval(element);
        if is_fatal(&value) {
            return value;
        }
        // A constant element makes a constant list, which costs nothing; a failed one costs what it would have.
        let list = if matches!(element, Node::Const(_)) {
            0
        } else {
            cost::LIST
        };
        self.charge(list + 1)?;
        let (accu, value) = (accu?, value?);
        let Value::List(List::Shared(mut items, decl)) = accu else {
            return Err(EvalError::no_such_overload());
        };
        Arc::make_mut(&mut items).push(value);
        Ok(Value::List(List::Shared(items, decl)))
    }
}
