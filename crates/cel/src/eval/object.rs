//! Object literals, `Name{field: value}`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::EvalError;
use crate::value::{Object, Outcome, Value};
use crate::wellknown;

use super::path::{Select, no_such_key};
use super::{Node, Run, cost, not_optional};

#[derive(Debug)]
pub(crate) struct ObjectLiteral {
    pub(crate) type_name: Arc<str>,
    pub(crate) fields: Vec<FieldInit>,
}

#[derive(Debug)]
pub(crate) struct FieldInit {
    pub(crate) name: Box<str>,
    pub(crate) value: Node,
    pub(crate) optional: bool,
}

impl<'a> Run<'a, '_> {
    pub(super) fn object(&mut self, literal: &'a ObjectLiteral) -> Outcome<'a> {
        let built = self.built(literal);
        self.charge_built(cost::STRUCT, built)
    }

    fn built(&mut self, literal: &'a ObjectLiteral) -> Outcome<'a> {
        let mut fields: Vec<(&str, Value<'a>)> = Vec::with_capacity(literal.fields.len());
        for field in &literal.fields {
            let value = match (field.optional, self.eval(&field.value)?) {
                (false, value) => value,
                (true, Value::Optional(Some(value))) => (*value).clone(),
                (true, Value::Optional(None)) => {
                    fields.retain(|(name, _)| *name != &*field.name);
                    continue;
                }
                (true, other) => return Err(not_optional(&other)),
            };
            fields.push((&field.name, value));
        }
        if let Some(message) = wellknown::well_known_type(&literal.type_name) {
            return message.build(&fields);
        }
        let fields: BTreeMap<Box<str>, Value<'a>> =
            fields.into_iter().map(|(name, value)| (name.into(), value)).collect();
        if &*literal.type_name == crate::env::JSON_PATCH {
            check_patch(&fields)?;
        }
        let type_name = literal.type_name.clone();
        Ok(Value::Object(Arc::new(Object { type_name, fields })))
    }
}

/// The operation and the paths of a patch are strings, even if only known when the expression runs.
fn check_patch(fields: &BTreeMap<Box<str>, Value<'_>>) -> Result<(), EvalError> {
    for name in ["op", "path", "from"] {
        if let Some(value) = fields.get(name).filter(|value| value.as_str().is_none()) {
            let found = value.go_native();
            return Err(EvalError::new(format!(
                "unexpected type {found} for JSONPatchType '{name}' field"
            )));
        }
    }
    Ok(())
}

/// A field of an object: a patch shows its fields, other objects can only be built and compared.
pub(super) fn select<'a>(object: &Object<'a>, select: &Select) -> Outcome<'a> {
    object
        .patch_field(&select.field)
        .unwrap_or_else(|| Err(no_such_key(&select.field)))
}
