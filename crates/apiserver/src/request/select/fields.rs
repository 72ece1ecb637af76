//! Field selectors: `metadata.name=a, status.phase!=Running`.

use std::cell::OnceCell;

use kubewright_apimachinery::fields::{self, Requirement};
use kubewright_store::Record;

use crate::custom::Lookup;
use crate::custom::conversion::{ConversionCache, Unfinished};
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

    pub(crate) fn matches(&self, record: &Record, cache: &ConversionCache) -> Result<bool, Unfinished> {
        let read = OnceCell::new();
        for term in &self.0 {
            let holds = |value: &str| (value == term.value) == term.equal;
            let holds = match &term.field {
                Field::Name => holds(record.name()),
                Field::Namespace => holds(record.namespace().unwrap_or_default()),
                Field::Selectable(at) => holds(record.fields.get(*at).map_or("", |value| &**value)),
                Field::Custom(lookup) => lookup.test(record, &read, cache, holds)?,
            };
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
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
        // A term of nothing asks for nothing.
        let asks = |requirement: &Requirement<'_>| !(requirement.field.is_empty() && requirement.value.is_empty());
        let requirements = fields::parse(text)?.into_iter().filter(asks);
        let terms = requirements.map(|requirement| {
            let field = match requirement.field {
                "metadata.name" => Field::Name,
                field @ "metadata.namespace" if resource.selectable_field(field).is_ok() => Field::Namespace,
                field => {
                    resource.selectable_field(field)?;
                    match resource.custom() {
                        Some(version) => Field::Custom(version.lookup(field)),
                        None => Field::Selectable(resource.kept_field(field)),
                    }
                }
            };
            Ok(Term {
                field,
                value: requirement.value,
                equal: requirement.is_equal,
            })
        });
        terms.collect::<Result<_, String>>().map(Selector)
    }
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
}
