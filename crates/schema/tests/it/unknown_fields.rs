//! Fields that a type does not have are dropped and named as the real server names them (W2). The golden file holds, in
//! pairs of lines, a body and what kube-apiserver 1.36 answered to `fieldValidation=Strict` after `strict decoding error: `.

use std::collections::BTreeSet;

use kubewright_apimachinery::go::quote;
use kubewright_schema::decode;
use serde_json::Value;

use crate::support::{pairs, type_of};

static GOLDEN: &str = include_str!("../goldens/unknown-fields.txt");

#[test]
fn unknown_fields_are_dropped_and_named_as_the_real_server_names_them() {
    for (body, expected) in pairs(GOLDEN) {
        let value: Value = serde_json::from_str(body).unwrap();
        let ty = type_of(&value);
        let decoded = decode(ty, value, None).unwrap();
        let named: BTreeSet<_> = decoded
            .unknown
            .iter()
            .map(|path| format!("unknown field {}", quote(path)))
            .collect();
        // The order of the document is the codec's business.
        let expected: BTreeSet<_> = expected.split(", ").map(str::to_owned).collect();
        assert_eq!(named, expected, "for {body}");
        let again = decode(ty, decoded.value.clone(), None).unwrap();
        assert!(again.unknown.is_empty(), "unknown fields stayed in {}", decoded.value);
    }
}
