//! Whatever a document says, decoding it ends with an answer, and decoding the answer again changes nothing.

use kubewright_schema::{TypeRef, Types, decode, default};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::{any_json, kinds, typed_document};

/// Upstream, too, needs two decodings here: it writes null for a list of no schemas, and reads null as no list.
fn settles_at_once(ty: TypeRef<'_>) -> bool {
    ty.short_name() != Some("CustomResourceDefinition")
}

proptest! {
    #[test]
    fn any_json_is_decoded_or_refused(document in any_json(), kind in any::<prop::sample::Index>()) {
        let kinds = kinds();
        let ty = kinds[kind.index(kinds.len())];
        if let Ok(mut decoded) = decode(ty, document, None) {
            default(ty, &mut decoded.value);
        }
    }

    #[test]
    fn decoding_and_defaulting_are_idempotent((ty, document) in typed_document()) {
        if let Ok(first) = decode(ty, document, None) {
            let second = decode(ty, first.value.clone(), None).unwrap();
            prop_assert!(second.unknown.is_empty());
            if settles_at_once(ty) {
                prop_assert_eq!(&second.value, &first.value);
            }
            let mut once = second.value;
            default(ty, &mut once);
            let mut twice = once.clone();
            default(ty, &mut twice);
            prop_assert_eq!(twice, once);
        }
    }
}

#[test]
fn a_document_that_nests_without_end_is_refused_before_the_stack_is() {
    let ty = Types::builtin()
        .kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
        .unwrap();
    let mut schema = Value::Object(Map::new());
    for _ in 0..1_500 {
        schema = Value::Object(Map::from_iter([("not".to_owned(), schema)]));
    }
    let mut document = json!({"spec": {"versions": [{"schema": {}}]}});
    document["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
    assert_eq!(
        decode(ty, document, None).unwrap_err().to_string(),
        "exceeded max depth"
    );
}
