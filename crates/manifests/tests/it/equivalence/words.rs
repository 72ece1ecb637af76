//! Descriptions: the words of the types, whole, cut and left out; and metadata within objects, with and without its fields.

use std::collections::BTreeMap;

use kubewright::operator::Operator;
use kubewright_manifests::definitions::{DefinitionOptions, Descriptions};
use serde_json::Value;

use super::kinds::{described::Described, reference::cron::CronJob};
use super::{compare, flat, options, recorded, rendered};

fn words(descriptions: Descriptions) -> BTreeMap<String, Value> {
    let options = DefinitionOptions {
        descriptions,
        ..options()
    };
    let operator = Operator::new("suite").resource::<Described>();
    flat::definition(&rendered(&operator, &options)[0]).descriptions
}

fn recorded_words(set: &str) -> BTreeMap<String, Value> {
    flat::definition(&recorded::definition(set, "Described")).descriptions
}

#[test]
fn descriptions_are_the_comments_of_fields_and_types() {
    let found = compare::differences(&recorded_words("described"), &words(Descriptions::Whole));
    compare::assert_decided("whole descriptions", &found);
}

#[test]
fn descriptions_are_cut_at_the_end_of_a_sentence() {
    let found = compare::differences(&recorded_words("described-short"), &words(Descriptions::UpTo(40)));
    compare::assert_decided("cut descriptions", &found);
}

#[test]
fn descriptions_can_be_left_out() {
    assert_eq!(recorded_words("described-not"), BTreeMap::new());
    assert_eq!(words(Descriptions::Dropped), BTreeMap::new());
}

#[test]
fn metadata_of_templates_has_its_fields_or_none() {
    let operator = Operator::new("suite").resource::<CronJob>();
    let facts = |definition: &Value| flat::definition(definition).facts;
    let go = facts(&recorded::definition("templates", "CronJob"));
    let ours = facts(&rendered(&operator, &options())[0]);
    compare::assert_decided(
        "cronjobs.batch.tutorial.kubebuilder.io with metadata",
        &compare::differences(&go, &ours),
    );

    let bare = DefinitionOptions {
        embedded_metadata: false,
        ..options()
    };
    let go = facts(&recorded::definition("reference", "CronJob"));
    let ours = facts(&rendered(&operator, &bare)[0]);
    compare::assert_decided(
        "cronjobs.batch.tutorial.kubebuilder.io without metadata",
        &compare::differences(&go, &ours),
    );
}
