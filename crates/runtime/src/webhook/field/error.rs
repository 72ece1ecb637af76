//! What is wrong with one field.

use std::fmt;

use kubewright_codec::quote;

use super::path::Path;
use super::value::BadValue;

/// What kind of mistake it is; the `reason` of a cause in the server's answer.
///
/// ```
/// use kubewright_runtime::webhook::field::ErrorType;
///
/// assert_eq!(ErrorType::Required.reason(), "FieldValueRequired");
/// assert_eq!(ErrorType::Required.to_string(), "Required value");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorType {
    /// What the value names does not exist.
    NotFound,
    /// There is no value.
    Required,
    /// Another field has this value, and must not.
    Duplicate,
    /// The value makes no sense.
    Invalid,
    /// The value is none of those known.
    NotSupported,
    /// The field may not be set here.
    Forbidden,
    /// The value has too many characters.
    TooLong,
    /// The value has too few characters.
    TooShort,
    /// The list has too many items.
    TooMany,
    /// The list has too few items.
    TooFew,
    /// The value is of another type.
    TypeInvalid,
    /// Not the user's mistake.
    Internal,
}

impl ErrorType {
    /// The word that programs read.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::ErrorType;
    ///
    /// assert_eq!(ErrorType::Invalid.reason(), "FieldValueInvalid");
    /// ```
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
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
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
        })
    }
}

/// What is wrong with one field.
///
/// ```
/// use kubewright_runtime::webhook::field::{FieldError, Path};
///
/// let replicas = Path::new("spec").child("replicas");
/// let error = FieldError::invalid(&replicas, 100, "replicas must be in the range of 1 to 5.");
/// assert_eq!(error.to_string(), "spec.replicas: Invalid value: 100: replicas must be in the range of 1 to 5.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// What kind of mistake.
    pub kind: ErrorType,
    /// Which field.
    pub field: String,
    /// Its value, where the message shows it.
    pub value: Option<BadValue>,
    /// What to do about it.
    pub detail: String,
}

impl FieldError {
    fn new(kind: ErrorType, field: &Path, value: Option<BadValue>, detail: impl Into<String>) -> Self {
        FieldError {
            kind,
            field: field.to_string(),
            value,
            detail: detail.into(),
        }
    }

    /// There is no value.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// let error = FieldError::required(&Path::new("spec").child("markdowns"), "markdowns must have SUMMARY.md.");
    /// assert_eq!(error.to_string(), "spec.markdowns: Required value: markdowns must have SUMMARY.md.");
    /// ```
    pub fn required(field: &Path, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Required, field, None, detail)
    }

    /// The value makes no sense.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// let error = FieldError::invalid(&Path::new("spec"), "x y", "must not have spaces");
    /// assert_eq!(error.to_string(), r#"spec: Invalid value: "x y": must not have spaces"#);
    /// ```
    pub fn invalid(field: &Path, value: impl Into<BadValue>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Invalid, field, Some(value.into()), detail)
    }

    /// The value is of another type.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// let error = FieldError::type_invalid(&Path::new("spec"), "x", "must be an integer");
    /// assert_eq!(error.to_string(), r#"spec: Invalid value: "x": must be an integer"#);
    /// ```
    pub fn type_invalid(field: &Path, value: impl Into<BadValue>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::TypeInvalid, field, Some(value.into()), detail)
    }

    /// The value is none of those known.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// let error = FieldError::not_supported(&Path::new("spec").child("protocol"), "SMTP", ["TCP", "UDP"]);
    /// assert_eq!(error.to_string(), r#"spec.protocol: Unsupported value: "SMTP": supported values: "TCP", "UDP""#);
    /// ```
    pub fn not_supported<S: AsRef<str>>(
        field: &Path,
        value: impl Into<BadValue>,
        supported: impl IntoIterator<Item = S>,
    ) -> Self {
        let names: Vec<String> = supported.into_iter().map(|name| quote(name.as_ref())).collect();
        let detail = if names.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", names.join(", "))
        };
        Self::new(ErrorType::NotSupported, field, Some(value.into()), detail)
    }

    /// The field may not be set, or not be changed, here.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// let error = FieldError::forbidden(&Path::new("spec").child("image"), "may not be changed");
    /// assert_eq!(error.to_string(), "spec.image: Forbidden: may not be changed");
    /// ```
    pub fn forbidden(field: &Path, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Forbidden, field, None, detail)
    }

    /// Another field has this value already.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// let error = FieldError::duplicate(&Path::new("spec").child("ports").index(1), 80);
    /// assert_eq!(error.to_string(), "spec.ports[1]: Duplicate value: 80");
    /// ```
    pub fn duplicate(field: &Path, value: impl Into<BadValue>) -> Self {
        Self::new(ErrorType::Duplicate, field, Some(value.into()), "")
    }

    /// What the value names does not exist.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// let error = FieldError::not_found(&Path::new("spec").child("class"), "gold");
    /// assert_eq!(error.to_string(), r#"spec.class: Not found: "gold""#);
    /// ```
    pub fn not_found(field: &Path, value: impl Into<BadValue>) -> Self {
        Self::new(ErrorType::NotFound, field, Some(value.into()), "")
    }

    /// The value has more bytes than this.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// let error = FieldError::too_long(&Path::new("spec").child("title"), 63);
    /// assert_eq!(error.to_string(), "spec.title: Too long: may not be more than 63 bytes");
    /// ```
    pub fn too_long(field: &Path, most: usize) -> Self {
        let detail = format!("may not be more than {}", count(most, "byte"));
        Self::new(ErrorType::TooLong, field, None, detail)
    }

    /// The value has more characters than this.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// let error = FieldError::too_long_characters(&Path::new("spec").child("title"), 63);
    /// assert_eq!(error.to_string(), "spec.title: Too long: may not be more than 63 characters");
    /// ```
    pub fn too_long_characters(field: &Path, most: usize) -> Self {
        let detail = format!("may not be more than {}", count(most, "character"));
        Self::new(ErrorType::TooLong, field, None, detail)
    }

    /// The value has fewer characters than this.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// let error = FieldError::too_short(&Path::new("spec").child("title"), 1);
    /// assert_eq!(error.to_string(), "spec.title: Too short: must be at least 1 character");
    /// ```
    pub fn too_short(field: &Path, least: usize) -> Self {
        let detail = format!("must be at least {}", count(least, "character"));
        Self::new(ErrorType::TooShort, field, None, detail)
    }

    /// The list has more items than this.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// let error = FieldError::too_many(&Path::new("spec").child("ports"), 7, 5);
    /// assert_eq!(error.to_string(), "spec.ports: Too many: 7: must have at most 5 items");
    /// ```
    pub fn too_many(field: &Path, actual: usize, most: usize) -> Self {
        let detail = format!("must have at most {}", count(most, "item"));
        Self::new(ErrorType::TooMany, field, Some(actual.into()), detail)
    }

    /// The list has fewer items than this.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// let error = FieldError::too_few(&Path::new("spec").child("ports"), 0, 1);
    /// assert_eq!(error.to_string(), "spec.ports: Too few: 0: must have at least 1 item");
    /// ```
    pub fn too_few(field: &Path, actual: usize, least: usize) -> Self {
        let detail = format!("must have at least {}", count(least, "item"));
        Self::new(ErrorType::TooFew, field, Some(actual.into()), detail)
    }

    /// The field could not be judged; not the user's mistake.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// let error = FieldError::internal(&Path::new("spec"), "the registry does not answer");
    /// assert_eq!(error.to_string(), "spec: Internal error: the registry does not answer");
    /// ```
    pub fn internal(field: &Path, error: impl fmt::Display) -> Self {
        Self::new(ErrorType::Internal, field, None, error.to_string())
    }

    /// The message without the field's name.
    ///
    /// ```
    /// use kubewright_runtime::webhook::field::{FieldError, Path};
    ///
    /// assert_eq!(FieldError::duplicate(&Path::new("spec"), true).body(), "Duplicate value: true");
    /// ```
    pub fn body(&self) -> String {
        let mut text = self.kind.to_string();
        if let Some(value) = &self.value {
            text.push_str(": ");
            text.push_str(&value.to_string());
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
