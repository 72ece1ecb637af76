//! When a type fits another, and what type variables become by it.

use std::sync::Arc;

use crate::types::{Type, WRAPPER};

/// What is known about type variables, by their number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mapping(Vec<Option<Type>>);

impl Mapping {
    fn find(&self, var: u32) -> Option<&Type> {
        self.0.get(var as usize)?.as_ref()
    }

    fn add(&mut self, var: u32, ty: Type) {
        if self.0.len() <= var as usize {
            self.0.resize(var as usize + 1, None);
        }
        self.0[var as usize] = Some(ty);
    }

    /// Whether `from` can be used where `to` is wanted; remembers what variables became if so.
    pub(crate) fn assign(&mut self, from: &Type, to: &Type) -> bool {
        self.assign_all(std::slice::from_ref(from), std::slice::from_ref(to))
    }

    /// The same for lists of types of equal length.
    pub(crate) fn assign_all(&mut self, from: &[Type], to: &[Type]) -> bool {
        let before = self.clone();
        let fits = self.fits_all(from, to);
        if !fits {
            *self = before;
        }
        fits
    }

    fn fits_all(&mut self, from: &[Type], to: &[Type]) -> bool {
        from.len() == to.len() && from.iter().zip(to).all(|(from, to)| self.fits(from, to))
    }

    fn fits(&mut self, from: &Type, to: &Type) -> bool {
        if let Type::Var(var) = to {
            let (valid, known) = self.substitutes(from, *var);
            if valid || known {
                return valid;
            }
        }
        if let Type::Var(var) = from {
            return self.substitutes(to, *var).0;
        }
        if from.is_dyn_or_error() || to.is_dyn_or_error() {
            return true;
        }
        match (from, to) {
            (Type::Null, other) | (other, Type::Null) => nullable(other),
            // A wrapper is its value or null.
            (Type::Opaque(name, inner), other) | (other, Type::Opaque(name, inner))
                if &**name == WRAPPER && !matches!(other, Type::Opaque(other, _) if &**other == WRAPPER) =>
            {
                inner.first() == Some(other)
            }
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(from), Type::List(to)) => self.fits(from, to),
            (Type::Map(from), Type::Map(to)) => self.fits(&from.0, &to.0) && self.fits(&from.1, &to.1),
            (Type::Opaque(from_name, from), Type::Opaque(to_name, to)) => {
                from_name == to_name && self.fits_all(from, to)
            }
            _ => from == to,
        }
    }

    /// Whether the variable is, or may become, the type; and whether something was known about it.
    fn substitutes(&mut self, ty: &Type, var: u32) -> (bool, bool) {
        if *ty == Type::Var(var) {
            return (true, true);
        }
        if let Some(known) = self.find(var).cloned() {
            if *ty == known {
                return (true, true);
            }
            if !self.fits(ty, &known) {
                return (false, true);
            }
            let general = most_general(ty, &known);
            if !self.occurs(var, &general) {
                self.add(var, general);
            }
            return (true, true);
        }
        if self.occurs(var, ty) {
            return (false, false);
        }
        self.add(var, ty.clone());
        (true, false)
    }

    fn occurs(&self, var: u32, within: &Type) -> bool {
        match within {
            Type::Var(other) => *other == var || self.find(*other).is_some_and(|ty| self.occurs(var, ty)),
            _ => within.params().iter().any(|param| self.occurs(var, param)),
        }
    }

    /// The type with known variables replaced; unknown ones become `dyn` if asked.
    pub(crate) fn substitute(&self, ty: &Type, vars_to_dyn: bool) -> Type {
        match ty {
            Type::Var(var) => match self.find(*var) {
                Some(known) => self.substitute(known, vars_to_dyn),
                None if vars_to_dyn => Type::Dyn,
                None => ty.clone(),
            },
            Type::List(element) => Type::list(self.substitute(element, vars_to_dyn)),
            Type::Map(pair) => Type::map(
                self.substitute(&pair.0, vars_to_dyn),
                self.substitute(&pair.1, vars_to_dyn),
            ),
            Type::Opaque(name, params) if !params.is_empty() => Type::Opaque(
                name.clone(),
                params.iter().map(|param| self.substitute(param, vars_to_dyn)).collect(),
            ),
            Type::Type(Some(inner)) => Type::Type(Some(Arc::new(self.substitute(inner, vars_to_dyn)))),
            _ => ty.clone(),
        }
    }
}

/// Types that `null` may stand for.
fn nullable(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Null | Type::Opaque(..) | Type::Object(_) | Type::Duration | Type::Timestamp
    )
}

/// The less specific of two types that unify.
pub(crate) fn most_general(first: &Type, second: &Type) -> Type {
    if less_specific(first, second) {
        first.clone()
    } else {
        second.clone()
    }
}

fn less_specific(first: &Type, second: &Type) -> bool {
    if matches!(first, Type::Dyn | Type::Var(_)) {
        return true;
    }
    if matches!(second, Type::Dyn | Type::Var(_)) {
        return false;
    }
    match (first.unwrapped(), second.unwrapped()) {
        (Type::Opaque(first_name, first), Type::Opaque(second_name, second)) => {
            first_name == second_name
                && first.len() == second.len()
                && first
                    .iter()
                    .zip(second.iter())
                    .all(|(first, second)| less_specific(first, second))
        }
        (Type::List(first), Type::List(second)) => less_specific(first, second),
        (Type::Map(first), Type::Map(second)) => {
            less_specific(&first.0, &second.0) && less_specific(&first.1, &second.1)
        }
        (Type::Type(_), Type::Type(_)) => true,
        (first, second) => first == second,
    }
}

/// The type with the parameters of a declaration replaced by fresh variables.
pub(crate) fn instantiate(ty: &Type, fresh: &mut impl FnMut(&str) -> u32) -> Type {
    match ty {
        Type::Param(name) => Type::Var(fresh(name)),
        Type::List(element) => Type::list(instantiate(element, fresh)),
        Type::Map(pair) => {
            let key = instantiate(&pair.0, fresh);
            Type::map(key, instantiate(&pair.1, fresh))
        }
        Type::Opaque(name, params) if !params.is_empty() => Type::Opaque(
            name.clone(),
            params.iter().map(|param| instantiate(param, fresh)).collect(),
        ),
        Type::Type(Some(inner)) => Type::Type(Some(Arc::new(instantiate(inner, fresh)))),
        _ => ty.clone(),
    }
}
