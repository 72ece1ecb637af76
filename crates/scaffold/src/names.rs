//! The names that Kubernetes, cargo and Rust accept, and names derived from them.

use std::fmt;

use kubewright_apimachinery::names;

/// Why a name cannot be used, with an example of a valid one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {given:?} {wrong} (for example {example:?})")]
pub struct NameError {
    what: &'static str,
    given: String,
    wrong: String,
    example: String,
}

impl NameError {
    fn new(what: &'static str, given: &str, wrong: impl fmt::Display, example: impl Into<String>) -> Self {
        Self {
            what,
            given: given.to_owned(),
            wrong: wrong.to_string(),
            example: example.into(),
        }
    }
}

/// Checks the domain in which the groups of a project end.
pub fn check_domain(domain: &str) -> Result<(), NameError> {
    subdomain(domain).map_err(|wrong| NameError::new("the domain", domain, wrong, "example.com"))
}

/// Checks a group without its domain; it may be empty where there is a domain.
///
/// ```
/// use kubewright_scaffold::names;
///
/// assert!(names::check_group("view", "example.com").is_ok() && names::check_group("", "example.com").is_ok());
/// assert!(names::check_group("", "").is_err());
/// assert!(names::check_kind("MarkdownView").is_ok() && names::check_kind("markdown view").is_err());
/// assert!(names::check_plural("markdownviews").is_ok() && names::check_plural("Views").is_err());
/// ```
pub fn check_group(group: &str, domain: &str) -> Result<(), NameError> {
    let refuse = |wrong: String| NameError::new("the group", group, wrong, "view");
    match (group.is_empty(), domain.is_empty()) {
        (true, true) => return Err(refuse("is empty, and so is the project's domain".to_owned())),
        (true, false) => return Ok(()),
        _ => subdomain(group).map_err(|wrong| refuse(wrong.to_owned()))?,
    }
    if group.len() + domain.len() >= names::SUBDOMAIN_MAX {
        return Err(refuse(format!(
            "is longer than 253 characters with the domain {domain}"
        )));
    }
    Ok(())
}

/// Checks a version: Kubernetes' form, by which it tells which of several is the newest.
pub fn check_version(version: &str) -> Result<(), NameError> {
    let refuse = |wrong| NameError::new("the version", version, wrong, "v1alpha1");
    label(version, true).map_err(refuse)?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    let is_version = |rest: &str| match rest.split_once("alpha").or_else(|| rest.split_once("beta")) {
        Some((major, minor)) => is_number(major) && is_number(minor),
        None => is_number(rest),
    };
    if version.strip_prefix('v').is_some_and(is_version) {
        Ok(())
    } else {
        Err(refuse(
            "must be v and a number, and may end in alpha or beta and a number",
        ))
    }
}

/// Checks a kind: Kubernetes' rule, and Rust's for the type that is called so.
pub fn check_kind(kind: &str) -> Result<(), NameError> {
    let lowercase = kind.to_ascii_lowercase();
    let example = || {
        let pascal = pascal(kind);
        let usable =
            !pascal.is_empty() && pascal != kind && pascal.starts_with(|first: char| first.is_ascii_uppercase());
        if usable { pascal } else { "MarkdownView".to_owned() }
    };
    let refuse = |wrong: &str| Err(NameError::new("the kind", kind, wrong, example()));
    if kind.contains(|c: char| !c.is_ascii_alphanumeric()) {
        return refuse("must consist of letters and digits");
    }
    if let Err(wrong) = label(&lowercase, true) {
        return refuse(wrong);
    }
    if !kind.starts_with(|first: char| first.is_ascii_uppercase()) {
        return refuse("must start with an upper case letter");
    }
    if RESERVED_KINDS.contains(&kind) {
        let other = format!("My{kind}");
        return Err(NameError::new(
            "the kind",
            kind,
            "is a name that Rust or kubewright uses",
            other,
        ));
    }
    Ok(())
}

/// Checks the plural of a kind.
pub fn check_plural(plural: &str) -> Result<(), NameError> {
    label(plural, true).map_err(|wrong| NameError::new("the plural", plural, wrong, "markdownviews"))
}

/// Checks what a project is called: the prefix of what is installed, and the name of a crate.
pub fn check_project(name: &str) -> Result<(), NameError> {
    let refuse = |wrong: &str| Err(NameError::new("the project name", name, wrong, "markdown-view"));
    if let Err(wrong) = label(name, false) {
        return refuse(wrong);
    }
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return refuse("starts with a digit, which the name of a crate cannot");
    }
    // The longest name that follows from it is `<name>-controller-manager-metrics-service`, a label too.
    if name.len() > names::LABEL_MAX - "-controller-manager-metrics-service".len() {
        return refuse(
            "is longer than 28 characters, and <name>-controller-manager-metrics-service would be no DNS label",
        );
    }
    if KEYWORDS.contains(&name) || RESERVED_CRATES.contains(&name) {
        return refuse("is a name that Rust, cargo or kubewright uses");
    }
    Ok(())
}

/// Kubernetes decides whether a name is one; the rest says why it is none in words for who chose it.
fn subdomain(text: &str) -> Result<(), &'static str> {
    if names::is_dns1123_subdomain(text) {
        return Ok(());
    }
    Err(if text.is_empty() {
        "is empty"
    } else if text.len() > names::SUBDOMAIN_MAX {
        "is longer than 253 characters"
    } else {
        let first = text.split('.').find_map(misspelled);
        first.unwrap_or("has an empty part between its dots")
    })
}

fn label(text: &str, starts_with_letter: bool) -> Result<(), &'static str> {
    if !names::is_dns1123_label(text) {
        return Err(if text.is_empty() {
            "is empty"
        } else if text.len() > names::LABEL_MAX {
            "is longer than 63 characters"
        } else {
            misspelled(text).unwrap_or("is no DNS label")
        });
    }
    if starts_with_letter && !names::is_dns1035_label(text) {
        return Err("must start with a letter");
    }
    Ok(())
}

fn misspelled(label: &str) -> Option<&'static str> {
    let is_known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !label.chars().all(is_known) {
        Some("must consist of lower case letters, digits and dashes")
    } else if label.starts_with('-') || label.ends_with('-') {
        Some("must start and end with a letter or digit")
    } else {
        None
    }
}

/// The plural of a kind, as `#[kubewright::resource]` and controller-gen make it.
///
/// ```
/// use kubewright_scaffold::names::plural;
///
/// assert_eq!(plural("MarkdownView"), "markdownviews");
/// assert_eq!(plural("NetworkPolicy"), "networkpolicies");
/// assert_eq!(plural("Redis"), "redis");
/// ```
pub fn plural(kind: &str) -> String {
    kubewright_plural::plural(kind)
}

/// A kind in snake case, as a module is called.
pub fn snake(kind: &str) -> String {
    let letters: Vec<char> = kind.chars().collect();
    let mut out = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at));
        let after_lowercase = before.is_some_and(|before| !before.is_ascii_uppercase());
        let ends_acronym = before.is_some() && letters.get(at + 1).is_some_and(char::is_ascii_lowercase);
        if letter.is_ascii_uppercase() && (after_lowercase || ends_acronym) {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    escape(out)
}

/// A kind as documentation names one of it: "an `Order`", "a `User`", "an `HTTPRoute`".
pub(crate) fn one_of(kind: &str) -> String {
    let article = if begins_with_vowel_sound(kind) { "an" } else { "a" };
    format!("{article} `{kind}`")
}

/// By the sound, as far as letters tell it: capitals in a row, or one before a digit, are read letter by letter.
fn begins_with_vowel_sound(kind: &str) -> bool {
    let mut letters = kind.chars();
    let first = letters.next().unwrap_or_default();
    if letters.next().is_some_and(|second| !second.is_ascii_lowercase()) {
        return "AEFHILMNORSX".contains(first);
    }
    // A "you", a "wan", a silent h.
    match first {
        'U' => !["Uni", "Use", "Usa", "Uti", "Ura"]
            .iter()
            .any(|start| kind.starts_with(start)),
        'E' => !kind.starts_with("Eu"),
        'O' => !kind.starts_with("One"),
        'H' => kind.starts_with("Hour") || kind.starts_with("Honor"),
        'A' | 'I' => true,
        _ => false,
    }
}

/// A name with dashes and dots as a Rust module.
pub(crate) fn module(name: &str) -> String {
    let mut name = name.replace(['-', '.'], "_");
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        name.insert(0, '_');
    }
    escape(name)
}

fn escape(mut name: String) -> String {
    if KEYWORDS.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// Whether a text is the path of a Rust module.
pub(crate) fn is_path(text: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    text.split("::")
        .all(|name| is_name(name) && (name == "crate" || !KEYWORDS.contains(&name)))
}

fn pascal(text: &str) -> String {
    let words = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    words.map(capital).collect()
}

/// Words that cannot be the name of a module or crate.
const KEYWORDS: [&str; 52] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "union",
];

/// Crates and words that cargo keeps for itself, and the ones every scaffold depends on.
const RESERVED_CRATES: [&str; 12] = [
    "kubewright",
    "test",
    "core",
    "std",
    "alloc",
    "proc-macro",
    "proc_macro",
    "build",
    "deps",
    "examples",
    "incremental",
    "kube",
];

/// Kinds whose type would hide what the generated code beside it names.
const RESERVED_KINDS: [&str; 37] = [
    "Action",
    "AdmissionRequest",
    "Box",
    "Client",
    "Condition",
    "ConditionUpdate",
    "Context",
    "Controller",
    "Conversion",
    "Convert",
    "CustomResource",
    "Default",
    "Defaulter",
    "Err",
    "ErrorList",
    "EventNote",
    "EventRecorder",
    "Failure",
    "None",
    "Object",
    "Ok",
    "Operator",
    "Option",
    "Outcome",
    "Reconciler",
    "Rejection",
    "Request",
    "Resource",
    "Result",
    "Self",
    "Some",
    "String",
    "TestEnv",
    "Validator",
    "Vec",
    "Verdict",
    "Webhook",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_the_article_that_its_sound_asks_for() {
        for kind in [
            "Order",
            "Upload",
            "Index",
            "HTTPRoute",
            "SSHKey",
            "S3Bucket",
            "HourlyReport",
            "Endpoint",
        ] {
            assert_eq!(one_of(kind), format!("an `{kind}`"));
        }
        for kind in [
            "Bar",
            "User",
            "Unit",
            "OneShot",
            "EulaText",
            "VMInstance",
            "House",
            "K8sCluster",
        ] {
            assert_eq!(one_of(kind), format!("a `{kind}`"));
        }
    }
}
