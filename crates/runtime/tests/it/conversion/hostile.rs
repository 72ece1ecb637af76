//! Reviews nobody sane would send: no panic, always a well-formed answer.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Map, Value, json};

use super::kinds::{forgetful, preserving, review, shop};
use super::webhook::ask;

const ANNOTATION: &str = "shop.example.com/conversion-data";

/// Any JSON.
fn anything(random: &mut StdRng, depth: usize) -> Value {
    match random.random_range(0..if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => random.random::<bool>().into(),
        2 => random.random::<i64>().into(),
        // Long fractions lose their last digit when JSON is read.
        3 => json!(f64::from(random.random_range(-4096..4096)) / 8.0),
        4 => word(random).into(),
        5 => json!({}),
        6 => (0..random.random_range(0..4))
            .map(|_| anything(random, depth - 1))
            .collect(),
        _ => {
            let members = (0..random.random_range(0..5)).map(|_| (word(random), anything(random, depth - 1)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

fn word(random: &mut StdRng) -> String {
    const WORDS: [&str; 24] = [
        "",
        "spec",
        "metadata",
        "name",
        "labels",
        "annotations",
        "apiVersion",
        "kind",
        "size",
        "replicas",
        "ports",
        "v1",
        "v1beta1",
        "shop.example.com/v1",
        "shop.example.com/v1beta1",
        "shop.example.com/v1alpha1",
        "Shop",
        "members",
        "elements",
        "seen",
        "kept",
        "5s",
        "\u{0}\u{1f980}",
        ANNOTATION,
    ];
    WORDS[random.random_range(0..WORDS.len())].to_owned()
}

/// A review that is right.
fn proper(random: &mut StdRng) -> Value {
    let versions = ["v1", "v1beta1", "v1alpha1"];
    let specs = [
        json!({ "replicas": 3, "paused": true, "ports": [{ "name": "a", "number": 1, "protocol": "UDP" }] }),
        json!({ "size": 3, "timeout": "5s", "ports": [{ "name": "a", "number": 1 }], "shelves": { "a": { "height": 0.5 } } }),
        json!({ "size": "3", "ports": [1, 2], "motto": "m" }),
    ];
    let conversions = preserving();
    let objects: Vec<_> = (0..random.random_range(0..4))
        .map(|_| {
            let which = random.random_range(0..3);
            let object = shop(versions[which], "a", &specs[which]);
            // Half of them have travelled before and carry a note.
            let via = format!("shop.example.com/{}", versions[random.random_range(0..3)]);
            if random.random() {
                conversions.convert(&object, &via).unwrap()
            } else {
                object
            }
        })
        .collect();
    review(
        &format!("shop.example.com/{}", versions[random.random_range(0..3)]),
        &objects,
    )
}

/// Replaces, removes or adds something somewhere.
fn mutate(value: &mut Value, random: &mut StdRng) {
    let here = random.random_range(0..6) == 0;
    match value {
        Value::Object(members) if !here && !members.is_empty() => {
            let at = random.random_range(0..members.len());
            let key = members.keys().nth(at).unwrap().clone();
            match random.random_range(0..8) {
                0 => {
                    members.remove(&key);
                }
                1 => {
                    let value = anything(random, 2);
                    members.insert(word(random), value);
                }
                _ => mutate(members.get_mut(&key).unwrap(), random),
            }
        }
        Value::Array(elements) if !here && !elements.is_empty() => {
            let at = random.random_range(0..elements.len());
            mutate(&mut elements[at], random);
        }
        // Notes are JSON in a text.
        Value::String(text) if text.starts_with('{') && !here => {
            let mut note: Value = serde_json::from_str(text).unwrap_or(Value::Null);
            mutate(&mut note, random);
            *text = note.to_string();
        }
        value => *value = anything(random, 3),
    }
}

/// Anything that can happen to bytes.
fn damage(bytes: &mut Vec<u8>, random: &mut StdRng) {
    for _ in 0..random.random_range(1..4) {
        if bytes.is_empty() {
            return;
        }
        let at = random.random_range(0..bytes.len());
        match random.random_range(0..4) {
            0 => bytes.truncate(at),
            1 => bytes[at] = random.random(),
            2 => bytes.insert(at, b"{}[]\",:0"[random.random_range(0..8)]),
            _ => {
                let end = random.random_range(at..bytes.len());
                bytes.drain(at..end);
            }
        }
    }
}

#[test]
fn ten_thousand_random_and_mutated_reviews_get_well_formed_answers() {
    let mut random = StdRng::seed_from_u64(12);
    let both = [forgetful(), preserving()];
    let (mut refused, mut failed, mut succeeded) = (0, 0, 0);
    for number in 0..10_000 {
        let conversions = &both[number % 2];
        let (asked, body) = match number % 5 {
            0 => {
                let any = anything(&mut random, 6);
                (None, any.to_string().into_bytes())
            }
            1 => {
                let mut body = proper(&mut random).to_string().into_bytes();
                damage(&mut body, &mut random);
                (None, body)
            }
            _ => {
                let mut review = proper(&mut random);
                for _ in 0..random.random_range(0..4) {
                    let objects = review["request"]["objects"].as_array().map_or(0, Vec::len);
                    // Mostly the objects: a damaged review is soon refused.
                    if objects > 0 && random.random_range(0..8) > 0 {
                        let at = random.random_range(0..objects);
                        mutate(&mut review["request"]["objects"][at], &mut random);
                    } else {
                        mutate(&mut review, &mut random);
                    }
                }
                let body = review.to_string().into_bytes();
                (Some(review), body)
            }
        };
        let (code, body) = ask(conversions, &body);
        if code == 400 {
            assert!(body.is_empty());
            refused += 1;
            continue;
        }
        assert_eq!(code, 200);
        let answer: Value = serde_json::from_slice(&body).unwrap();
        let response = &answer["response"];
        let result = &response["result"];
        if result["status"] == "Failure" {
            assert!(!result["message"].as_str().unwrap().is_empty());
            assert_ne!(result["message"], "internal error occurred during conversion");
            assert_eq!(response["convertedObjects"], Value::Null);
            failed += 1;
            continue;
        }
        assert_eq!(result["status"], "Success");
        succeeded += 1;
        let Some(asked) = asked else { continue };
        let request = &asked["request"];
        assert_eq!(response["uid"], request["uid"].as_str().unwrap_or(""));
        let objects = request["objects"].as_array().cloned().unwrap_or_default();
        let converted = response["convertedObjects"].as_array().cloned().unwrap_or_default();
        assert_eq!(objects.len(), converted.len());
        for (object, converted) in objects.iter().zip(&converted) {
            assert_eq!(converted["apiVersion"], request["desiredAPIVersion"]);
            assert_eq!(converted["kind"], object["kind"]);
            let strip = |object: &Value| {
                // Who has none gets none but its braces, which the API server wants.
                let mut metadata = object.get("metadata").cloned().unwrap_or_else(|| serde_json::json!({}));
                if let Value::Object(members) = &mut metadata {
                    members.remove("annotations");
                }
                metadata
            };
            assert_eq!(strip(converted), strip(object));
        }
    }
    // All three kinds of answers were really tried.
    println!("{refused} refused, {failed} failed, {succeeded} succeeded");
    assert!(
        refused > 1500 && failed > 1000 && succeeded > 2000,
        "{refused} {failed} {succeeded}"
    );
}

#[test]
fn a_large_review_allocates_in_proportion_to_its_size() {
    let spec = |unknown: usize| {
        let members = (0..unknown).map(|at| (format!("unknown{at}"), json!({ "a": at })));
        let mut spec = members.collect::<Map<_, _>>();
        spec.insert("size".to_owned(), json!(1));
        Value::Object(spec)
    };
    let allocated = |unknown: usize| {
        let review = review("shop.example.com/v1", &[shop("v1beta1", "a", &spec(unknown))]).to_string();
        let mut answered = None;
        let allocated = allocation_counter::measure(|| answered = Some(ask(&preserving(), review.as_bytes())));
        let (code, body) = answered.unwrap();
        assert_eq!(code, 200);
        let answer: Value = serde_json::from_slice(&body).unwrap();
        let spec = answer["response"]["convertedObjects"][0]["spec"].as_object().unwrap();
        assert_eq!(spec.len(), unknown + 3);
        allocated
    };
    // What is made once and kept is no price of a review.
    allocated(1000);
    let (small, large) = (allocated(2000), allocated(20_000));
    // Ten times as much, and buffers that double may be half empty.
    assert!(large.count_total < small.count_total * 11, "{small:?} {large:?}");
    assert!(large.bytes_total < small.bytes_total * 20, "{small:?} {large:?}");
}
