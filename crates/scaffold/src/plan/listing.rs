//! Kustomizations, to which users add entries: generated entries are added and removed one by one, all others stay.

use kubewright_manifests::install::kustomization::{Entry, KustomizationError, set};
use serde_json::Value;

/// The kustomizations of a project that users edit.
const LISTINGS: [&str; 2] = [SAMPLES, "config/default/kustomization.yaml"];

/// Lists the samples. A user may have written it before the first kind was created.
pub(super) const SAMPLES: &str = "config/samples/kustomization.yaml";

const LISTS: [&str; 3] = ["resources", "patches", "replacements"];

/// The entries that are added to and removed from a kustomization.
pub(super) struct Listing(Vec<Entry>);

impl Listing {
    /// The difference between two generated texts; `None` if the file is no listing, or if more than its entries differs.
    pub(super) fn between(path: &str, old: &str, new: &str) -> Option<Self> {
        if !LISTINGS.contains(&path) {
            return None;
        }
        let (old, new) = (decode(old)?, decode(new)?);
        let rest = |value: &Value| {
            let mut rest = value.as_object().cloned().unwrap_or_default();
            rest.retain(|field, _| !LISTS.contains(&field.as_str()));
            rest
        };
        if !old.is_null() && !new.is_null() && rest(&old) != rest(&new) {
            return None;
        }
        let (before, after) = (entries(&old, false), entries(&new, true));
        let is_among = |entry: &Entry, others: &[Entry]| {
            let mut toggled = entry.clone();
            toggled.wanted = !entry.wanted;
            others.contains(&toggled)
        };
        let gone = before.iter().filter(|entry| !is_among(entry, &after));
        let added = after.iter().filter(|entry| !is_among(entry, &before));
        Some(Self(gone.chain(added).cloned().collect()))
    }

    /// Applies the changes to a text.
    pub(super) fn apply(&self, text: &str) -> Result<String, KustomizationError> {
        set(text, &self.0)
    }

    /// The entries that are added, as lines.
    pub(super) fn wanted(&self) -> Vec<String> {
        let wanted = self.0.iter().filter(|entry| entry.wanted);
        wanted.map(|entry| format!("- {}", entry.name())).collect()
    }
}

/// Whether nothing but comments is in a text.
pub(super) fn is_blank(text: &str) -> bool {
    decode(text).is_some_and(|value| value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty))
}

fn decode(text: &str) -> Option<Value> {
    if text.trim().is_empty() {
        return Some(Value::Null);
    }
    kubewright_codec::yaml::decode(text.as_bytes())
        .ok()
        .map(|decoded| decoded.value)
}

fn entries(value: &Value, wanted: bool) -> Vec<Entry> {
    let of = |list: &'static str| {
        let items = value[list].as_array().into_iter().flatten();
        items.filter_map(move |item| match list {
            "resources" => Some(Entry::resource(item.as_str()?, wanted)),
            "patches" => Some(Entry::patch(item["path"].as_str()?, wanted)),
            _ => Some(Entry::replacement(item["path"].as_str()?, wanted)),
        })
    };
    LISTS.into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = "# Ours.\nresources:\n- a.yaml\n- b.yaml\n";

    #[test]
    fn entries_come_and_go_beside_those_of_the_user() {
        let listing = Listing::between(SAMPLES, OURS, &OURS.replace("- a.yaml", "- c.yaml")).unwrap();
        assert_eq!(listing.wanted(), ["- c.yaml"]);
        let theirs = "resources:\n- mine.yaml # mine\n- a.yaml\n- b.yaml\n- more.yaml\n";
        let changed = "resources:\n- mine.yaml # mine\n- b.yaml\n- more.yaml\n- c.yaml\n";
        assert_eq!(listing.apply(theirs).unwrap(), changed);
        assert_eq!(listing.apply(changed).unwrap(), changed);
    }

    #[test]
    fn what_is_more_than_entries_is_no_matter_of_lists() {
        assert!(Listing::between(SAMPLES, OURS, &format!("{OURS}namespace: a\n")).is_none());
        assert!(Listing::between("config/manager/manager.yaml", OURS, OURS).is_none());
        assert!(is_blank("# only a remark\n") && !is_blank(OURS));
    }
}
