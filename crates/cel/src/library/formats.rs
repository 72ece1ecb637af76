//! Named formats: what a name, label or URI must look like.
//! The messages are those of the API server, patterns included.

use std::fmt;
use std::sync::{Arc, OnceLock};

use kubewright_apimachinery::names::{self, mask_trailing_dash};
use kubewright_apimachinery::url::Url;
use kubewright_re2::Regex;

use crate::library::{Implementation, Opaque, regex, time, wrong};
use crate::value::{Outcome, Value};

/// A named format.
pub struct Format {
    pub(super) name: &'static str,
    key: &'static str,
    /// The length of the pattern behind it, from which its price is computed.
    pub(super) pattern_size: u64,
    validate: fn(&str) -> Vec<String>,
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! formats {
    ($($key:literal, $name:literal, $size:literal, $validate:expr;)*) => {
        static FORMATS: &[Format] = &[$(Format { name: $name, key: $key, pattern_size: $size, validate: $validate },)*];
        fn constant(name: &str) -> Option<Implementation> {
            Some(match name {
                $(concat!("format.", $key) => |_| Ok(named($key)),)*
                _ => return None,
            })
        }
    };
}

formats! {
    "dns1123Label", "DNS1123Label", 30, names::dns1123_label;
    "dns1123Subdomain", "DNS1123Subdomain", 60, names::dns1123_subdomain;
    "dns1035Label", "DNS1035Label", 30, names::dns1035_label;
    "qualifiedName", "QualifiedName", 60, names::qualified_name;
    "dns1123LabelPrefix", "DNS1123LabelPrefix", 30, |text| names::dns1123_label(&mask_trailing_dash(text));
    "dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", 60, |text| names::dns1123_subdomain(&mask_trailing_dash(text));
    "dns1035LabelPrefix", "DNS1035LabelPrefix", 30, |text| names::dns1035_label(&mask_trailing_dash(text));
    "labelValue", "LabelValue", 40, names::label_value;
    "uri", "URI", 1103, |text| Url::parse_request(text).err().into_iter().collect();
    "uuid", "uuid", 70, |text| check(is_uuid(text), "does not match the UUID format");
    "byte", "byte", 84, |text| check(is_base64(text), "invalid base64");
    "date", "date", 71, |text| check(time::parse_date(text).is_some(), "invalid date");
    "datetime", "datetime", 71, |text| check(time::parse_timestamp(text).is_some(), "invalid datetime");
}

fn is_uuid(text: &str) -> bool {
    static UUID: OnceLock<Option<Arc<Regex>>> = OnceLock::new();
    let pattern = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
    let compiled = UUID.get_or_init(|| regex::compile(pattern).ok());
    compiled.as_ref().is_some_and(|regex| regex.is_match(text))
}

fn named<'a>(key: &str) -> Value<'a> {
    match FORMATS.iter().find(|format| format.key == key) {
        Some(format) => Value::Opaque(Arc::new(Opaque::Format(format))),
        None => Value::Null,
    }
}

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "validate" => validate,
        "format.named" => |args| match args {
            [Value::String(name)] if FORMATS.iter().any(|format| format.key == name.as_str()) => {
                Ok(Value::some(named(name.as_str())))
            }
            [Value::String(_)] => Ok(Value::Optional(None)),
            _ => wrong(),
        },
        _ => return constant(name),
    })
}

fn validate<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::Opaque(format), Value::String(text)] = args else {
        return wrong();
    };
    let Opaque::Format(format) = &**format else {
        return wrong();
    };
    let problems = (format.validate)(text.as_str());
    if problems.is_empty() {
        return Ok(Value::Optional(None));
    }
    Ok(Value::some(Value::list(
        problems.into_iter().map(Value::text).collect(),
    )))
}

fn check(valid: bool, message: &str) -> Vec<String> {
    if valid { Vec::new() } else { vec![message.to_owned()] }
}

fn is_base64(text: &str) -> bool {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).is_ok()
}
