//! Whatever a Secret or a configuration holds: nothing panics, and what was repaired stays repaired.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use proptest::prelude::*;
use serde_json::Value;

use super::inject::{Injection, Service, inject};
use super::keys::{AUTHORITY_KEY, BUNDLE, CERTIFICATE, KEY, Material};
use super::local::rewrite::left_behind;
use super::options::ManagedOptions;
use super::plan::{CertificateTerms, carry_out};
use super::target::TargetKind;

fn terms() -> CertificateTerms {
    CertificateTerms::of(&ManagedOptions::new("shop", "webhooks"))
}

fn whole() -> BTreeMap<String, ByteString> {
    let now = "2026-11-16T08:00:00Z".parse().unwrap();
    let (mut material, mut data) = (Material::default(), BTreeMap::new());
    carry_out(&mut material, &terms(), now, true).unwrap();
    material.write(&mut data);
    data
}

/// A change of bytes: cut, overwritten or repeated somewhere.
fn damaged(bytes: &[u8], at: usize, change: u8, byte: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = at % bytes.len().max(1);
    match change % 4 {
        0 => bytes.truncate(at),
        1 => bytes.iter_mut().skip(at).take(1).for_each(|old| *old = byte),
        2 => bytes = [&bytes[..at], &bytes[..], &bytes[at..]].concat(),
        _ => _ = bytes.drain(at..(at + usize::from(byte)).min(bytes.len())),
    }
    bytes
}

fn value() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("metadata"),
        Just("annotations"),
        Just("webhooks"),
        Just("clientConfig"),
        Just("service"),
        Just("name"),
        Just("namespace"),
        Just("url"),
        Just("spec"),
        Just("conversion"),
        Just("webhook"),
        Just("caBundle"),
        Just("kubewright.dev/local-run"),
        Just("cert-manager.io/inject-ca-from"),
        Just("resourceVersion"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        "[a-z/:]{0,8}".prop_map(Value::from),
        Just(Value::from(
            r#"{"holder":"h","until":"2026-01-01T00:00:00Z","url":"https://a","webhooks":{"a":{"clientConfig":{"url":"x"}},"conversion":{}}}"#
        )),
    ];
    leaf.prop_recursive(6, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_damage_to_the_secret_is_repaired_for_good(
        damages in prop::collection::vec((0..4_usize, any::<usize>(), any::<u8>(), any::<u8>()), 1..4),
    ) {
        let now = "2026-11-17T08:00:00Z".parse().unwrap();
        let mut data = whole();
        for (field, at, change, byte) in damages {
            let field = [BUNDLE, AUTHORITY_KEY, CERTIFICATE, KEY][field];
            let bytes = damaged(&data[field].0, at, change, byte);
            data.insert(field.to_owned(), ByteString(bytes));
        }
        let mut material = Material::read(&data);
        carry_out(&mut material, &terms(), now, true).unwrap();
        prop_assert!(material.is_sound("webhooks.shop.svc", now));
        material.write(&mut data);
        let mut again = Material::read(&data);
        prop_assert!(again.is_whole());
        prop_assert!(!carry_out(&mut again, &terms(), now, true).unwrap().0);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let field = |name: &str| (name.to_owned(), ByteString(bytes.clone()));
        let material = Material::read(&[BUNDLE, AUTHORITY_KEY, CERTIFICATE, KEY].map(field).into());
        prop_assert!(!material.is_whole());
    }

    #[test]
    fn objects_of_any_shape_are_no_trouble(object in value()) {
        let service = Service { namespace: "a".to_owned(), name: "a".to_owned() };
        for kind in [TargetKind::Mutating, TargetKind::Validating, TargetKind::Conversion] {
            if let Injection::Patch(patch) = inject(kind, &object, &service, "YQ==") {
                let paths = patch.as_array().unwrap().iter().skip(1);
                prop_assert!(paths.into_iter().all(|change| change["path"].as_str().unwrap().ends_with("/caBundle")));
            }
            let _ = left_behind(kind, &object, jiff::Timestamp::UNIX_EPOCH, true);
        }
    }
}
