//! What may be a name. Each function answers with upstream's complaints about a value; none means the value is fine.
//! Lengths are counted in bytes, and nothing here looks at a byte more than a few times.

use kubewright_apimachinery::field::{Errors, PathRef};

use super::net;

/// Complaints about one value, in upstream's order; empty when it is fine.
pub type Complaints = Vec<String>;

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const SUBDOMAIN_WORDS: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const LABEL_KEY_WORDS: &str =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// The longest DNS-1123 or DNS-1035 label, label value and name part of a qualified name.
pub(crate) const LABEL_MAX: usize = 63;
/// The longest DNS-1123 subdomain.
pub(crate) const SUBDOMAIN_MAX: usize = 253;

/// How upstream says that a value does not match a regular expression.
pub(crate) fn regex_message(words: &str, expression: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{words} (regex used for validation is '{expression}')");
    }
    let quoted: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!(
        "{words} (e.g. {}regex used for validation is '{expression}')",
        quoted.join(" or ")
    )
}

/// How upstream's older rules say that a value is too long; newer ones count [`max_bytes_message`].
pub(crate) fn max_length_message(max: usize) -> String {
    format!("must be no more than {max} characters")
}

/// How upstream's newer rules (label keys and values) say that a value is too long.
pub(crate) fn max_bytes_message(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

/// How upstream says that a number is out of range.
pub(crate) fn range_message(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

fn is_lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// `first` and `last` bytes are as told, those between also.
fn framed(text: &str, first: fn(u8) -> bool, middle: fn(u8) -> bool, last: fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [only] => first(*only),
        [head, between @ .., tail] => first(*head) && last(*tail) && between.iter().all(|byte| middle(*byte)),
    }
}

fn is_dns1123_label(text: &str) -> bool {
    framed(
        text,
        is_lower_alphanumeric,
        |byte| byte == b'-' || is_lower_alphanumeric(byte),
        is_lower_alphanumeric,
    )
}

fn is_dns1123_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns1123_label)
}

fn is_label_key_part(text: &str) -> bool {
    fn outer(byte: u8) -> bool {
        byte.is_ascii_alphanumeric()
    }
    framed(
        text,
        outer,
        |byte| outer(byte) || matches!(byte, b'-' | b'_' | b'.'),
        outer,
    )
}

/// A lowercase DNS label (RFC 1123), at most 63 long: namespaces, container names.
pub(crate) fn dns1123_label(value: &str) -> Complaints {
    let mut complaints = Complaints::new();
    if value.len() > LABEL_MAX {
        complaints.push(max_length_message(LABEL_MAX));
    }
    if !is_dns1123_label(value) {
        complaints.push(if is_dns1123_subdomain(value) {
            "must not contain dots".to_owned()
        } else {
            regex_message(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                DNS1123_LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    complaints
}

/// Lowercase DNS labels joined by dots (RFC 1123), at most 253 long: the names of most objects.
pub fn dns1123_subdomain(value: &str) -> Complaints {
    subdomain(value, max_length_message)
}

fn subdomain(value: &str, too_long: fn(usize) -> String) -> Complaints {
    let mut complaints = Complaints::new();
    if value.len() > SUBDOMAIN_MAX {
        complaints.push(too_long(SUBDOMAIN_MAX));
    }
    if !is_dns1123_subdomain(value) {
        complaints.push(regex_message(SUBDOMAIN_WORDS, DNS1123_SUBDOMAIN, &["example.com"]));
    }
    complaints
}

/// As [`dns1123_subdomain`], with underscores allowed: what a pod's DNS searches may be.
pub(crate) fn dns1123_subdomain_with_underscore(value: &str) -> Complaints {
    fn is_label(text: &str) -> bool {
        let text = text.strip_prefix('_').unwrap_or(text);
        framed(
            text,
            is_lower_alphanumeric,
            |byte| matches!(byte, b'-' | b'_') || is_lower_alphanumeric(byte),
            is_lower_alphanumeric,
        )
    }
    let mut complaints = Complaints::new();
    if value.len() > SUBDOMAIN_MAX {
        complaints.push(max_length_message(SUBDOMAIN_MAX));
    }
    if !value.split('.').all(is_label) {
        complaints.push(regex_message(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    complaints
}

/// A DNS label that starts with a letter (RFC 1035), at most 63 long.
pub fn dns1035_label(value: &str) -> Complaints {
    let mut complaints = Complaints::new();
    if value.len() > LABEL_MAX {
        complaints.push(max_length_message(LABEL_MAX));
    }
    let matches = framed(
        value,
        |byte| byte.is_ascii_lowercase(),
        |byte| byte == b'-' || is_lower_alphanumeric(byte),
        is_lower_alphanumeric,
    );
    if !matches {
        complaints.push(regex_message(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    complaints
}

/// `*.` followed by a DNS-1123 subdomain: a wildcard host of an Ingress.
pub(crate) fn wildcard_dns1123_subdomain(value: &str) -> Complaints {
    let mut complaints = Complaints::new();
    if value.len() > SUBDOMAIN_MAX {
        complaints.push(max_length_message(SUBDOMAIN_MAX));
    }
    if !value.strip_prefix("*.").is_some_and(is_dns1123_subdomain) {
        complaints.push(regex_message(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            &format!(r"\*\.{DNS1123_SUBDOMAIN}"),
            &["*.example.com"],
        ));
    }
    complaints
}

/// An optional DNS prefix, a slash, and a name: label keys, finalizers, condition types, resource names.
pub fn qualified_name(value: &str) -> Complaints {
    let mut complaints = Complaints::new();
    let examples = ["MyName", "my.name", "123-abc"];
    let mut parts = value.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                complaints.push("prefix part must be non-empty".to_owned());
            } else {
                let of_prefix = subdomain(prefix, max_bytes_message);
                complaints.extend(
                    of_prefix
                        .into_iter()
                        .map(|complaint| format!("prefix part {complaint}")),
                );
            }
            name
        }
        _ => {
            let words = regex_message(LABEL_KEY_WORDS, LABEL_KEY, &examples);
            return vec![format!(
                "a valid label key {words} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        complaints.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        complaints.push(format!("name part {}", max_bytes_message(LABEL_MAX)));
    }
    if !is_label_key_part(name) {
        complaints.push(format!(
            "name part {}",
            regex_message(LABEL_KEY_WORDS, LABEL_KEY, &examples)
        ));
    }
    complaints
}

/// The value of a label: empty, or at most 63 of letters, digits, `-`, `_`, `.` with alphanumeric ends.
pub fn label_value(value: &str) -> Complaints {
    let mut complaints = Complaints::new();
    if value.len() > LABEL_MAX {
        complaints.push(max_bytes_message(LABEL_MAX));
    }
    if !value.is_empty() && !is_label_key_part(value) {
        complaints.push(regex_message(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
            &["MyValue", "my_value", "12345"],
        ));
    }
    complaints
}

/// A key of a `ConfigMap` or `Secret`: it becomes a file name.
pub(crate) fn config_map_key(value: &str) -> Complaints {
    let mut complaints = Complaints::new();
    if value.len() > SUBDOMAIN_MAX {
        complaints.push(max_length_message(SUBDOMAIN_MAX));
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if value.is_empty() || !value.bytes().all(allowed) {
        complaints.push(regex_message(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    complaints.extend(climbing(value));
    complaints
}

/// Names that would climb out of a directory.
fn climbing(value: &str) -> Option<String> {
    match value {
        "." => Some("must not be '.'".to_owned()),
        ".." => Some("must not be '..'".to_owned()),
        _ if value.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    }
}

/// An environment variable's name under the relaxed rule 1.36 uses: printable ASCII without `=`.
pub(crate) fn env_var_name(value: &str) -> Complaints {
    let mut complaints = Complaints::new();
    if value.is_empty() {
        complaints.push("environment variable name must be non-empty".to_owned());
    }
    if value.bytes().any(|byte| !(b' '..=b'~').contains(&byte) || byte == b'=') {
        complaints.push(
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
                .to_owned(),
        );
    }
    complaints
}

/// A C identifier.
pub(crate) fn c_identifier(value: &str) -> Complaints {
    let starts = value
        .bytes()
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_');
    if starts && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Complaints::new();
    }
    vec![regex_message(
        "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
        "[A-Za-z_][A-Za-z0-9_]*",
        &["my_name", "MY_NAME", "MyName"],
    )]
}

/// The name of a port (an IANA service name).
pub(crate) fn port_name(value: &str) -> Complaints {
    let mut complaints = Complaints::new();
    if value.len() > 15 {
        complaints.push(max_length_message(15));
    }
    if value.is_empty() || !value.bytes().all(|byte| byte == b'-' || is_lower_alphanumeric(byte)) {
        complaints.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !value.bytes().any(|byte| byte.is_ascii_lowercase()) {
        complaints.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        complaints.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        complaints.push("must not begin or end with a hyphen".to_owned());
    }
    complaints
}

/// A number in an inclusive range.
pub(crate) fn in_range(value: i64, low: i64, high: i64) -> Complaints {
    if (low..=high).contains(&value) {
        Complaints::new()
    } else {
        vec![range_message(low, high)]
    }
}

/// A port that can be listened on: 1 to 65535.
pub(crate) fn port_number(value: i64) -> Complaints {
    in_range(value, 1, 65535)
}

/// A Unix user or group id.
pub(crate) fn unix_id(value: i64) -> Complaints {
    in_range(value, 0, i64::from(i32::MAX))
}

/// A percentage such as `25%`.
pub(crate) fn percent(value: &str) -> Complaints {
    let digits = value.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Complaints::new();
    }
    vec![regex_message(
        "a valid percent string must be a numeric string followed by an ending '%'",
        "[0-9]+%",
        &["1%", "93%"],
    )]
}

/// The name of an HTTP header.
pub(crate) fn http_header_name(value: &str) -> Complaints {
    if !value.is_empty() && value.bytes().all(|byte| byte == b'-' || byte.is_ascii_alphanumeric()) {
        return Complaints::new();
    }
    vec![regex_message(
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        "[-A-Za-z0-9]+",
        &["X-Header-Name"],
    )]
}

/// The characters an HTTP path may have in a domain-prefixed path.
pub(crate) const HTTP_PATH: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";

/// Whether `value` consists of [`HTTP_PATH`]'s characters.
pub(crate) fn is_http_path(value: &str) -> bool {
    !value.is_empty()
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || br"/-._~%!$&'()*+,;=:".contains(&byte))
}

/// A name that can be one segment of a URL path, the loosest rule for object names.
pub fn path_segment_name(value: &str) -> Complaints {
    match value {
        "." | ".." => vec![format!("may not be '{value}'")],
        _ => path_segment_prefix(value),
    }
}

/// The beginning of a [`path_segment_name`]: `.` and `..` are fine, more follows.
pub(crate) fn path_segment_prefix(value: &str) -> Complaints {
    ["/", "%"]
        .into_iter()
        .filter(|part| value.contains(part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// The reason of a condition.
pub(crate) fn condition_reason(value: &str) -> Complaints {
    let matches = framed(
        value,
        |byte| byte.is_ascii_alphabetic(),
        |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b':'),
        |byte| byte.is_ascii_alphanumeric() || byte == b'_',
    );
    if matches {
        return Complaints::new();
    }
    vec![regex_message(
        "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
        "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
        &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"],
    )]
}

/// A decimal integer written the one canonical way.
pub(crate) fn decimal_integer(value: &str) -> Complaints {
    if value.is_empty() {
        return vec!["must be non-empty".to_owned()];
    }
    let digits = value.strip_prefix('-').unwrap_or(value);
    let canonical = value == "0" || (digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0'));
    if canonical && !digits.is_empty() {
        return Complaints::new();
    }
    vec!["must be a valid decimal integer in canonical form".to_owned()]
}

/// The rule an object's own name follows (M11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// [`dns1123_subdomain`], most kinds.
    DnsSubdomain,
    /// `dns1123_label`, for example namespaces.
    DnsLabel,
    /// [`dns1035_label`].
    Dns1035Label,
    /// [`path_segment_name`], the rule every kind's names follow at least.
    PathSegment,
    /// [`path_segment_name`] for prefixes too: roles and bindings.
    StrictPathSegment,
    /// An IP address in canonical form.
    IpAddress,
    /// Any name that is a path segment: the kind itself has no rule.
    Any,
}

impl NameRule {
    /// Complaints about a whole name.
    pub fn name(self, name: &str) -> Complaints {
        match self {
            NameRule::DnsSubdomain => dns1123_subdomain(name),
            NameRule::DnsLabel => dns1123_label(name),
            NameRule::Dns1035Label => dns1035_label(name),
            NameRule::PathSegment | NameRule::StrictPathSegment => path_segment_name(name),
            NameRule::IpAddress => {
                let mut errors = Errors::new();
                net::validate_ip(&PathRef::root("name"), name, &mut errors);
                errors.into_iter().map(|error| error.detail).collect()
            }
            NameRule::Any => Complaints::new(),
        }
    }

    /// Complaints about a name that more is appended to (`generateName`): its trailing dash is fine.
    pub fn prefix(self, prefix: &str) -> Complaints {
        match self {
            NameRule::PathSegment => path_segment_prefix(prefix),
            NameRule::StrictPathSegment | NameRule::IpAddress => self.name(prefix),
            _ => self.name(&mask_trailing_dash(prefix)),
        }
    }
}

/// The last two bytes give way to an `a` when the name ends in a dash; upstream cuts one byte more than it must.
fn mask_trailing_dash(name: &str) -> String {
    match name.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut masked = rest.to_owned();
            masked.pop();
            masked.push('a');
            masked
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
