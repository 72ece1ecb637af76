//! The generators, one for each class.

mod apply;
mod definition;
mod http;
mod manifests;
mod options;
mod subresource;
mod value;

pub(super) use value::of_definition;

use serde_json::Value;

use super::generated::GeneratedCase;
use super::random::Choices;
use super::weights::{CLASSES, Class};

/// The case at `index` of the run with this seed: of one class, or of a class that the weights choose. The corpus is not generated here,
/// since its cases are made from files.
pub fn generate(seed: u64, index: u64, only: Option<Class>) -> GeneratedCase {
    let mut choices = Choices::new(seed, index);
    let class = only.unwrap_or_else(|| choices.weighted(&CLASSES));
    let (given, steps) = match class {
        Class::Lifecycle => manifests::lifecycle(&mut choices),
        Class::Create => manifests::create(&mut choices),
        Class::Update => manifests::update(&mut choices),
        Class::Patch => manifests::patch(&mut choices),
        Class::Apply => apply::apply(&mut choices),
        Class::Definition => definition::definition(&mut choices),
        Class::Value | Class::Corpus => value::value(&mut choices),
        Class::Options => options::options(&mut choices),
        Class::Subresource => subresource::subresource(&mut choices),
        Class::Http => http::http(&mut choices),
    };
    GeneratedCase {
        class,
        seed,
        index,
        given,
        steps,
    }
}

/// Given objects and steps.
type Parts = (Vec<Value>, Vec<Value>);

/// A query parameter now and then.
fn now_and_then(choices: &mut Choices) -> &'static str {
    choices.weighted(&[
        (70, ""),
        (8, "?fieldValidation=Strict"),
        (4, "?fieldValidation=Ignore"),
        (8, "?dryRun=All"),
        (6, "?fieldManager=somebody"),
        (2, "?fieldManager=somebody&fieldValidation=Warn"),
        (1, "?dryRun=None"),
        (1, "?fieldValidation=Nonsense"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_generates_the_same_text_again_and_every_text_is_a_case() {
        for index in 0..400 {
            let case = generate(11, index, None);
            assert_eq!(case.text(), generate(11, index, None).text());
            let file = case.file().unwrap_or_else(|error| panic!("{error}\n{}", case.text()));
            assert_eq!(file.steps.len(), case.steps.len());
            assert_eq!(file.given, case.given, "{}", case.text());
        }
    }

    #[test]
    fn every_class_can_be_asked_for_alone() {
        for (weight, class) in CLASSES {
            assert_eq!(generate(5, 5, Some(class)).class, class);
            assert!(weight > 0 || class == Class::Corpus);
        }
    }
}
