//! Field paths and the errors that validation collects, worded as the API machinery words them (E3).

use std::fmt::{self, Write as _};

use serde_json::Value;

/// A place in an object, built on the stack while walking it and rendered only when an error names it.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// The path of a top-level field, such as `metadata`.
    pub fn root(name: &'a str) -> Self {
        Path {
            parent: None,
            step: Step::Field(name),
        }
    }

    /// A field below this place.
    pub fn child<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path {
            parent: Some(self),
            step: Step::Field(name),
        }
    }

    /// An item of the list at this place.
    pub fn index(&self, index: usize) -> Path<'_> {
        Path {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    /// An entry of the map at this place.
    pub fn key<'b>(&'b self, key: &'b str) -> Path<'b> {
        Path {
            parent: Some(self),
            step: Step::Key(key),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Field(name) => {
                if self.parent.is_some() {
                    f.write_char('.')?;
                }
                f.write_str(name)
            }
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

/// Why a field was refused. [`Self::reason`] is what `details.causes[].reason` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The field must have a value.
    Required,
    /// The value is malformed or out of range.
    Invalid,
    /// The value is none of the supported ones.
    NotSupported,
    /// The value must be unique and is not.
    Duplicate,
    /// The field may not be set, or not be changed.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// There are too many items.
    TooMany,
    /// What the value refers to does not exist.
    NotFound,
    /// The value has the wrong type.
    TypeInvalid,
    /// The server failed while checking the field.
    Internal,
}

impl ErrorKind {
    /// The machine-readable reason of the cause.
    pub fn reason(self) -> &'static str {
        match self {
            ErrorKind::Required => "FieldValueRequired",
            ErrorKind::Invalid => "FieldValueInvalid",
            ErrorKind::NotSupported => "FieldValueNotSupported",
            ErrorKind::Duplicate => "FieldValueDuplicate",
            ErrorKind::Forbidden => "FieldValueForbidden",
            ErrorKind::TooLong => "FieldValueTooLong",
            ErrorKind::TooMany => "FieldValueTooMany",
            ErrorKind::NotFound => "FieldValueNotFound",
            ErrorKind::TypeInvalid => "FieldValueTypeInvalid",
            ErrorKind::Internal => "InternalError",
        }
    }

    fn title(self) -> &'static str {
        match self {
            ErrorKind::Required => "Required value",
            ErrorKind::Invalid | ErrorKind::TypeInvalid => "Invalid value",
            ErrorKind::NotSupported => "Unsupported value",
            ErrorKind::Duplicate => "Duplicate value",
            ErrorKind::Forbidden => "Forbidden",
            ErrorKind::TooLong => "Too long",
            ErrorKind::TooMany => "Too many",
            ErrorKind::NotFound => "Not found",
            ErrorKind::Internal => "Internal error",
        }
    }
}

/// One refused field. `Display` is the whole sentence, [`Error::body`] the sentence without the field's name.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// Why it was refused.
    pub kind: ErrorKind,
    /// The rendered path.
    pub field: String,
    /// The offending value, where the kind shows one.
    pub value: Option<Value>,
    /// The explanation; may be empty.
    pub detail: String,
}

impl Error {
    fn new(kind: ErrorKind, path: &Path<'_>, value: Option<Value>, detail: impl Into<String>) -> Self {
        Error {
            kind,
            field: path.to_string(),
            value,
            detail: detail.into(),
        }
    }

    /// The field must have a value.
    pub fn required(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Required, path, None, detail)
    }

    /// The value is malformed or out of range.
    pub fn invalid(path: &Path<'_>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, path, Some(value.into()), detail)
    }

    /// The value has the wrong type.
    pub fn type_invalid(path: &Path<'_>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::TypeInvalid, path, Some(value.into()), detail)
    }

    /// The value is none of `supported`, which are listed in the order given.
    pub fn not_supported(path: &Path<'_>, value: impl Into<Value>, supported: &[&str]) -> Self {
        let listed: Vec<String> = supported.iter().map(|value| go_quote(value)).collect();
        let detail = if listed.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", listed.join(", "))
        };
        Self::new(ErrorKind::NotSupported, path, Some(value.into()), detail)
    }

    /// The value must be unique and is not.
    pub fn duplicate(path: &Path<'_>, value: impl Into<Value>) -> Self {
        Self::new(ErrorKind::Duplicate, path, Some(value.into()), "")
    }

    /// The field may not be set, or not be changed.
    pub fn forbidden(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, path, None, detail)
    }

    /// The value is longer than `max` bytes.
    pub fn too_long(path: &Path<'_>, max: usize) -> Self {
        Self::new(
            ErrorKind::TooLong,
            path,
            None,
            format!("may not be more than {max} bytes"),
        )
    }

    /// There are `actual` items where at most `max` may be.
    pub fn too_many(path: &Path<'_>, actual: usize, max: usize) -> Self {
        let plural = if max == 1 { "" } else { "s" };
        Self::new(
            ErrorKind::TooMany,
            path,
            Some(actual.into()),
            format!("must have at most {max} item{plural}"),
        )
    }

    /// What the value refers to does not exist.
    pub fn not_found(path: &Path<'_>, value: impl Into<Value>) -> Self {
        Self::new(ErrorKind::NotFound, path, Some(value.into()), "")
    }

    /// The sentence without the field's name: what `details.causes[].message` says.
    pub fn body(&self) -> String {
        let mut text = self.kind.title().to_owned();
        if let Some(value) = &self.value {
            text.push_str(": ");
            match value {
                Value::String(string) => text.push_str(&go_quote(string)),
                Value::Number(number) if number.is_f64() => {
                    text.push_str(&go_float(number.as_f64().unwrap_or_default()));
                }
                other => text.push_str(&other.to_string()),
            }
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// What a validation collects: every refused field, in the order found.
pub type Errors = Vec<Error>;

/// A float as Go's `%v` prints it: the shortest digits, scientific from `1e6` up and below `1e-4`.
pub fn go_float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if number == 0.0 || (1e-4..1e6).contains(&number.abs()) {
        return number.to_string();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// A string as Go's `%q` prints it.
pub fn go_quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                let _ = write!(quoted, "\\x{:02x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
