//! Protobuf as the real server speaks it, and what no bytes may do.

use kubewright_schema::{
    TypeRef, Types, decode,
    protobuf::{self, Envelope, ProtobufError},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{kinds, type_of, typed_document};

const GOLDENS: &str = include_str!("../goldens/protobuf.txt");

fn kind(kind: &str) -> TypeRef<'static> {
    Types::builtin().kind("", "v1", kind).unwrap()
}

fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<u32> = text
        .chars()
        .filter_map(|c| ALPHABET.find(c).map(|at| at as u32))
        .collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let bits = group
            .iter()
            .enumerate()
            .fold(0, |bits, (at, digit)| bits | digit << (26 - 6 * at));
        bytes.extend_from_slice(&bits.to_be_bytes()[..group.len() - 1]);
    }
    bytes
}

/// Each name with the JSON and the protobuf of one answer.
fn goldens() -> impl Iterator<Item = (&'static str, Value, Vec<u8>)> {
    GOLDENS.split("\n\n").skip(1).map(|block| {
        let mut lines = block.lines();
        let name = lines.next().unwrap();
        let value = serde_json::from_str(lines.next().unwrap()).unwrap();
        (name, value, base64(lines.next().unwrap()))
    })
}

fn objects() -> impl Iterator<Item = (&'static str, Value, Vec<u8>)> {
    goldens().filter(|(_, value, _)| value.get("kind").is_some())
}

#[test]
fn objects_are_encoded_to_the_bytes_of_the_real_server() {
    assert_eq!(objects().count(), 13);
    for (name, object, recorded) in objects() {
        let encoded = protobuf::encode_object(Types::builtin(), &object).unwrap();
        assert_eq!(encoded, recorded, "{name}");
    }
}

#[test]
fn the_bytes_of_the_real_server_are_decoded_to_its_json() {
    for (name, object, recorded) in objects() {
        let envelope = Envelope::open(&recorded).unwrap();
        assert_eq!(envelope.kind, object["kind"], "{name}");
        assert_eq!(envelope.api_version, object["apiVersion"].as_str().unwrap_or_default());
        let mut decoded = protobuf::decode(type_of(&object), envelope.raw).unwrap();
        let mut expected = object;
        for part in ["kind", "apiVersion"] {
            expected.as_object_mut().unwrap().remove(part);
        }
        // The parts of a list say their kind in JSON only.
        for item in expected["items"].as_array_mut().into_iter().flatten() {
            item.as_object_mut()
                .unwrap()
                .retain(|key, _| key != "kind" && key != "apiVersion");
        }
        if expected["items"].is_null() {
            expected.as_object_mut().unwrap().remove("items");
            decoded
                .as_object_mut()
                .unwrap()
                .retain(|key, value| key != "items" || !value.is_null());
        }
        assert_eq!(decoded, expected, "{name}");
    }
}

#[test]
fn frames_of_a_watch_are_those_of_the_real_server() {
    let (_, event, recorded) = goldens().find(|(_, value, _)| value.get("type").is_some()).unwrap();
    let object = protobuf::encode_object(Types::builtin(), &event["object"]).unwrap();
    assert_eq!(
        protobuf::watch_frame(event["type"].as_str().unwrap(), &object),
        recorded
    );
}

#[test]
fn what_exists_in_json_only_is_not_encoded() {
    let table = json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": [], "rows": []});
    assert_eq!(
        protobuf::encode_object(Types::builtin(), &table)
            .unwrap_err()
            .to_string(),
        "object *v1.Table does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
    );
    let stranger = json!({"kind": "Widget", "apiVersion": "example.com/v1"});
    assert!(matches!(
        protobuf::encode_object(Types::builtin(), &stranger),
        Err(ProtobufError::NotAMessage(_))
    ));
}

#[test]
fn a_value_that_does_not_fit_its_type_is_not_encoded() {
    let error = protobuf::encode(kind("ConfigMap"), &json!({"data": {"a": 1}})).unwrap_err();
    assert_eq!(error.to_string(), "number is no string");
}

/// Recorded from kube-apiserver 1.36.3.
#[test]
fn malformed_envelopes_are_refused_in_the_words_of_the_real_server() {
    let cases: [(&[u8], &str); 12] = [
        (b"", "empty data"),
        (
            b"k8",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (
            b"{}",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (b"k8s\0", "empty body"),
        (b"k8s\0\x0a", "unexpected EOF"),
        (b"k8s\0\x0a\x02", "unexpected EOF"),
        (b"k8s\0\x08\x00", "proto: wrong wireType = 0 for field TypeMeta"),
        (b"k8s\0\x0c", "proto: Unknown: wiretype end group for non-group"),
        (b"k8s\0\x00", "proto: Unknown: illegal tag 0 (wire type 0)"),
        (b"k8s\0\x7e", "proto: illegal wireType 6"),
        (
            b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            "proto: integer overflow",
        ),
        (
            b"k8s\0\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "proto: negative length found during unmarshaling",
        ),
    ];
    for (bytes, message) in cases {
        assert_eq!(Envelope::open(bytes).unwrap_err().to_string(), message, "{bytes:x?}");
    }
}

/// Recorded from kube-apiserver 1.36.3.
#[test]
fn malformed_objects_are_refused_in_the_words_of_the_real_server() {
    let cases: [(&str, &[u8], &str); 8] = [
        ("ConfigMap", b"\x0a\x0a\x0a\x00", "unexpected EOF"),
        (
            "ConfigMap",
            b"\x08\x0a",
            "proto: wrong wireType = 0 for field ObjectMeta",
        ),
        ("ConfigMap", b"\x12\x01\x08", "unexpected EOF"),
        (
            "ConfigMap",
            b"\x0a\x02\x08\x05",
            "proto: wrong wireType = 0 for field Name",
        ),
        (
            "ConfigMap",
            b"\x0a\x02\x00\x05",
            "proto: ObjectMeta: illegal tag 0 (wire type 0)",
        ),
        (
            "ConfigMap",
            b"\x0a\x02\x07\x05",
            "proto: ObjectMeta: illegal tag 0 (wire type 7)",
        ),
        ("ConfigMap", b"\xfa\x01\xff\x05", "unexpected EOF"),
        (
            "DeleteOptions",
            b"\x0a\x00",
            "proto: wrong wireType = 2 for field GracePeriodSeconds",
        ),
    ];
    for (name, bytes, message) in cases {
        assert_eq!(
            protobuf::decode(kind(name), bytes).unwrap_err().to_string(),
            message,
            "{name} {bytes:x?}"
        );
    }
}

#[test]
fn unknown_fields_are_passed_over_whatever_their_wire_type() {
    // Field 15 as a varint, as eight bytes, as bytes, as a group with a field inside, as four bytes; then data {a: b}.
    let bytes = b"\x78\x01\x79abcdefgh\x7a\x01x\x7b\x08\x01\x7c\x7dabcd\x12\x06\x0a\x01a\x12\x01b";
    let decoded = protobuf::decode(kind("ConfigMap"), bytes).unwrap();
    assert_eq!(decoded, json!({"metadata": {}, "data": {"a": "b"}}));
}

#[test]
fn a_message_that_comes_in_pieces_is_put_together() {
    let name = b"\x0a\x03\x0a\x01n";
    let namespace = b"\x0a\x03\x1a\x01s";
    let decoded = protobuf::decode(kind("ConfigMap"), &[&name[..], namespace].concat()).unwrap();
    assert_eq!(decoded, json!({"metadata": {"name": "n", "namespace": "s"}}));
}

#[test]
fn text_that_is_no_utf8_is_replaced_byte_by_byte() {
    let decoded = protobuf::decode(kind("ConfigMap"), b"\x0a\x06\x0a\x04a\xed\xa0b").unwrap();
    assert_eq!(decoded["metadata"]["name"], "a\u{fffd}\u{fffd}b");
}

#[test]
fn messages_that_nest_without_end_are_refused_before_the_stack_is() {
    let schema = Types::builtin()
        .named("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
        .unwrap();
    let not = protobuf::encode(schema, &json!({"not": {}})).unwrap();
    let empty = protobuf::encode(schema, &json!({})).unwrap();
    // The field that differs begins with its tag, then comes the length of what is inside.
    let at = (0..not.len()).find(|at| not.get(*at) != empty.get(*at)).unwrap();
    let tag = &not[at..at + 2];
    let mut nested = Vec::new();
    for _ in 0..2_000 {
        let mut length = nested.len();
        let mut outer = tag.to_vec();
        while length >= 0x80 {
            outer.push(length as u8 | 0x80);
            length >>= 7;
        }
        outer.push(length as u8);
        outer.extend_from_slice(&nested);
        nested = outer;
    }
    assert_eq!(protobuf::decode(schema, &nested), Err(ProtobufError::TooDeep));
}

/// Protobuf does not tell an empty list from none, which these kinds do in JSON.
fn keeps_empty_lists(ty: TypeRef<'_>) -> bool {
    matches!(ty.short_name(), Some("CustomResourceDefinition" | "APIService"))
}

proptest! {
    #[test]
    fn decoding_what_was_encoded_changes_nothing((ty, document) in typed_document()) {
        if let Ok(object) = decode(ty, document, None) {
            let mut object = decode(ty, object.value, None).unwrap().value;
            for part in ["kind", "apiVersion"] {
                object.as_object_mut().unwrap().remove(part);
            }
            let encoded = protobuf::encode(ty, &object).unwrap();
            let decoded = protobuf::decode(ty, &encoded).unwrap();
            prop_assert_eq!(&protobuf::encode(ty, &decoded).unwrap(), &encoded);
            if !keeps_empty_lists(ty) {
                prop_assert_eq!(decoded, object);
            }
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        kind in any::<prop::sample::Index>(),
    ) {
        let kinds = kinds();
        let ty = kinds[kind.index(kinds.len())];
        if let Ok(object) = protobuf::decode(ty, &bytes) {
            let _ = protobuf::encode(ty, &object);
        }
        let _ = Envelope::open(&bytes);
        let _ = Envelope::open(&[b"k8s\0", &bytes[..]].concat());
    }

    #[test]
    fn a_damaged_object_is_decoded_or_refused(
        golden in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        length in any::<prop::sample::Index>(),
    ) {
        let objects: Vec<_> = objects().collect();
        let (_, object, mut bytes) = objects[golden.index(objects.len())].clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(length.index(bytes.len() * 4));
        if let Ok(envelope) = Envelope::open(&bytes)
            && let Ok(decoded) = protobuf::decode(type_of(&object), envelope.raw)
        {
            let _ = decode(type_of(&object), decoded.clone(), None);
            let _ = protobuf::encode(type_of(&object), &decoded);
        }
    }
}
