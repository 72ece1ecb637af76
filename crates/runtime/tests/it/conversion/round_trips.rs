//! The one-line property test: what it proves, and what it says when it fails.

use std::panic::catch_unwind;

use kube::CustomResource;
use kubewright_runtime::conversion::{Convert, RoundTrip, conversion_round_trips, conversion_round_trips_preserving};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kinds::{v1, v1alpha1, v1beta1};

#[test]
fn preserving_versions_lose_nothing() {
    conversion_round_trips_preserving::<v1::Shop, v1beta1::Shop>();
    conversion_round_trips_preserving::<v1alpha1::Shop, v1::Shop>();
}

#[test]
fn most_values_are_really_tried() {
    let tally = RoundTrip::<v1::Shop, v1beta1::Shop>::new()
        .preserving()
        .cases(500)
        .run()
        .unwrap();
    assert_eq!(tally.came_back + tally.refused + tally.unreadable, 1000);
    assert!(tally.came_back > 700, "{tally:?}");
    // Texts that are no number of seconds.
    assert!(tally.refused > 50, "{tally:?}");
}

#[test]
fn what_gets_lost_is_shown_small_with_its_path_and_how_to_keep_it() {
    let said = RoundTrip::<v1::Shop, v1beta1::Shop>::new()
        .run()
        .unwrap_err()
        .to_string();
    let expected = "v1 → v1beta1 → v1 does not give back what went in:\n\n  spec.";
    assert!(said.starts_with(expected), "{said}");
    assert!(
        said.contains("came back as") || said.contains("did not come back"),
        "{said}"
    );
    // One field is enough to fail, so one is what is left.
    assert_eq!(
        said.lines()
            .filter(|line| line.starts_with("  spec.") || line.starts_with("  status."))
            .count(),
        1,
        "{said}"
    );
    assert!(said.contains("conversion_round_trips_preserving"), "{said}");
    assert!(said.contains("the same again: KUBEWRIGHT_SEED="), "{said}");
    // The same seed, the same words.
    assert_eq!(
        RoundTrip::<v1::Shop, v1beta1::Shop>::new()
            .run()
            .unwrap_err()
            .to_string(),
        said
    );
    let panic = catch_unwind(conversion_round_trips::<v1::Shop, v1beta1::Shop>).unwrap_err();
    assert_eq!(*panic.downcast::<String>().unwrap(), said);
}

mod one_way {
    use super::{Convert, CustomResource, Deserialize, JsonSchema, Serialize};

    pub(super) mod hub {
        use super::{CustomResource, Deserialize, JsonSchema, Serialize};

        #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
        #[kube(group = "shop.example.com", version = "v2", kind = "Till")]
        pub(crate) struct TillSpec {
            pub(crate) coins: u8,
        }
    }

    #[derive(CustomResource, Convert, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "shop.example.com", version = "v1", kind = "Till")]
    #[convert(hub = hub::TillSpec)]
    pub(super) struct TillSpec {
        #[convert(from_hub = i64::from, to_hub = wrapping)]
        pub(super) coins: i64,
    }

    fn wrapping(coins: i64) -> u8 {
        coins as u8
    }
}

#[test]
fn a_conversion_that_wraps_around_is_found_at_its_edge() {
    let said = RoundTrip::<one_way::Till, one_way::hub::Till>::new()
        .run()
        .unwrap_err()
        .to_string();
    assert!(
        said.starts_with("v1 → v2 → v1 does not give back what went in:"),
        "{said}"
    );
    assert!(
        said.contains("spec.coins: -1 came back as 255") || said.contains("spec.coins: 256 came back as 0"),
        "{said}"
    );
}

mod stubborn {
    use super::{Convert, CustomResource, Deserialize, JsonSchema, Serialize};

    pub(super) mod hub {
        use super::{CustomResource, Deserialize, JsonSchema, Serialize};

        #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
        #[kube(group = "shop.example.com", version = "v2", kind = "Till")]
        pub(crate) struct TillSpec {
            pub(crate) coins: u8,
        }
    }

    #[derive(CustomResource, Convert, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "shop.example.com", version = "v1", kind = "Till")]
    #[convert(hub = hub::TillSpec)]
    pub(super) struct TillSpec {
        #[convert(try_from_hub = few, to_hub = same)]
        pub(super) coins: u8,
    }

    fn same(coins: u8) -> u8 {
        coins
    }

    fn few(coins: u8) -> Result<u8, String> {
        match coins {
            0..10 => Ok(coins),
            10..250 => Err(format!("{coins} are too many")),
            _ => panic!("{coins} do not fit"),
        }
    }
}

#[test]
fn what_does_not_come_back_and_what_panics_is_said_with_the_object() {
    let said = RoundTrip::<stubborn::Till, stubborn::hub::Till>::new()
        .run()
        .unwrap_err()
        .to_string();
    let no_way = said.starts_with("v1 → v2 → v1 does not come back: spec.coins: ");
    assert!(
        no_way || said.starts_with("v1 → v2 → v1 panics: 255 do not fit"),
        "{said}"
    );
    // What the hub has and the spoke refuses is no loss; what panics is.
    let said = RoundTrip::<stubborn::hub::Till, stubborn::Till>::new()
        .run()
        .unwrap_err()
        .to_string();
    assert!(
        said.starts_with("v2 → v1 → v2 panics: 255 do not fit\n\nthe object:\n{"),
        "{said}"
    );
}

#[test]
fn a_test_that_tried_nothing_fails() {
    let nothing = serde_json::json!({ "type": "object", "properties": { "spec": { "type": "object" } } });
    let said = RoundTrip::<v1::Shop, v1beta1::Shop>::with_schemas(nothing.clone(), nothing).run();
    let said = said.unwrap_err().to_string();
    assert!(
        said.starts_with("none of 256 values of v1 made it to v1beta1 and back: 0 were refused"),
        "{said}"
    );
    assert!(said.contains("missing field"), "{said}");
}
