//! What is wrong with one field, and how several such errors read together.

use std::fmt;

use super::value::BadValue;
use crate::go::quote;

/// Why a field was refused; the `reason` of a cause in the server's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorType {
    /// What the value refers to does not exist.
    NotFound,
    /// The field must have a value.
    Required,
    /// The value must be unique and is not.
    Duplicate,
    /// The value is malformed or out of range.
    Invalid,
    /// The value is none of the supported ones.
    NotSupported,
    /// The field may not be set, or not be changed.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// The value is too short.
    TooShort,
    /// The list has too many items.
    TooMany,
    /// The list has too few items.
    TooFew,
    /// The value is of another type.
    TypeInvalid,
    /// The server failed while it checked the field.
    Internal,
}

impl ErrorType {
    /// What `details.causes[].reason` says.
    pub fn reason(self) -> &'static str {
        match self {
            ErrorType::NotFound => "FieldValueNotFound",
            ErrorType::Required => "FieldValueRequired",
            ErrorType::Duplicate => "FieldValueDuplicate",
            ErrorType::Invalid => "FieldValueInvalid",
            ErrorType::NotSupported => "FieldValueNotSupported",
            ErrorType::Forbidden => "FieldValueForbidden",
            ErrorType::TooLong => "FieldValueTooLong",
            ErrorType::TooShort => "FieldValueTooShort",
            ErrorType::TooMany => "FieldValueTooMany",
            ErrorType::TooFew => "FieldValueTooFew",
            ErrorType::TypeInvalid => "FieldValueTypeInvalid",
            ErrorType::Internal => "InternalError",
        }
    }

    fn title(self) -> &'static str {
        match self {
            ErrorType::NotFound => "Not found",
            ErrorType::Required => "Required value",
            ErrorType::Duplicate => "Duplicate value",
            ErrorType::Invalid | ErrorType::TypeInvalid => "Invalid value",
            ErrorType::NotSupported => "Unsupported value",
            ErrorType::Forbidden => "Forbidden",
            ErrorType::TooLong => "Too long",
            ErrorType::TooShort => "Too short",
            ErrorType::TooMany => "Too many",
            ErrorType::TooFew => "Too few",
            ErrorType::Internal => "Internal error",
        }
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

/// What is wrong with one field. `Display` is the whole sentence, [`FieldError::body`] the sentence without the path.
///
/// The constructors take the path as anything that prints: a [`Path`](super::Path), a [`PathRef`](super::PathRef).
///
/// It is no `std::error::Error`: `?` in a validator would turn a refused field into a failure of the validator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Why the field was refused.
    pub kind: ErrorType,
    /// The path of the field.
    pub field: String,
    /// The value that was refused, where the message shows it.
    pub value: Option<BadValue>,
    /// The explanation; may be empty.
    pub detail: String,
}

impl FieldError {
    /// An error of any type. The other constructors choose type, value and detail as Kubernetes does.
    pub fn new(
        kind: ErrorType,
        field: &(impl fmt::Display + ?Sized),
        value: Option<BadValue>,
        detail: impl Into<String>,
    ) -> Self {
        FieldError {
            kind,
            field: field.to_string(),
            value,
            detail: detail.into(),
        }
    }

    /// The field must have a value.
    pub fn required(field: &(impl fmt::Display + ?Sized), detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Required, field, None, detail)
    }

    /// The value is malformed or out of range.
    pub fn invalid(
        field: &(impl fmt::Display + ?Sized),
        value: impl Into<BadValue>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(ErrorType::Invalid, field, Some(value.into()), detail)
    }

    /// The value is of another type.
    pub fn type_invalid(
        field: &(impl fmt::Display + ?Sized),
        value: impl Into<BadValue>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(ErrorType::TypeInvalid, field, Some(value.into()), detail)
    }

    /// The value is none of `supported`, which the message lists in the order given.
    pub fn not_supported<S: AsRef<str>>(
        field: &(impl fmt::Display + ?Sized),
        value: impl Into<BadValue>,
        supported: impl IntoIterator<Item = S>,
    ) -> Self {
        let listed: Vec<String> = supported.into_iter().map(|name| quote(name.as_ref())).collect();
        let detail = if listed.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", listed.join(", "))
        };
        Self::new(ErrorType::NotSupported, field, Some(value.into()), detail)
    }

    /// The field may not be set, or not be changed.
    pub fn forbidden(field: &(impl fmt::Display + ?Sized), detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Forbidden, field, None, detail)
    }

    /// The value must be unique and is not.
    pub fn duplicate(field: &(impl fmt::Display + ?Sized), value: impl Into<BadValue>) -> Self {
        Self::new(ErrorType::Duplicate, field, Some(value.into()), "")
    }

    /// What the value refers to does not exist.
    pub fn not_found(field: &(impl fmt::Display + ?Sized), value: impl Into<BadValue>) -> Self {
        Self::new(ErrorType::NotFound, field, Some(value.into()), "")
    }

    /// The value has more than `most` bytes.
    pub fn too_long(field: &(impl fmt::Display + ?Sized), most: usize) -> Self {
        let detail = format!("may not be more than {}", count(most, "byte"));
        Self::new(ErrorType::TooLong, field, None, detail)
    }

    /// The value has more than `most` characters.
    pub fn too_long_characters(field: &(impl fmt::Display + ?Sized), most: usize) -> Self {
        let detail = format!("may not be more than {}", count(most, "character"));
        Self::new(ErrorType::TooLong, field, None, detail)
    }

    /// The value has fewer than `least` characters.
    pub fn too_short(field: &(impl fmt::Display + ?Sized), least: usize) -> Self {
        let detail = format!("must be at least {}", count(least, "character"));
        Self::new(ErrorType::TooShort, field, None, detail)
    }

    /// The list has `actual` items, and may have `most`.
    pub fn too_many(field: &(impl fmt::Display + ?Sized), actual: usize, most: usize) -> Self {
        let detail = format!("must have at most {}", count(most, "item"));
        Self::new(ErrorType::TooMany, field, Some(actual.into()), detail)
    }

    /// The list has `actual` items, and must have `least`.
    pub fn too_few(field: &(impl fmt::Display + ?Sized), actual: usize, least: usize) -> Self {
        let detail = format!("must have at least {}", count(least, "item"));
        Self::new(ErrorType::TooFew, field, Some(actual.into()), detail)
    }

    /// The field could not be checked; that is not the mistake of who sent it.
    pub fn internal(field: &(impl fmt::Display + ?Sized), error: impl fmt::Display) -> Self {
        Self::new(ErrorType::Internal, field, None, error.to_string())
    }

    /// The sentence without the path: what `details.causes[].message` says.
    pub fn body(&self) -> String {
        let mut text = self.kind.title().to_owned();
        for part in self
            .value
            .as_ref()
            .map(BadValue::as_str)
            .into_iter()
            .chain(self.detail())
        {
            text.push_str(": ");
            text.push_str(part);
        }
        text
    }

    fn detail(&self) -> Option<&str> {
        Some(self.detail.as_str()).filter(|detail| !detail.is_empty())
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// What a validation collects: every refused field, in the order found.
pub type Errors = Vec<FieldError>;

/// The sentences of all errors as one, as Go's `ErrorList.ToAggregate` prints them: equal ones once, several in brackets.
/// `None` if there are no errors.
pub fn aggregate(errors: &[FieldError]) -> Option<String> {
    crate::errors::aggregate(errors.iter().map(ToString::to_string))
}

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::super::Path;
    use super::*;

    #[test]
    fn every_error_reads_as_kubernetes_words_it() {
        let spec = Path::new("spec");
        for (error, sentence) in [
            (FieldError::required(&spec, ""), "spec: Required value"),
            (FieldError::required(&spec, "why"), "spec: Required value: why"),
            (
                FieldError::invalid(&spec, "a b", "why"),
                r#"spec: Invalid value: "a b": why"#,
            ),
            (
                FieldError::type_invalid(&spec, "x", "why"),
                r#"spec: Invalid value: "x": why"#,
            ),
            (
                FieldError::not_supported(&spec, "SMTP", ["TCP", "UDP"]),
                r#"spec: Unsupported value: "SMTP": supported values: "TCP", "UDP""#,
            ),
            (
                FieldError::not_supported(&spec, 1, [""; 0]),
                "spec: Unsupported value: 1",
            ),
            (FieldError::forbidden(&spec, "why"), "spec: Forbidden: why"),
            (FieldError::duplicate(&spec, 80), "spec: Duplicate value: 80"),
            (FieldError::not_found(&spec, "gold"), r#"spec: Not found: "gold""#),
            (
                FieldError::too_long(&spec, 63),
                "spec: Too long: may not be more than 63 bytes",
            ),
            (
                FieldError::too_long(&spec, 1),
                "spec: Too long: may not be more than 1 byte",
            ),
            (
                FieldError::too_long_characters(&spec, 63),
                "spec: Too long: may not be more than 63 characters",
            ),
            (
                FieldError::too_short(&spec, 1),
                "spec: Too short: must be at least 1 character",
            ),
            (
                FieldError::too_many(&spec, 7, 5),
                "spec: Too many: 7: must have at most 5 items",
            ),
            (
                FieldError::too_few(&spec, 0, 1),
                "spec: Too few: 0: must have at least 1 item",
            ),
            (
                FieldError::internal(&spec, "no answer"),
                "spec: Internal error: no answer",
            ),
        ] {
            assert_eq!(error.to_string(), sentence);
        }
    }

    #[test]
    fn equal_sentences_are_aggregated_once() {
        let error = |detail| FieldError::forbidden("spec", detail);
        assert_eq!(aggregate(&[]), None);
        assert_eq!(
            aggregate(&[error("a"), error("a")]).as_deref(),
            Some("spec: Forbidden: a")
        );
        assert_eq!(
            aggregate(&[error("b"), error("a"), error("b")]).as_deref(),
            Some("[spec: Forbidden: b, spec: Forbidden: a]")
        );
    }
}
