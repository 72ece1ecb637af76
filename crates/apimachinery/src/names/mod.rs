//! What may be a name, as `k8s.io/apimachinery/pkg/util/validation` has it.
//!
//! A function that is called like a rule returns everything that is wrong with a value, in the words and order of
//! Kubernetes; an empty list means that the value is fine. A function `is_…` only answers whether it is, and allocates
//! nothing. Lengths are counted in bytes.
//!
//! ```
//! use kubewright_apimachinery::names;
//!
//! assert!(names::is_dns1123_subdomain("web-1.example.com"));
//! assert_eq!(names::dns1123_label("a.b"), ["must not contain dots"]);
//! assert_eq!(names::label_value(&"a".repeat(64)), ["must be no more than 63 bytes"]);
//! ```

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const SUBDOMAIN_WORDS: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const LABEL_KEY_WORDS: &str =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// The longest DNS-1123 or DNS-1035 label, label value and name part of a qualified name.
pub const LABEL_MAX: usize = 63;
/// The longest DNS-1123 subdomain.
pub const SUBDOMAIN_MAX: usize = 253;

/// How Kubernetes says that a value does not match a regular expression.
pub fn regex_message(words: &str, expression: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{words} (regex used for validation is '{expression}')");
    }
    let quoted: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!(
        "{words} (e.g. {}regex used for validation is '{expression}')",
        quoted.join(" or ")
    )
}

/// How the older rules say that a value is too long.
fn max_length_message(max: usize) -> String {
    format!("must be no more than {max} characters")
}

/// How the newer rules (label keys and values) say that a value is too long.
fn max_bytes_message(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

/// How Kubernetes says that a number is out of range.
fn range_message(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

fn is_lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Whether the first byte, the last and all between them are such as the functions accept; a single byte is the first.
fn framed(text: &str, first: fn(u8) -> bool, middle: fn(u8) -> bool, last: fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [only] => first(*only),
        [head, between @ .., tail] => first(*head) && last(*tail) && between.iter().all(|byte| middle(*byte)),
    }
}

fn has_label_form(text: &str) -> bool {
    framed(
        text,
        is_lower_alphanumeric,
        |byte| byte == b'-' || is_lower_alphanumeric(byte),
        is_lower_alphanumeric,
    )
}

fn has_subdomain_form(text: &str) -> bool {
    text.split('.').all(has_label_form)
}

fn has_dns1035_form(text: &str) -> bool {
    text.bytes().next().is_some_and(|first| first.is_ascii_lowercase()) && has_label_form(text)
}

/// Whether [`dns1123_label`] finds nothing wrong.
pub fn is_dns1123_label(text: &str) -> bool {
    text.len() <= LABEL_MAX && has_label_form(text)
}

/// Whether [`dns1123_subdomain`] finds nothing wrong.
pub fn is_dns1123_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_MAX && has_subdomain_form(text)
}

/// Whether [`dns1035_label`] finds nothing wrong.
pub fn is_dns1035_label(text: &str) -> bool {
    text.len() <= LABEL_MAX && has_dns1035_form(text)
}

/// Whether [`qualified_name`] finds nothing wrong.
pub fn is_qualified_name(text: &str) -> bool {
    let name = match text.split_once('/') {
        Some((prefix, name)) if is_dns1123_subdomain(prefix) => name,
        Some(_) => return false,
        None => text,
    };
    name.len() <= LABEL_MAX && is_label_key_part(name)
}

/// Whether [`label_value`] finds nothing wrong.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || (text.len() <= LABEL_MAX && is_label_key_part(text))
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
pub fn dns1123_label(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > LABEL_MAX {
        problems.push(max_length_message(LABEL_MAX));
    }
    if !has_label_form(value) {
        problems.push(if has_subdomain_form(value) {
            "must not contain dots".to_owned()
        } else {
            regex_message(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                DNS1123_LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    problems
}

/// Lowercase DNS labels joined by dots (RFC 1123), at most 253 long: the names of most objects.
pub fn dns1123_subdomain(value: &str) -> Vec<String> {
    subdomain(value, max_length_message)
}

fn subdomain(value: &str, too_long: fn(usize) -> String) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > SUBDOMAIN_MAX {
        problems.push(too_long(SUBDOMAIN_MAX));
    }
    if !has_subdomain_form(value) {
        problems.push(regex_message(SUBDOMAIN_WORDS, DNS1123_SUBDOMAIN, &["example.com"]));
    }
    problems
}

/// As [`dns1123_subdomain`], with underscores allowed: what a pod's DNS searches may be.
pub fn dns1123_subdomain_with_underscore(value: &str) -> Vec<String> {
    fn is_label(text: &str) -> bool {
        let text = text.strip_prefix('_').unwrap_or(text);
        framed(
            text,
            is_lower_alphanumeric,
            |byte| matches!(byte, b'-' | b'_') || is_lower_alphanumeric(byte),
            is_lower_alphanumeric,
        )
    }
    let mut problems = Vec::new();
    if value.len() > SUBDOMAIN_MAX {
        problems.push(max_length_message(SUBDOMAIN_MAX));
    }
    if !value.split('.').all(is_label) {
        problems.push(regex_message(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
            r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
            &["example.com"],
        ));
    }
    problems
}

/// A DNS label that starts with a letter (RFC 1035), at most 63 long.
pub fn dns1035_label(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > LABEL_MAX {
        problems.push(max_length_message(LABEL_MAX));
    }
    if !has_dns1035_form(value) {
        problems.push(regex_message(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    problems
}

/// `*.` followed by a DNS-1123 subdomain: a wildcard host of an Ingress.
pub fn wildcard_dns1123_subdomain(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > SUBDOMAIN_MAX {
        problems.push(max_length_message(SUBDOMAIN_MAX));
    }
    if !value.strip_prefix("*.").is_some_and(has_subdomain_form) {
        problems.push(regex_message(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
            &format!(r"\*\.{DNS1123_SUBDOMAIN}"),
            &["*.example.com"],
        ));
    }
    problems
}

/// An optional DNS prefix, a slash, and a name: label keys, finalizers, condition types, resource names.
pub fn qualified_name(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let examples = ["MyName", "my.name", "123-abc"];
    let mut parts = value.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                let of_prefix = subdomain(prefix, max_bytes_message);
                problems.extend(of_prefix.into_iter().map(|problem| format!("prefix part {problem}")));
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
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        problems.push(format!("name part {}", max_bytes_message(LABEL_MAX)));
    }
    if !is_label_key_part(name) {
        problems.push(format!(
            "name part {}",
            regex_message(LABEL_KEY_WORDS, LABEL_KEY, &examples)
        ));
    }
    problems
}

/// The value of a label: empty, or at most 63 of letters, digits, `-`, `_`, `.` with alphanumeric ends.
pub fn label_value(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > LABEL_MAX {
        problems.push(max_bytes_message(LABEL_MAX));
    }
    if !value.is_empty() && !is_label_key_part(value) {
        problems.push(regex_message(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
            &["MyValue", "my_value", "12345"],
        ));
    }
    problems
}

/// A key of a `ConfigMap` or `Secret`: it becomes a file name.
pub fn config_map_key(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > SUBDOMAIN_MAX {
        problems.push(max_length_message(SUBDOMAIN_MAX));
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if value.is_empty() || !value.bytes().all(allowed) {
        problems.push(regex_message(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    problems.extend(parent_directory(value));
    problems
}

/// What is wrong with a name that means a parent directory.
fn parent_directory(value: &str) -> Option<String> {
    match value {
        "." => Some("must not be '.'".to_owned()),
        ".." => Some("must not be '..'".to_owned()),
        _ if value.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    }
}

/// The name of an environment variable under the relaxed rule of 1.36: printable ASCII without `=`.
pub fn env_var_name(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.is_empty() {
        problems.push("environment variable name must be non-empty".to_owned());
    }
    if value.bytes().any(|byte| !(b' '..=b'~').contains(&byte) || byte == b'=') {
        problems.push(
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
                .to_owned(),
        );
    }
    problems
}

/// A C identifier.
pub fn c_identifier(value: &str) -> Vec<String> {
    let starts = value
        .bytes()
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_');
    if starts && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Vec::new();
    }
    vec![regex_message(
        "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
        "[A-Za-z_][A-Za-z0-9_]*",
        &["my_name", "MY_NAME", "MyName"],
    )]
}

/// The name of a port (an IANA service name).
pub fn port_name(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 15 {
        problems.push(max_length_message(15));
    }
    if value.is_empty() || !value.bytes().all(|byte| byte == b'-' || is_lower_alphanumeric(byte)) {
        problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !value.bytes().any(|byte| byte.is_ascii_lowercase()) {
        problems.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        problems.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        problems.push("must not begin or end with a hyphen".to_owned());
    }
    problems
}

/// A number in an inclusive range.
pub fn in_range(value: i64, low: i64, high: i64) -> Vec<String> {
    if (low..=high).contains(&value) {
        Vec::new()
    } else {
        vec![range_message(low, high)]
    }
}

/// A port that can be listened on: 1 to 65535.
pub fn port_number(value: i64) -> Vec<String> {
    in_range(value, 1, 65535)
}

/// A Unix user or group id.
pub fn unix_id(value: i64) -> Vec<String> {
    in_range(value, 0, i64::from(i32::MAX))
}

/// A percentage such as `25%`.
pub fn percent(value: &str) -> Vec<String> {
    let digits = value.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    vec![regex_message(
        "a valid percent string must be a numeric string followed by an ending '%'",
        "[0-9]+%",
        &["1%", "93%"],
    )]
}

/// The name of an HTTP header.
pub fn http_header_name(value: &str) -> Vec<String> {
    if !value.is_empty() && value.bytes().all(|byte| byte == b'-' || byte.is_ascii_alphanumeric()) {
        return Vec::new();
    }
    vec![regex_message(
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        "[-A-Za-z0-9]+",
        &["X-Header-Name"],
    )]
}

/// The characters an HTTP path may have in a domain-prefixed path.
pub const HTTP_PATH: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";

/// Whether `value` consists of [`HTTP_PATH`]'s characters.
pub fn is_http_path(value: &str) -> bool {
    !value.is_empty()
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || br"/-._~%!$&'()*+,;=:".contains(&byte))
}

/// A name that can be one segment of a URL path, the loosest rule for object names.
pub fn path_segment_name(value: &str) -> Vec<String> {
    match value {
        "." | ".." => vec![format!("may not be '{value}'")],
        _ => path_segment_prefix(value),
    }
}

/// The beginning of a [`path_segment_name`]: `.` and `..` are fine, more follows.
pub fn path_segment_prefix(value: &str) -> Vec<String> {
    ["/", "%"]
        .into_iter()
        .filter(|part| value.contains(part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// The reason of a condition.
pub fn condition_reason(value: &str) -> Vec<String> {
    let matches = framed(
        value,
        |byte| byte.is_ascii_alphabetic(),
        |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b':'),
        |byte| byte.is_ascii_alphanumeric() || byte == b'_',
    );
    if matches {
        return Vec::new();
    }
    vec![regex_message(
        "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
        "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
        &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"],
    )]
}

/// A decimal integer written the one canonical way.
pub fn decimal_integer(value: &str) -> Vec<String> {
    if value.is_empty() {
        return vec!["must be non-empty".to_owned()];
    }
    let digits = value.strip_prefix('-').unwrap_or(value);
    let canonical = value == "0" || (digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0'));
    if canonical && !digits.is_empty() {
        return Vec::new();
    }
    vec!["must be a valid decimal integer in canonical form".to_owned()]
}

/// A prefix for generated names (`generateName`) as the rules for names see it: where it ends in a dash, the last two bytes
/// give way to an `a`, as upstream cuts one byte more than it must.
pub fn mask_trailing_dash(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut masked = rest.to_owned();
            masked.pop();
            masked.push('a');
            masked
        }
        _ => prefix.to_owned(),
    }
}

#[cfg(test)]
mod tests;
