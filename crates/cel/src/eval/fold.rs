//! Loops and bindings.

use std::sync::Arc;

use crate::error::EvalError;
use crate::value::{List, Outcome, Value};

use super::{Node, Run, cost};

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
    /// Whether the result reads the accumulator; the value of a binding nobody reads is not evaluated.
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
            _ => return Err(EvalError::no_such_overload()),
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
        match self.eval(&fold.condition) {
            Ok(Value::Bool(false)) => return Ok(false),
            Err(error) if error.is_fatal() => return Err(error),
            _ => {}
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
    pub(super) fn append(&mut self, slot: usize, element: &'a Node) -> Outcome<'a> {
        self.charge(1)?;
        let accu = std::mem::replace(&mut self.slots[slot], Ok(Value::Null));
        let value = self.eval(element);
        let (accu, value) = match (accu, value) {
            (Err(error), _) | (_, Err(error)) => return Err(error),
            (Ok(accu), Ok(value)) => (accu, value),
        };
        self.charge(cost::LIST + 1)?;
        let Value::List(List::Shared(mut items, decl)) = accu else {
            return Err(EvalError::no_such_overload());
        };
        Arc::make_mut(&mut items).push(value);
        Ok(Value::List(List::Shared(items, decl)))
    }
}
