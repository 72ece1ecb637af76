//! Replays the scripts of kubectl on the embedded server and compares the output with that of the real server. The test uses the
//! binary in `$KUBECTL` (v1.36.3); without it the test prints that it is skipped.
//! It is a program of its own because it starts kubectl some hundred times: `cargo test --test it` leaves it out.
#![cfg(unix)]

use kubewright_conformance::kubectl::{replay_embedded, scripts};

#[test]
fn kubectl_cannot_tell_the_embedded_server_from_the_real_one() {
    let Some(binary) = kubewright_test_support::kubectl() else {
        return;
    };
    let scripts = scripts(None).expect("the scripts can be read");
    let outcomes = replay_embedded(&scripts, &binary).expect("the scripts can be played");
    let different: Vec<_> = outcomes
        .iter()
        .filter(|outcome| !outcome.differences.is_empty())
        .map(ToString::to_string)
        .collect();
    assert!(
        different.is_empty(),
        "{}\n- is what kubectl printed on the real server, + on the embedded one",
        different.join("\n")
    );
}
