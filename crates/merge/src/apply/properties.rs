//! What holds for every object: applying is idempotent, force settles, what only I own goes when I drop it, nothing panics.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::testing::{TestVersions, manager};
use super::{ApplyError, FieldManager, Versions, apply, extract, update};
use crate::managed::FieldSet;

const T1: &str = "2026-01-01T00:00:01Z";
const T2: &str = "2026-01-01T00:00:02Z";

fn text() -> impl Strategy<Value = Value> {
    prop::sample::select(vec!["1", "2"]).prop_map(Value::from)
}

fn texts(names: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop::sample::subsequence(names, 0..=names.len())
        .prop_flat_map(|names| names.into_iter().map(|name| (Just(name), text())).collect::<Vec<_>>())
        .prop_map(|pairs| {
            pairs
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<Map<_, _>>()
                .into()
        })
}

fn items(key: &'static str, names: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop::sample::subsequence(names, 0..=names.len())
        .prop_shuffle()
        .prop_flat_map(move |names| {
            let item = |name: &str| {
                let name = name.to_owned();
                prop::option::of(text()).prop_map(move |image| match image {
                    Some(image) => json!({key: name, "image": image}),
                    None => json!({key: name}),
                })
            };
            names.into_iter().map(item).collect::<Vec<_>>().prop_map(Value::from)
        })
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..3).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text(),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// An object that fits the type and has no item twice.
fn config() -> impl Strategy<Value = Value> {
    let finalizers = prop::sample::subsequence(vec!["f", "g", "h"], 0..=3).prop_shuffle();
    (
        prop::option::of(texts(&["x", "y", "z"])),
        prop::option::of(items("name", &["a", "b", "c", "d"])),
        prop::option::of(texts(&["a", "b"])),
        prop::option::of(anything()),
        prop::option::of(finalizers),
        prop::option::of(0..3_i64),
    )
        .prop_map(|(data, containers, selector, free, finalizers, replicas)| {
            let mut thing = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}});
            if let Some(data) = data {
                thing["data"] = data;
            }
            for (name, value) in [("containers", containers), ("selector", selector), ("free", free)] {
                if let Some(value) = value {
                    thing["spec"][name] = value;
                }
            }
            if let Some(replicas) = replicas {
                thing["spec"]["replicas"] = replicas.into();
            }
            if let Some(finalizers) = finalizers {
                thing["metadata"]["finalizers"] = finalizers.into();
            }
            thing
        })
}

/// Whether anybody owns anything. An apply of nothing but empty lists leaves no owner behind, so that the next one is, as
/// upstream, a first one again and notes what it finds as `before-first-apply`.
fn is_recorded(object: &Value) -> bool {
    object.pointer("/metadata/managedFields").is_some()
}

fn create(author: &str, mut object: Value) -> Value {
    object["metadata"]["uid"] = json!("u");
    update(&TestVersions::default(), &manager(author, T1), None, object)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn forcing_and_applying_again_changes_nothing(live in config(), config in config()) {
        let things = TestVersions::default();
        let live = create("other", live);
        let once = apply(&things, &manager("me", T1), Some(&live), &config, true).expect("force always applies");
        prop_assume!(is_recorded(&once));
        let twice = apply(&things, &manager("me", T2), Some(&once), &config, false).expect("nothing to conflict about");
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn conflicts_are_about_other_owners_and_other_values(live in config(), first in config(), second in config()) {
        let things = TestVersions::default();
        let live = apply(&things, &manager("one", T1), Some(&create("other", live)), &first, true).expect("forced");
        let forced = apply(&things, &manager("two", T2), Some(&live), &second, true).expect("forced");
        match apply(&things, &manager("two", T2), Some(&live), &second, false) {
            Ok(object) => prop_assert_eq!(object, forced),
            Err(ApplyError::Conflict(conflicts)) => {
                prop_assert!(!conflicts.is_empty());
                prop_assert_ne!(live, forced);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn what_only_i_own_goes_when_i_stop_applying_it(config in config()) {
        let things = TestVersions::default();
        let nothing = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}});
        let bare = create("other", nothing.clone());
        let with = apply(&things, &manager("me", T1), Some(&bare), &config, false).expect("nobody else owns anything");
        let without = apply(&things, &manager("me", T2), Some(&with), &nothing, false).expect("no conflict");
        // Only what nobody can own stays: a list without items.
        let left = update(&things, &manager("probe", T2), None, without.clone());
        let owned = &left["metadata"]["managedFields"][0]["fieldsV1"];
        for path in FieldSet::from_fields_v1(owned).unwrap_or_default().paths() {
            let place = path.0.iter().try_fold(&without, |place, step| match step {
                crate::managed::PathElement::Field(name) => place.get(&**name),
                _ => None,
            });
            let is_empty = |value: &Value| *value == json!([]) || *value == json!({});
            prop_assert!(place.is_some_and(is_empty), "{path} was left: {without}");
        }
        let owners = without["metadata"]["managedFields"].as_array().into_iter().flatten();
        prop_assert_eq!(owners.filter(|owner| owner["manager"] == json!("me")).count(), 0);
    }

    #[test]
    fn what_i_applied_can_be_read_back_and_applied_again(live in config(), config in config()) {
        let things = TestVersions::default();
        let applied = apply(&things, &manager("me", T1), Some(&create("other", live)), &config, true).expect("forced");
        let of = things.topology("v1").expect("a type");
        if let Some(mut extracted) = extract(of, &applied, "me", "").expect("readable owners") {
            extracted["metadata"]["name"] = json!("a");
            let again = apply(&things, &manager("me", T2), Some(&applied), &extracted, false);
            prop_assert!(again.is_ok(), "{:?} from {extracted}", again);
        }
    }

    #[test]
    fn an_update_owns_exactly_what_differs(live in config(), new in config()) {
        let things = TestVersions::default();
        let live = create("one", live);
        let mut new = new;
        new["metadata"]["uid"] = json!("u");
        let updated = update(&things, &manager("two", T2), Some(&live), new);
        let again = update(&things, &manager("three", T2), Some(&updated), updated.clone());
        prop_assert_eq!(again, updated);
    }

    #[test]
    fn nothing_panics(live in anything(), object in anything(), owners in anything(), spec in anything(), force: bool) {
        let things = TestVersions::default();
        let author = FieldManager { subresource: if force { "status" } else { "" }, ..manager("me", T1) };
        let mut strange = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"managedFields": owners}, "spec": spec});
        strange["data"] = object.clone();
        for live in [&live, &strange] {
            for new in [&object, &strange] {
                _ = update(&things, &author, Some(live), new.clone());
                _ = apply(&things, &author, Some(live), new, force);
            }
        }
    }
}

#[test]
fn an_object_deeper_than_any_type_is_owned_as_a_whole_where_it_gets_too_deep() {
    let mut deep = json!("bottom");
    for _ in 0..600 {
        deep = json!({"a": deep});
    }
    let config = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"free": deep}});
    let things = TestVersions::default();
    let live = apply(&things, &manager("me", T1), None, &config, false).expect("applies");
    assert_eq!(
        apply(&things, &manager("me", T2), Some(&live), &config, false),
        Ok(live)
    );
}
