//! Errors of conversions that say where.

use std::any::Any;
use std::fmt;

/// What stands in the way of a conversion, and at which field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    path: String,
    reason: String,
}

impl FieldError {
    /// A reason without a place.
    pub fn new(reason: impl fmt::Display) -> Self {
        FieldError {
            path: String::new(),
            reason: reason.to_string(),
        }
    }

    /// The same within a field.
    pub fn at(self, field: &str) -> Self {
        let FieldError { path, reason } = self;
        let path = match path.chars().next() {
            None => field.to_owned(),
            Some('[') => format!("{field}{path}"),
            Some(_) => format!("{field}.{path}"),
        };
        FieldError { path, reason }
    }

    /// The same within an element of a list (`[3]`) or a value of a map (`[key]`).
    pub fn at_index(self, index: impl fmt::Display) -> Self {
        self.at(&format!("[{index}]"))
    }

    /// The field, as `spec.ports[3].name`. Empty for the object as a whole.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong with it.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.reason)
        } else {
            write!(f, "{}: {}", self.path, self.reason)
        }
    }
}

impl std::error::Error for FieldError {}

/// What the code that `#[derive(Convert)]` writes calls. Nobody else does; it changes with the derive.
pub mod support {
    use super::{Any, FieldError, fmt};

    /// Any error as a located one; located ones keep their place.
    pub fn located<E: fmt::Display + 'static>(error: E) -> FieldError {
        match (&error as &dyn Any).downcast_ref::<FieldError>() {
            Some(located) => located.clone(),
            None => FieldError::new(error),
        }
    }

    /// A value that is there.
    pub fn option<A, B>(
        value: Option<A>,
        convert: impl FnOnce(A) -> Result<B, FieldError>,
    ) -> Result<Option<B>, FieldError> {
        value.map(convert).transpose()
    }

    /// The elements of a list.
    pub fn list<A, B, C: FromIterator<B>>(
        values: impl IntoIterator<Item = A>,
        convert: impl Fn(A) -> Result<B, FieldError>,
    ) -> Result<C, FieldError> {
        let converted = values.into_iter().enumerate();
        converted
            .map(|(index, value)| convert(value).map_err(|error| error.at_index(index)))
            .collect()
    }

    /// The values of a map.
    pub fn map<K: fmt::Display, A, L: From<K>, B, C: FromIterator<(L, B)>>(
        values: impl IntoIterator<Item = (K, A)>,
        convert: impl Fn(A) -> Result<B, FieldError>,
    ) -> Result<C, FieldError> {
        let converted = values.into_iter().map(|(key, value)| match convert(value) {
            Ok(value) => Ok((L::from(key), value)),
            Err(error) => Err(error.at_index(key)),
        });
        converted.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_put_together_from_the_inside_out() {
        let error = FieldError::new("no").at("name").at_index(3).at("ports").at("spec");
        assert_eq!(error.to_string(), "spec.ports[3].name: no");
        assert_eq!(FieldError::new("no").at_index("a").at("map").path(), "map[a]");
        assert_eq!(FieldError::new("no").to_string(), "no");
    }

    #[test]
    fn a_located_error_keeps_its_place_and_others_their_words() {
        let parse = "x".parse::<u8>().unwrap_err();
        assert_eq!(support::located(parse).to_string(), "invalid digit found in string");
        assert_eq!(support::located(FieldError::new("no").at("a")).at("b").path(), "b.a");
    }
}
