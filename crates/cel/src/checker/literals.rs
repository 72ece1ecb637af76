//! The types of lists, maps and object literals.

use std::sync::Arc;

use crate::ast::{Entry, Expr, ExprKind, Literal};
use crate::env::JSON_PATCH;
use crate::types::{ObjectType, Type};
use crate::wellknown::{self, WellKnownType};

use super::unify::most_general;
use super::{Checker, type_name};

/// What an object literal builds.
enum Built {
    Declared(Arc<ObjectType>),
    WellKnown(&'static WellKnownType),
    /// An object of a type that has every field.
    Open(Arc<ObjectType>),
}

impl Built {
    fn value_type(&self) -> Type {
        match self {
            Built::Declared(object) | Built::Open(object) => Type::Object(object.clone()),
            Built::WellKnown(message) => message.value_type(),
        }
    }

    fn field(&self, name: &str) -> Option<Type> {
        match self {
            Built::Declared(object) => object.fields.as_ref()?.get(name).cloned(),
            Built::WellKnown(message) => message.field(name),
            Built::Open(_) => Some(Type::Dyn),
        }
    }
}

impl Checker<'_> {
    /// The value type of an element written with `?`, which must be optional.
    fn optional_value(&mut self, id: u32, ty: Type) -> Type {
        if let Some(inner) = ty.unwrap_optional() {
            return inner.clone();
        }
        if !ty.is_dyn() {
            self.mismatch(id, &Type::optional(ty.clone()), &ty);
        }
        ty
    }

    /// The type of elements seen so far; where mixing is not allowed, validation says so once types are known.
    fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else { return current };
        if self.mapping.assign(&previous, &current) {
            return most_general(&previous, &current);
        }
        Type::Dyn
    }

    pub(super) fn check_list(&mut self, id: u32, elements: &mut [Expr], optionals: &[usize]) {
        let mut element_type = None;
        for (index, element) in elements.iter_mut().enumerate() {
            self.check(element);
            let mut ty = self.get(element);
            if optionals.contains(&index) {
                ty = self.optional_value(element.id, ty);
            }
            element_type = Some(self.join(element_type, ty));
        }
        let element_type = element_type.unwrap_or_else(|| self.fresh());
        self.set(id, Type::list(element_type));
    }

    pub(super) fn check_map(&mut self, id: u32, entries: &mut [Entry]) {
        let (mut key_type, mut value_type) = (None, None);
        for entry in entries {
            self.check(&mut entry.key);
            let ty = self.get(&entry.key);
            key_type = Some(self.join(key_type, ty));
            self.check(&mut entry.value);
            let mut ty = self.get(&entry.value);
            if entry.optional {
                ty = self.optional_value(entry.value.id, ty);
            }
            value_type = Some(self.join(value_type, ty));
        }
        let key_type = key_type.unwrap_or_else(|| self.fresh());
        let value_type = value_type.unwrap_or_else(|| self.fresh());
        self.set(id, Type::map(key_type, value_type));
    }

    fn built(&self, name: &str) -> Option<Built> {
        if let Some(object) = self.env.object(name) {
            return Some(Built::Declared(object.clone()));
        }
        if let Some(message) = wellknown::well_known_type(name) {
            return Some(Built::WellKnown(message));
        }
        self.env.open_object(name).map(Built::Open)
    }

    pub(super) fn check_struct(&mut self, id: u32, name: &mut String, fields: &mut [Entry]) {
        let candidates = self.env.candidates(name);
        let found = candidates
            .iter()
            .find_map(|name| Some((name.clone(), self.built(name)?)));
        let Some((resolved, built)) = found else {
            self.no_object(id, name, &candidates, fields);
            return;
        };
        *name = resolved;
        self.set(id, built.value_type());
        for entry in fields {
            let ExprKind::Literal(Literal::String(field)) = &entry.key.kind else {
                continue;
            };
            let field = field.clone();
            self.check(&mut entry.value);
            let mut found = self.get(&entry.value);
            if entry.optional {
                found = self.optional_value(entry.value.id, found);
            }
            let wanted = built.field(&field).unwrap_or_else(|| {
                // Upstream's resolver of this type gives fields that it does not have a type without a name.
                let message = if name == JSON_PATCH {
                    format!("expected type of field '{field}' is '' but provided type is '{found}'")
                } else {
                    format!("undefined field '{field}'")
                };
                self.report(entry.id, message);
                Type::Error
            });
            if !self.mapping.assign(&wanted, &found) {
                let message = format!("expected type of field '{field}' is '{wanted}' but provided type is '{found}'");
                self.report(entry.id, message);
            }
        }
    }

    /// Reports why a name is not the name of an object type.
    fn no_object(&mut self, id: u32, name: &str, candidates: &[String], fields: &mut [Entry]) {
        let of_type = candidates.iter().find_map(|name| type_name(name));
        let of_variable = candidates.iter().find_map(|name| self.env.variable(name)).cloned();
        match (of_type, of_variable) {
            (Some(ty), _) => self.report(id, format!("'{ty}' is not a message type")),
            (None, Some(ty)) => self.report(id, format!("'{ty}' is not a type")),
            (None, None) => {
                self.undeclared(id, name);
                return;
            }
        }
        self.set(id, Type::Error);
        for entry in fields {
            self.check(&mut entry.value);
        }
    }
}
