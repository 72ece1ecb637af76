//! `docs/api` lists the public items of the crates that users depend on, so that reviewers see every change of the surface.

use std::fs;
use std::path::{Path, PathBuf};

use kubewright_surface::changelog::unmentioned;
use kubewright_surface::{LISTED, public_items};

/// Compares the list of a crate with its sources, or writes it anew if `UPDATE_GOLDEN` is set.
fn check(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let list: PathBuf = root.join("docs/api").join(format!("{name}.txt"));
    let items = public_items(&root.join("crates").join(name)).unwrap();
    let found = items.join("\n") + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&list, found).unwrap();
        return;
    }
    let listed = fs::read_to_string(&list).unwrap_or_default();
    let difference = similar::TextDiff::from_lines(&listed, &found);
    assert!(
        listed == found,
        "the public items of {name} are not those of docs/api/{name}.txt; if the change is meant, run \
         `UPDATE_GOLDEN=1 cargo test -p kubewright-surface` and commit the list with it:\n{}",
        difference.unified_diff().context_radius(0)
    );
}

#[test]
fn the_items_of_crates_that_users_name_are_listed() {
    LISTED.into_iter().for_each(check);
}

#[test]
fn the_changelog_tells_what_changed_since_the_last_release() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/api");
    let changelog = fs::read_to_string(docs.join("../../CHANGELOG.md")).unwrap();
    for name in LISTED {
        let file = format!("{name}.txt");
        // Before the first release there is no list to compare with.
        let Ok(released) = fs::read_to_string(docs.join("released").join(&file)) else {
            continue;
        };
        let unmentioned = unmentioned(&released, &fs::read_to_string(docs.join(&file)).unwrap(), &changelog);
        assert!(
            unmentioned.is_empty(),
            "CHANGELOG.md, section \"Unreleased\", does not tell of changes of {name}:\n{}",
            unmentioned.join("\n")
        );
    }
}

#[test]
fn what_can_be_named_from_outside_is_listed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("src");
    fs::create_dir_all(source.join("cache")).unwrap();
    let write = |file: &str, text: &str| fs::write(source.join(file), text).unwrap();
    write(
        "lib.rs",
        "pub mod cache; mod hidden; pub use cache::Store; pub use hidden::shown as renamed; pub use serde::de::*;
         #[cfg(test)] pub mod tests;",
    );
    write(
        "cache/mod.rs",
        "mod store; mod parts; pub use parts::*; pub use store::Store; pub(crate) use store::Secret;",
    );
    write(
        "cache/store.rs",
        "use super::Part;
         #[derive(Clone, Debug)] pub struct Store<K> { pub kind: K, count: usize }
         pub struct Secret;
         impl<K> Store<K> { pub fn part(mut self, part: &Part,) -> Option<&K> { None } fn inner(&self) {} }
         impl Secret { pub fn unseen(&self) {} }
         impl From<Part> for Store<Part> { fn from(_: Part) -> Self { loop {} } }
         impl From<Secret> for u8 { fn from(_: Secret) -> Self { 0 } }",
    );
    write(
        "cache/parts.rs",
        "#[non_exhaustive] pub enum Part { Whole, Half(u8), Named { at: usize } }
         pub trait Sized2: Send { type Out; fn size(&self) -> usize; fn twice(&self) -> usize { 2 } }
         impl Sized2 for u8 { type Out = u8; fn size(&self) -> usize { 1 } }
         pub struct Pair(pub u8, u8);",
    );
    write("hidden.rs", "pub async fn shown(count: usize) {} pub fn unseen() {}");
    let expected = "\
pub use * = serde::de::*
pub struct Store<K> { .. }
impl Clone, Debug [Store]
impl From<Part> for Store<Part> [Store]
pub Store::kind: K
pub fn Store::part(self, part: &Part) -> Option<&K>
pub mod cache
pub struct cache::Pair(u8, _)
#[non_exhaustive] pub enum cache::Part
pub cache::Part::Half(u8)
pub cache::Part::Named { at: usize }
pub cache::Part::Whole
pub trait cache::Sized2: Send
impl Sized2 for u8 [cache::Sized2]
pub type cache::Sized2::Out
pub fn cache::Sized2::size(&self) -> usize
pub fn cache::Sized2::twice(&self) -> usize { .. }
pub use cache::Store = Store
pub async fn renamed(count: usize)";
    assert_eq!(public_items(folder.path()).unwrap().join("\n"), expected);
}
