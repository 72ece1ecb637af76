//! Reading fields and elements of values, and what that costs: upstream charges for a path, not for its steps.

use crate::error::EvalError;
use crate::value::{Outcome, Value};

use super::{Node, Run, is_fatal, object, ops};

/// A field and what it is read from.
#[derive(Debug)]
pub(crate) struct Select {
    pub(super) operand: Node,
    pub(super) field: Box<str>,
    pub(super) unescaped: Option<Box<str>>,
}

impl Node {
    /// Whether it reads a name, or something below one.
    pub(super) fn is_read(&self) -> bool {
        use Node::{Index, Local, OptSelect, Select, Variable};
        matches!(self, Variable(_) | Local(_) | Select(_) | OptSelect(_) | Index { .. })
    }

    /// What reading from it costs more than reading from a name: upstream starts a new path there. A choice between
    /// two is a path itself.
    fn relative(&self) -> u64 {
        u64::from(!self.is_read() && !matches!(self, Node::Conditional(_)))
    }
}

impl<'a> Run<'a, '_> {
    /// Charges for what was read through an optional value; what is not there costs nothing.
    fn charge_optional(&mut self, found: Outcome<'a>) -> Outcome<'a> {
        if !matches!(found, Ok(Value::Optional(None))) {
            self.charge(1)?;
        }
        found
    }

    /// What something is read from.
    fn operand(&mut self, node: &'a Node) -> Outcome<'a> {
        let operand = self.eval(node);
        self.charge(node.relative())?;
        operand
    }

    #[inline(never)]
    pub(super) fn select(&mut self, select: &'a Select) -> Outcome<'a> {
        // What a name holds is read where it is.
        let (found, optional) = match &select.operand {
            Node::Variable(number) => {
                self.charge(1)?;
                let operand = self.variable(*number)?;
                if let Value::Lazy = operand {
                    let found = self.lazy_field(select);
                    self.charge(1)?;
                    return found.unwrap_or_else(|| Err(no_such_key(&select.field)));
                }
                (select_field(operand, select), operand.is_optional())
            }
            Node::Local(slot) => {
                self.charge(1)?;
                match &self.slots[*slot] {
                    Ok(operand) => (select_field(operand, select), operand.is_optional()),
                    Err(error) => return Err(error.clone()),
                }
            }
            operand => {
                let operand = self.operand(operand)?;
                (select_field(&operand, select), operand.is_optional())
            }
        };
        if optional {
            return self.charge_optional(found);
        }
        self.charge(1)?;
        found
    }

    #[inline(never)]
    pub(super) fn opt_select(&mut self, select: &'a Select) -> Outcome<'a> {
        let operand = self.operand(&select.operand)?;
        let found = match operand {
            Value::Lazy => self.lazy_field(select).transpose().map(optional),
            operand => opt_select_field(&operand, select),
        };
        self.charge_optional(found)
    }

    /// A field of what is computed when it is read.
    fn lazy_field(&self, select: &Select) -> Option<Outcome<'a>> {
        self.lazy?.field(select.unescaped.as_deref().unwrap_or(&select.field))
    }

    #[inline(never)]
    pub(super) fn has(&mut self, select: &'a Select) -> Outcome<'a> {
        let operand = self.operand(&select.operand);
        let (found, reached) = match operand {
            Err(error) => (Err(error), false),
            Ok(Value::Lazy) => {
                let found = self.lazy_field(select).transpose();
                (found.map(|found| Value::Bool(found.is_some())), true)
            }
            Ok(operand) => {
                let found = has_field(&operand, select);
                let reached = !operand.is_optional() || !matches!(found, Ok(Value::Bool(false)));
                (found, reached)
            }
        };
        // The test itself is free; upstream subtracts its cost even if it was never charged.
        if !reached {
            self.refund();
        }
        found
    }

    #[inline(never)]
    pub(super) fn index(&mut self, operand: &'a Node, index: &'a Node, optional: bool) -> Outcome<'a> {
        let operand = self.operand(operand)?;
        // The operand is absent, so that the index is not evaluated.
        if matches!(operand, Value::Optional(None)) {
            return Ok(operand);
        }
        // A name as an index is part of the path and not charged by itself.
        let index = self.eval_part(index)?;
        let found = ops::index(&operand, &index, optional);
        if optional || operand.is_optional() {
            return self.charge_optional(found);
        }
        self.charge(1)?;
        found
    }

    /// A name or field that is part of something larger, which costs one less.
    pub(super) fn eval_part(&mut self, node: &'a Node) -> Outcome<'a> {
        let outcome = self.eval(node);
        if node.is_read() && !is_fatal(&outcome) {
            self.refund();
        }
        outcome
    }
}

pub(super) fn no_such_key(field: &str) -> EvalError {
    EvalError::new(format!("no such key: {field}"))
}

fn optional(found: Option<Value<'_>>) -> Value<'_> {
    found.map_or(Value::Optional(None), Value::some)
}

fn select_field<'a>(operand: &Value<'a>, select: &Select) -> Outcome<'a> {
    match operand {
        Value::Map(map) => map
            .field(&select.field, select.unescaped.as_deref())
            .unwrap_or_else(|| Err(no_such_key(&select.field))),
        Value::Optional(None) => Ok(Value::Optional(None)),
        Value::Optional(Some(_)) => opt_select_field(operand, select),
        Value::Object(object) => object::select(object, select),
        // A value without fields, such as null, does not have this field.
        _ => Err(no_such_key(&select.field)),
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
        Value::Object(object) => object::select(object, select).map(|_| Value::Bool(true)),
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
        Value::Object(object) => object::select(object, select).map(Value::some),
        _ => Err(EvalError::no_such_overload()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Decl, Env, Limits, Value};

    /// Rules and what cel-go says they cost for an object that has everything and for one that lacks most.
    const PATHS: &[(&str, u64, u64)] = &[
        ("self.o.p.z == 2", 5, 4),
        ("has(self.o.x)", 2, 2),
        ("has(self.o.p.z)", 3, 2),
        ("self.?m['one'].hasValue()", 4, 3),
        ("self.?m.one.hasValue()", 4, 3),
        ("self.?o.x.hasValue()", 4, 3),
        ("self.?o.?p.z.orValue(1) == 1", 5, 3),
        ("self.?l[0].orValue('') == 'a'", 4, 2),
        ("self.l[?9].hasValue()", 3, 3),
        ("self.m[?'one'].hasValue()", 4, 3),
        ("self.?objs[0].x.orValue(3) == 1", 5, 2),
        ("has(self.?o.x)", 2, 1),
        ("has(self.?o.p.z)", 3, 1),
        ("self.?m[self.?l[0].orValue('q')].hasValue()", 6, 5),
        ("[1, 2][?5].hasValue()", 2, 2),
        ("[1, 2][1] == 2", 3, 3),
        ("{'a': 1}.?a.hasValue()", 3, 3),
        ("{'a': {'b': 1}}.?x.b.hasValue()", 2, 2),
        ("has({'a': 1}.a)", 1, 1),
        ("[self.?i][0].hasValue()", 15, 14),
        ("(self.b ? self.o : self.o).?x.hasValue()", 5, 4),
        ("(self.b ? {'a': 1} : {'a': 2}).a == 1", 4, 4),
        ("(self.b ? (self.b ? self.o : self.o) : self.o).?x.hasValue()", 7, 6),
        ("has((self.b ? self.o : self.o).x)", 3, 3),
        ("self.l.exists(t, self.?m[t].hasValue())", 17, 3),
        ("self.?objs.orValue([]).all(o, o.?x.hasValue())", 15, 2),
    ];

    #[test]
    fn a_path_costs_what_it_costs_upstream() {
        let inner = json!({"type": "object", "properties": {"x": {"type": "integer"}, "p": {
            "type": "object", "properties": {"z": {"type": "integer"}},
        }}});
        let decl = Decl::from_schema(
            &json!({"type": "object", "properties": {
                "b": {"type": "boolean"},
                "i": {"type": "integer"},
                "l": {"type": "array", "items": {"type": "string"}},
                "m": {"type": "object", "additionalProperties": {"type": "string"}},
                "o": inner,
                "objs": {"type": "array", "items": inner},
            }}),
            false,
        );
        let env = Env::kubernetes().with_variable("self", decl.cel_type("self").unwrap());
        let everything = json!({
            "b": true, "i": 1, "l": ["a", "b"], "m": {"one": "1"}, "o": {"x": 1, "p": {"z": 2}}, "objs": [{"x": 1}, {"x": 2}],
        });
        let little = json!({"b": true, "o": {}, "m": {}, "l": []});
        for (rule, with_everything, with_little) in PATHS {
            let program = env.compile(rule).unwrap();
            let cost = |object| {
                let value = Value::typed(object, &decl).unwrap();
                program.eval(&[("self", value)], Limits::default()).cost
            };
            assert_eq!(
                (cost(&everything), cost(&little)),
                (*with_everything, *with_little),
                "{rule}"
            );
        }
    }
}
