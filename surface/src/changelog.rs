//! Semantic versioning: the changelog has to mention what changed since the last release.
//!
//! `docs/api/released/` holds the lists of public items of the last release. Removing an item, or changing its line, may break a
//! user's build, so the changelog's section "Unreleased" has to name the item in backticks. New items have to be mentioned, too,
//! but one entry may stand for many of them.

use std::collections::BTreeSet;

/// The heading of the section for what is not released yet.
const UNRELEASED: &str = "## Unreleased";

/// The section of a changelog for what is not released yet, without its heading.
pub fn unreleased(changelog: &str) -> &str {
    let Some(start) = changelog.find(UNRELEASED) else {
        return "";
    };
    let section = &changelog[start + UNRELEASED.len()..];
    section.find("\n## ").map_or(section, |end| &section[..end])
}

/// The changes between two lists of items that the changelog does not mention: one sentence for each.
pub fn unmentioned(released: &str, current: &str, changelog: &str) -> Vec<String> {
    let (before, after): (BTreeSet<&str>, BTreeSet<&str>) = (released.lines().collect(), current.lines().collect());
    let entries = unreleased(changelog);
    let mut missing: BTreeSet<String> = before
        .difference(&after)
        .map(|line| item(line))
        .filter(|item| !entries.contains(&format!("`{item}`")))
        .map(|item| format!("`{item}` was removed or changed"))
        .collect();
    if entries.trim().is_empty() && before != after {
        missing.insert("there are new items, and no entry at all".to_owned());
    }
    missing.into_iter().collect()
}

/// The changelog with the section "Unreleased" turned into that of a version which is released on a day.
pub fn with_release(changelog: &str, version: &str, day: &str) -> Option<String> {
    changelog
        .contains(UNRELEASED)
        .then(|| changelog.replacen(UNRELEASED, &format!("{UNRELEASED}\n\n## {version} - {day}"), 1))
}

/// The path of the item that a line lists: `Store::part` of `pub fn Store::part(self)`.
fn item(line: &str) -> String {
    const WORDS: [&str; 13] = [
        "pub", "async", "const", "unsafe", "fn", "struct", "enum", "trait", "mod", "type", "static", "use", "macro",
    ];
    // The line of an implementation has its item at the end.
    if let Some((_, item)) = line.strip_suffix(']').and_then(|line| line.rsplit_once(" [")) {
        return item.to_owned();
    }
    let line = line.strip_prefix("#[non_exhaustive] ").unwrap_or(line);
    let name = line.split(' ').find(|word| !WORDS.contains(word)).unwrap_or(line);
    let end = name.find(['(', '<', '{']).unwrap_or(name.len());
    name[..end].trim_end_matches([':', '!']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGELOG: &str =
        "# Changelog\n\n## Unreleased\n\n- `Store::part` returns an `Option`.\n\n## 0.1.0\n\n- `Store::whole`.\n";

    #[test]
    fn what_is_gone_or_different_has_an_entry_of_its_own() {
        let released = "pub fn Store::part(&self) -> &K\npub fn Store::whole(&self)\npub struct Store<K> { .. }\n";
        let current = "pub fn Store::part(&self) -> Option<&K>\npub struct Store<K> { .. }\n";
        assert_eq!(
            unmentioned(released, current, CHANGELOG),
            ["`Store::whole` was removed or changed"]
        );
        assert_eq!(unmentioned(released, released, "# Changelog\n"), Vec::<String>::new());
    }

    #[test]
    fn one_entry_stands_for_new_items() {
        let (released, current) = ("pub mod cache\n", "pub mod cache\npub mod client\n");
        assert_eq!(unmentioned(released, current, CHANGELOG), Vec::<String>::new());
        let empty = "# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n- The first.\n";
        assert_eq!(
            unmentioned(released, current, empty),
            ["there are new items, and no entry at all"]
        );
    }

    #[test]
    fn a_line_is_about_an_item() {
        for (line, expected) in [
            ("pub use cache::Store = Store", "cache::Store"),
            ("#[non_exhaustive] pub enum cache::Part", "cache::Part"),
            ("pub cache::Part::Half(u8)", "cache::Part::Half"),
            ("pub Store::kind: K", "Store::kind"),
            ("impl From<Part> for Store<Part> [Store]", "Store"),
            ("pub async fn renamed(count: usize)", "renamed"),
        ] {
            assert_eq!(item(line), expected);
        }
    }

    #[test]
    fn a_release_ends_the_section() {
        let released = with_release(CHANGELOG, "0.2.0", "2026-12-01").unwrap();
        assert!(
            released.contains("## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n- `Store::part`"),
            "{released}"
        );
        assert_eq!(unreleased(&released).trim(), "");
        assert_eq!(with_release("# Changelog\n", "0.2.0", "2026-12-01"), None);
    }
}
