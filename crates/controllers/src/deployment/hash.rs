//! `pod-template-hash` as upstream computes it: FNV-1a over the text in which Go prints the template.
//! The text follows from the Go types, which are written down in `facts/pod_template_types.txt`.

mod print;
mod quantity;

use k8s_openapi::api::core::v1::PodTemplateSpec;

/// The hash of a template, as it stands in names and labels.
pub(super) fn pod_template_hash(template: &PodTemplateSpec, collisions: Option<i32>) -> String {
    let value = serde_json::to_value(template).unwrap_or_default();
    let mut hash = fnv(0x811c_9dc5, print::template(&value).as_bytes());
    if let Some(collisions) = collisions {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&collisions.to_le_bytes());
        hash = fnv(hash, &bytes);
    }
    safe(&hash.to_string())
}

fn fnv(start: u32, bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(start, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Digits as letters and digits that spell no words.
fn safe(digits: &str) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    digits
        .bytes()
        .map(|byte| char::from(LETTERS[usize::from(byte) % LETTERS.len()]))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Templates, and what Go says of them.
    static RECORDED: &str = include_str!("../../facts/pod_template_hashes.jsonl");

    #[test]
    fn templates_are_printed_and_hashed_as_go_does() {
        for line in RECORDED.lines() {
            let recorded: Value = serde_json::from_str(line).unwrap();
            let template: PodTemplateSpec = serde_json::from_value(recorded["template"].clone()).unwrap();
            let text = print::template(&serde_json::to_value(&template).unwrap());
            assert_eq!(text, recorded["text"].as_str().unwrap());
            assert_eq!(pod_template_hash(&template, None), recorded["hash"].as_str().unwrap());
        }
        assert_eq!(RECORDED.lines().count(), 3);
    }

    #[test]
    fn a_collision_changes_the_hash() {
        let template = PodTemplateSpec::default();
        assert_ne!(
            pod_template_hash(&template, None),
            pod_template_hash(&template, Some(1))
        );
        assert_ne!(
            pod_template_hash(&template, Some(0)),
            pod_template_hash(&template, Some(1))
        );
    }
}
