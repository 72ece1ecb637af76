//! Field selectors: `metadata.name=a, status.phase!=Running`.

use std::cell::OnceCell;

use kubewright_store::Record;

use crate::custom::Lookup;
use crate::registry::Resource;

/// Terms that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: Field,
    value: String,
    equal: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Namespace,
    /// A place in the record's `fields`.
    Selectable(usize),
    /// What the definition of a custom resource makes selectable.
    Custom(Lookup),
}

impl Selector {
    /// The selector that means one object.
    pub(crate) fn named(name: &str) -> Self {
        Selector(vec![Term {
            field: Field::Name,
            value: name.to_owned(),
            equal: true,
        }])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn matches(&self, record: &Record) -> bool {
        let read = OnceCell::new();
        self.0.iter().all(|term| {
            let value = match &term.field {
                Field::Name => record.name(),
                Field::Namespace => record.namespace().unwrap_or_default(),
                Field::Selectable(at) => record.fields.get(*at).map_or("", |value| &**value),
                Field::Custom(lookup) => {
                    return lookup.test(record, &read, |value| (value == term.value) == term.equal);
                }
            };
            (value == term.value) == term.equal
        })
    }

    /// The only name that can match, if there is one.
    pub(crate) fn exact_name(&self) -> Option<&str> {
        self.0
            .iter()
            .find(|term| term.field == Field::Name && term.equal)
            .map(|term| term.value.as_str())
    }

    /// Reads a selector of a resource; the error is upstream's sentence.
    pub(crate) fn parse(text: &str, resource: &Resource) -> Result<Selector, String> {
        let mut parts = split(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let (field, equal, value) =
                term(part).ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            let value = unescape(value)?;
            let field = match field {
                "metadata.name" => Field::Name,
                "metadata.namespace" if resource.selectable_field(field).is_ok() => Field::Namespace,
                label => {
                    resource.selectable_field(label)?;
                    match resource.custom() {
                        Some(version) => Field::Custom(version.lookup(label)),
                        None => Field::Selectable(resource.kept_field(label)),
                    }
                }
            };
            terms.push(Term { field, value, equal });
        }
        Ok(Selector(terms))
    }
}

/// The terms of a selector of any resource: field, whether it must be equal, and value. The error is upstream's
/// sentence.
pub(crate) fn requirements(text: &str) -> Result<Vec<(&str, bool, String)>, String> {
    let parts = split(text).into_iter().filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (field, equal, value) =
                term(part).ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            Ok((field, equal, unescape(value)?))
        })
        .collect()
}

fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn term(part: &str) -> Option<(&str, bool, &str)> {
    let at = part
        .char_indices()
        .find(|(at, _)| part[*at..].starts_with('=') || part[*at..].starts_with("!="))?
        .0;
    let (field, rest) = part.split_at(at);
    let (equal, value) = match rest.strip_prefix("!=") {
        Some(value) => (false, value),
        None => (
            true,
            rest.strip_prefix("==")
                .or_else(|| rest.strip_prefix('='))
                .unwrap_or(rest),
        ),
    };
    Some((field, equal, value))
}

fn unescape(value: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => plain.push(c),
                Some(c) => return Err(format!("invalid field selector: invalid escape sequence: \\{c}")),
                None => return Err("invalid field selector: invalid escape sequence: \\".into()),
            },
            ',' | '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                ));
            }
            c => plain.push(c),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::BuiltInId;

    #[test]
    fn values_may_be_escaped() {
        let pods = BuiltInId::Pods.resource();
        let selector = Selector::parse(r"metadata.name=a\,b\=c,spec.nodeName!=n", pods).expect("escaped");
        assert_eq!(selector.exact_name(), Some("a,b=c"));
        assert!(Selector::parse("metadata.name=a=b", pods).is_err());
    }

    #[test]
    fn a_field_that_cannot_be_selected_is_named() {
        let pods = BuiltInId::Pods.resource();
        assert_eq!(
            Selector::parse("spec.x=1", pods),
            Err("field label not supported: spec.x".to_owned())
        );
    }

    proptest::proptest! {
        #[test]
        fn no_selector_panics(text in ".*", list in r"(metadata\.name|status\.phase|[=!,\\])*") {
            let pods = BuiltInId::Pods.resource();
            let _ = Selector::parse(&text, pods);
            let _ = Selector::parse(&list, pods);
        }
    }
}
