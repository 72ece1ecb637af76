//! Named formats: what a name, label or URI must look like.
//! The words about what does not are those of the API server, patterns included.

use std::fmt;
use std::sync::{Arc, OnceLock};

use kubewright_re2::Regex;

use crate::library::url::Url;
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
    "dns1123Label", "DNS1123Label", 30, |text| dns1123_label(text);
    "dns1123Subdomain", "DNS1123Subdomain", 60, |text| dns1123_subdomain(text);
    "dns1035Label", "DNS1035Label", 30, |text| dns1035_label(text);
    "qualifiedName", "QualifiedName", 60, qualified_name;
    "dns1123LabelPrefix", "DNS1123LabelPrefix", 30, |text| dns1123_label(&without_trailing_dash(text));
    "dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", 60, |text| dns1123_subdomain(&without_trailing_dash(text));
    "dns1035LabelPrefix", "DNS1035LabelPrefix", 30, |text| dns1035_label(&without_trailing_dash(text));
    "labelValue", "LabelValue", 40, label_value;
    "uri", "URI", 1103, |text| Url::parse(text).err().into_iter().collect();
    "uuid", "uuid", 70, |text| check(UUID.is_match(text), "does not match the UUID format");
    "byte", "byte", 84, |text| check(is_base64(text), "invalid base64");
    "date", "date", 71, |text| check(time::parse_date(text).is_some(), "invalid date");
    "datetime", "datetime", 71, |text| check(time::parse_timestamp(text).is_some(), "invalid datetime");
}

/// A pattern that a whole text must match, compiled when it is first needed.
struct Pattern {
    source: &'static str,
    compiled: OnceLock<Option<Arc<Regex>>>,
}

impl Pattern {
    const fn new(source: &'static str) -> Pattern {
        Pattern {
            source,
            compiled: OnceLock::new(),
        }
    }

    fn is_match(&self, text: &str) -> bool {
        let compile = || regex::compile(&format!("^(?:{})$", self.source)).ok();
        let compiled = self.compiled.get_or_init(compile);
        compiled.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

static UUID: Pattern = Pattern::new("(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}");
static LABEL: Pattern = Pattern::new("[a-z0-9]([-a-z0-9]*[a-z0-9])?");
static SUBDOMAIN: Pattern = Pattern::new("[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*");
static LABEL_1035: Pattern = Pattern::new("[a-z]([-a-z0-9]*[a-z0-9])?");
static QUALIFIED: Pattern = Pattern::new("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]");
static LABEL_VALUE: Pattern = Pattern::new("(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?");

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

pub(super) fn is_dns1123_label(text: &str) -> bool {
    dns1123_label(text).is_empty()
}

pub(super) fn is_dns1123_subdomain(text: &str) -> bool {
    dns1123_subdomain(text).is_empty()
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

fn too_long(text: &str, max: usize) -> Option<String> {
    (text.len() > max).then(|| format!("must be no more than {max} bytes"))
}

fn without_trailing_dash(name: &str) -> String {
    match name.strip_suffix('-') {
        Some(before) if name.len() > 1 => format!("{before}a"),
        _ => name.to_owned(),
    }
}

fn explained(message: &str, pattern: &Pattern, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!(
        "{message} (e.g. {}regex used for validation is '{}')",
        examples.join(" or "),
        pattern.source
    )
}

fn dns1123_label(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 63).into_iter().collect();
    if !LABEL.is_match(text) {
        problems.push(if SUBDOMAIN.is_match(text) {
            "must not contain dots".to_owned()
        } else {
            explained(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character",
                &LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    problems
}

fn dns1123_subdomain(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 253).into_iter().collect();
    if !SUBDOMAIN.is_match(text) {
        problems.push(explained(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character",
            &SUBDOMAIN,
            &["example.com"],
        ));
    }
    problems
}

fn dns1035_label(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 63).into_iter().collect();
    if !LABEL_1035.is_match(text) {
        problems.push(explained(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character",
            &LABEL_1035,
            &["my-name", "abc-123"],
        ));
    }
    problems
}

fn qualified_name(text: &str) -> Vec<String> {
    const MESSAGE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                           alphanumeric character";
    const EXAMPLES: &[&str] = &["MyName", "my.name", "123-abc"];
    let parts: Vec<&str> = text.split('/').collect();
    let mut problems = Vec::new();
    let name = match parts[..] {
        [name] => name,
        ["", name] => {
            problems.push("prefix part must be non-empty".to_owned());
            name
        }
        [prefix, name] => {
            problems.extend(
                dns1123_subdomain(prefix)
                    .into_iter()
                    .map(|problem| format!("prefix part {problem}")),
            );
            name
        }
        _ => {
            let explained = explained(MESSAGE, &QUALIFIED, EXAMPLES);
            return vec![format!(
                "a valid label key {explained} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else {
        problems.extend(too_long(name, 63).map(|problem| format!("name part {problem}")));
    }
    if !QUALIFIED.is_match(name) {
        problems.push(format!("name part {}", explained(MESSAGE, &QUALIFIED, EXAMPLES)));
    }
    problems
}

fn label_value(text: &str) -> Vec<String> {
    let mut problems: Vec<String> = too_long(text, 63).into_iter().collect();
    if !LABEL_VALUE.is_match(text) {
        problems.push(explained(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character",
            &LABEL_VALUE,
            &["MyValue", "my_value", "12345"],
        ));
    }
    problems
}
