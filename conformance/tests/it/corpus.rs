//! The corpus is complete and recorded, and covers only behaviours that exist.

use std::collections::BTreeSet;

use kubewright_conformance::corpus::Corpus;
use kubewright_conformance::decisions;
use kubewright_conformance::kubectl::{self, Transcript};
use kubewright_conformance::scope;
use kubewright_conformance::transcript::Recording;

fn corpus() -> Corpus {
    Corpus::load().expect("the cases can be read")
}

#[test]
fn every_behaviour_in_scope_is_covered_by_a_case() {
    let corpus = corpus();
    let covered: BTreeSet<_> = corpus.files.iter().flat_map(|file| &file.covers).collect();
    let missing: Vec<_> = scope::of_cases()
        .into_iter()
        .filter(|id| !covered.contains(id))
        .collect();
    assert!(missing.is_empty(), "no case covers {}", missing.join(" "));
}

#[test]
fn every_behaviour_of_kubectl_is_covered_by_a_script_that_is_recorded() {
    let scripts = kubectl::scripts(None).expect("the scripts can be read");
    for script in &scripts {
        let transcript = Transcript::load(script).unwrap_or_else(|error| panic!("{error}"));
        assert!(!transcript.commands.is_empty(), "{} shows nothing", script.name);
    }
    let covered: BTreeSet<_> = scripts.iter().flat_map(|script| &script.covers).collect();
    let missing: Vec<_> = scope::of_kubectl()
        .into_iter()
        .filter(|id| !covered.contains(id))
        .collect();
    assert!(missing.is_empty(), "no script covers {}", missing.join(" "));
}

#[test]
fn every_case_is_recorded_as_it_stands() {
    let mut problems = Vec::new();
    for file in corpus().files {
        match Recording::load(&file) {
            Err(error) => problems.push(error.to_string()),
            Ok(recording) => {
                let recorded: BTreeSet<_> = recording.transcripts.keys().collect();
                let written: BTreeSet<_> = file.variants.iter().map(|variant| &variant.name).collect();
                if recorded != written {
                    problems.push(format!("{}: recorded variants are not those of the matrix", file.id));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_covered_id_is_an_id() {
    for file in corpus().files {
        for id in &file.covers {
            let mut characters = id.chars();
            let letter = characters.next().is_some_and(|letter| letter.is_ascii_uppercase());
            let number = characters.as_str();
            assert!(
                letter && number.parse::<u8>().is_ok(),
                "{} covers {id:?}, which is no id",
                file.id
            );
        }
    }
}

#[test]
fn every_decision_is_about_a_case_and_has_a_reason() {
    let cases: BTreeSet<_> = corpus()
        .expanded()
        .map(|(file, variant)| file.case_id(&variant))
        .collect();
    for decision in decisions::load().expect("the decisions can be read") {
        assert!(
            cases.contains(&decision.case),
            "differences.yaml names {:?}, which is no case",
            decision.case
        );
        assert!(
            !decision.reason.trim().is_empty(),
            "differences.yaml gives no reason for {}",
            decision.case
        );
    }
}

#[test]
fn no_recording_is_left_without_its_case() {
    let corpus = corpus();
    let wanted: BTreeSet<_> = corpus.files.iter().map(|file| file.recording()).collect();
    let folders: BTreeSet<_> = corpus.files.iter().filter_map(|file| file.path.parent()).collect();
    for folder in folders {
        for entry in std::fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            let recording = path.to_string_lossy().ends_with(".recorded.json");
            assert!(
                !recording || wanted.contains(&path),
                "{} has no case beside it",
                path.display()
            );
        }
    }
}
