//! Every kind answers as a real kube-apiserver did: the same errors in the same order, or the same object and warnings.
//! The answers are in the folder `recorded` of this crate; its README says how they are made.

mod case;
mod conversions;
mod misshapen;
mod write;

use std::fmt::Write as _;

use case::Case;

#[test]
fn every_kind_answers_as_the_real_server_did() {
    let cases = Case::all();
    assert!(cases.len() > 850, "only {} cases", cases.len());
    let mut differences = String::new();
    for case in &cases {
        let found = write::answer(&case.sent, case.stored.as_ref(), case.subresource.as_deref());
        if found != case.answer {
            let (sentence, expected) = (&case.sentence, &case.answer);
            let _ = write!(differences, "\n# {sentence}\nupstream: {expected}\nours:     {found}\n");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn no_shape_of_an_object_panics() {
    let mut tried = 0;
    for (turn, case) in Case::all().iter().enumerate() {
        for object in misshapen::variants(&case.sent, turn) {
            misshapen::try_all_writes(&object, case.stored.as_ref());
            tried += 1;
        }
    }
    assert!(tried > 5_000, "only {tried} objects");
}
