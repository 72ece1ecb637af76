//! Events. core/v1 and events.k8s.io/v1 serve the same objects in two forms (B3): this file validates both and
//! converts between them.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::{Map, Value};

use crate::behaviour::{Behaviour, Create, Update};
use crate::rules::access::{IMMUTABLE, at, complain, int_at, is_unset, same, str_at};
use crate::rules::printed;

/// The fields that the two APIs name differently: core/v1 first.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// How an unset field is printed.
#[derive(Clone, Copy)]
enum Unset {
    Null,
    Text,
    Object,
}

/// The fields core/v1 always prints, with what it prints when they are unset.
const ALWAYS_IN_CORE: [(&str, Unset); 7] = [
    ("involvedObject", Unset::Object),
    ("source", Unset::Object),
    ("firstTimestamp", Unset::Null),
    ("lastTimestamp", Unset::Null),
    ("eventTime", Unset::Null),
    ("reportingComponent", Unset::Text),
    ("reportingInstance", Unset::Text),
];

/// The fields events.k8s.io/v1 always prints.
const ALWAYS_IN_EVENTS: [(&str, Unset); 5] = [
    ("eventTime", Unset::Null),
    ("regarding", Unset::Object),
    ("deprecatedSource", Unset::Object),
    ("deprecatedFirstTimestamp", Unset::Null),
    ("deprecatedLastTimestamp", Unset::Null),
];

/// An event of events.k8s.io/v1 as core/v1 writes it.
pub fn to_core(event: &Value) -> Value {
    let mut converted = renamed(event, "v1", |name| {
        RENAMED
            .iter()
            .find(|(_, events)| *events == name)
            .map(|(core, _)| *core)
    });
    fill(&mut converted, &ALWAYS_IN_CORE);
    Value::Object(converted)
}

/// An event of core/v1 as events.k8s.io/v1 writes it.
pub fn to_events(event: &Value) -> Value {
    let mut converted = renamed(event, "events.k8s.io/v1", |name| {
        RENAMED
            .iter()
            .find(|(core, _)| *core == name)
            .map(|(_, events)| *events)
    });
    // Empty text is left out here, and kept in core/v1.
    for name in ["reportingController", "reportingInstance"] {
        if converted.get(name).and_then(Value::as_str) == Some("") {
            converted.remove(name);
        }
    }
    fill(&mut converted, &ALWAYS_IN_EVENTS);
    Value::Object(converted)
}

/// The event's fields under the other API's names.
fn renamed(event: &Value, version: &str, other_name: impl Fn(&str) -> Option<&'static str>) -> Map<String, Value> {
    let fields = event.as_object().into_iter().flatten();
    let mut converted: Map<String, Value> = fields
        .map(|(name, value)| (other_name(name).unwrap_or(name).to_owned(), value.clone()))
        .collect();
    if converted.contains_key("apiVersion") {
        converted.insert("apiVersion".to_owned(), version.into());
    }
    converted
}

fn fill(fields: &mut Map<String, Value>, always: &[(&str, Unset)]) {
    for (name, unset) in always {
        fields.entry(*name).or_insert_with(|| match unset {
            Unset::Null => Value::Null,
            Unset::Text => Value::from(""),
            Unset::Object => Value::Object(Map::new()),
        });
    }
}

/// The API through which an event was written.
#[derive(Clone, Copy, PartialEq)]
enum EventApi {
    Core,
    Events,
}

impl EventApi {
    /// This API's name for a field of core/v1.
    fn name(self, core: &'static str) -> &'static str {
        match self {
            EventApi::Core => core,
            EventApi::Events => RENAMED
                .iter()
                .find(|(name, _)| *name == core)
                .map_or(core, |(_, events)| events),
        }
    }

    fn text<'a>(self, event: &'a Value, core: &'static str) -> &'a str {
        str_at(event, &[self.name(core)])
    }
}

/// Events written through core/v1.
pub(crate) struct CoreEvent;

impl Behaviour for CoreEvent {
    fn prepare_create(&self, _create: Create<'_>) {}

    fn prepare_update(&self, _update: Update<'_>) {}

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_always(object, EventApi::Core, errors);
    }

    fn validate_update(&self, object: &Value, _old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        validate_always(object, EventApi::Core, errors);
    }
}

/// Events written through events.k8s.io/v1, whose rules are stricter.
pub(crate) struct Event;

impl Behaviour for Event {
    fn prepare_create(&self, _create: Create<'_>) {}

    fn prepare_update(&self, _update: Update<'_>) {}

    fn validate_before_metadata(&self, object: &Value, errors: &mut Errors) {
        validate_always(object, EventApi::Events, errors);
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate_always(object, EventApi::Events, errors);
        validate_series(object, errors);
        if is_unset(object, &["eventTime"]) {
            errors.push(FieldError::required(&PathRef::root("eventTime"), ""));
        }
        let mut refuse = |field: &str, words: &str| errors.push(FieldError::invalid(&PathRef::root(field), "", words));
        let kind = str_at(object, &["type"]);
        if !matches!(kind, "Normal" | "Warning") {
            refuse("type", &format!("has invalid value: {kind}"));
        }
        // Upstream names the fields of core/v1.
        for (core, name) in [
            ("firstTimestamp", "deprecatedFirstTimestamp"),
            ("lastTimestamp", "deprecatedLastTimestamp"),
        ] {
            if !is_unset(object, &[name]) {
                refuse(core, "needs to be unset");
            }
        }
        if int_at(object, &["deprecatedCount"]) != 0 {
            refuse("count", "needs to be unset");
        }
        let source = |part| str_at(object, &["deprecatedSource", part]);
        if !source("component").is_empty() || !source("host").is_empty() {
            refuse("source", "needs to be unset");
        }
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        validate_always(object, EventApi::Events, errors);
        if at(object, &["series"]) != at(old, &["series"]) {
            validate_series(object, errors);
        }
        for core in [
            "involvedObject",
            "reason",
            "message",
            "source",
            "firstTimestamp",
            "lastTimestamp",
            "count",
            "reason",
            "type",
            "eventTime",
            "action",
            "related",
            "reportingController",
            "reportingInstance",
        ] {
            let name = EventApi::Events.name(core);
            let (new, before) = (at(object, &[name]), at(old, &[name]));
            if !same(new, before) {
                errors.push(printed::invalid(&PathRef::root(core), &rendered(core, new), IMMUTABLE));
            }
        }
    }
}

/// A field's value as upstream prints it: references and sources as its internal structs.
fn rendered(core: &str, value: Option<&Value>) -> String {
    let names: &[(&str, &str)] = match core {
        "involvedObject" | "related" => &[
            ("Kind", "kind"),
            ("Namespace", "namespace"),
            ("Name", "name"),
            ("UID", "uid"),
            ("APIVersion", "apiVersion"),
            ("ResourceVersion", "resourceVersion"),
            ("FieldPath", "fieldPath"),
        ],
        "source" => &[("Component", "component"), ("Host", "host")],
        "count" | "series" | "eventTime" | "firstTimestamp" | "lastTimestamp" => {
            return value.unwrap_or(&Value::Null).to_string();
        }
        _ => return value.unwrap_or(&Value::from("")).to_string(),
    };
    match value {
        None if core == "related" => "null".to_owned(),
        value => {
            let value = value.unwrap_or(&Value::Null);
            let fields: Vec<String> = names
                .iter()
                .map(|(go, name)| format!("\"{go}\":{}", Value::from(str_at(value, &[name]))))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
    }
}

/// The rules that both APIs share.
fn validate_always(event: &Value, api: EventApi, errors: &mut Errors) {
    let namespace = str_at(event, &["metadata", "namespace"]);
    let involved = str_at(event, &[api.name("involvedObject"), "namespace"]);
    let has_time = !is_unset(event, &["eventTime"]);
    let matches = match (has_time, involved) {
        (false, "") => matches!(namespace, "" | "default"),
        (false, _) => namespace == involved,
        (true, "") => matches!(namespace, "default" | "kube-system"),
        (true, _) => true,
    };
    if !matches {
        let path = PathRef::root("involvedObject");
        errors.push(FieldError::invalid(
            &path.child("namespace"),
            involved,
            "does not match event.namespace",
        ));
    }
    if has_time {
        validate_timed(event, api, errors);
    }
    complain(
        &PathRef::root("namespace"),
        namespace,
        names::dns1123_subdomain(namespace),
        errors,
    );
}

fn validate_timed(event: &Value, api: EventApi, errors: &mut Errors) {
    let reporter = api.text(event, "reportingComponent");
    let reporter_path = PathRef::root(api.name("reportingComponent"));
    if reporter.is_empty() {
        errors.push(FieldError::required(&reporter_path, ""));
    }
    complain(&reporter_path, reporter, names::qualified_name(reporter), errors);
    for (field, max, required) in [
        ("reportingInstance", 128, true),
        ("action", 128, true),
        ("reason", 128, true),
        ("message", 1024, false),
    ] {
        let (text, path) = (api.text(event, field), PathRef::root(field));
        if required && text.is_empty() {
            errors.push(FieldError::required(&path, ""));
        }
        if text.len() > max {
            errors.push(FieldError::invalid(
                &path,
                "",
                format!("can have at most {max} characters"),
            ));
        }
    }
}

fn validate_series(event: &Value, errors: &mut Errors) {
    let Some(series) = at(event, &["series"]) else { return };
    if int_at(series, &["count"]) < 2 {
        errors.push(FieldError::invalid(
            &PathRef::root("series.count"),
            "",
            "should be at least 2",
        ));
    }
    if is_unset(series, &["lastObservedTime"]) {
        errors.push(FieldError::required(&PathRef::root("series.lastObservedTime"), ""));
    }
}
