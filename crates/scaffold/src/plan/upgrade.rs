//! From the files of one generation of templates to those of another. Whatever a user changed stays: a template that was not edited is
//! replaced, one that was is merged, and where both changed the same lines the file has both, between the marks that git writes.

use crate::code::{Source, checkout_files, manifest, with_version};
use crate::merge::{ConflictMarks, merge};
use crate::{File, Project};

use super::{Change, Files, Options, PlanError, ReadError, planned};

/// What an upgrade does.
#[derive(Debug, Default)]
pub struct Upgrade {
    /// The files to write.
    pub changes: Vec<Change>,
    /// Files with lines that both sides changed: their user has to choose.
    pub conflicts: Vec<String>,
    /// Files that stay as their user has them although the template changed, and why.
    pub kept: Vec<(String, String)>,
}

/// The changes that bring a project to another generation of the templates and another version of `kubewright`.
///
/// ```
/// use std::collections::BTreeMap;
/// use kubewright_scaffold::{Project, plan};
///
/// let before = Project::parse("cliVersion: 0.1.0\nprojectName: shop\nversion: \"3\"\n")?;
/// let after = before.upgrade("0.2.0")?;
/// let files = BTreeMap::from([("Cargo.toml".to_owned(), "[dependencies]\nkubewright = \"0.1.0\"\n".to_owned())]);
/// let upgrade = plan::upgrade(&before, &after, &files)?;
/// let manifest = upgrade.changes.iter().find(|change| change.path() == "Cargo.toml");
/// assert!(matches!(manifest, Some(plan::Change::Update(file)) if file.content.contains("kubewright = \"0.2.0\"")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn upgrade(before: &Project, after: &Project, files: &impl Files) -> Result<Upgrade, PlanError> {
    let marks = ConflictMarks {
        ours: format!("kubewright {}", after.cli_version),
        theirs: "yours".to_owned(),
    };
    let mut upgrade = planned(Some(before), after, Vec::new(), files, &Options::default(), Some(marks))?;
    cargo_manifest(before, after, files, &mut upgrade)?;
    upgrade.changes.sort_by(|one, other| one.path().cmp(other.path()));
    Ok(upgrade)
}

/// `Cargo.toml` asks for the version; a checkout that it named by its path moves to cargo's configuration.
fn cargo_manifest(
    before: &Project,
    after: &Project,
    files: &impl Files,
    upgrade: &mut Upgrade,
) -> Result<(), ReadError> {
    const PATH: &str = "Cargo.toml";
    let Some(text) = files.read(PATH)? else {
        return Ok(());
    };
    let versioned = with_version(&text, &after.cli_version);
    let config = files.read(crate::code::CARGO_CONFIG)?;
    let is_checkout = versioned.checkout.is_some() || config.as_deref().is_some_and(names_checkout);
    let source = match &versioned.checkout {
        Some(path) => Source::Path(path.clone()),
        None if is_checkout => Source::Path(String::new()),
        None => Source::Version(after.cli_version.clone()),
    };
    let (base, ours) = (manifest(before, &source).content, manifest(after, &source).content);
    let content = if let Ok(merged) = merge(&base, &ours, &versioned.text) {
        merged
    } else {
        // Marks in it would stop cargo, and its comments are not worth that.
        let why = "was edited where the template changed; only the version is new";
        upgrade.kept.push((PATH.to_owned(), why.to_owned()));
        versioned.text
    };
    if content != text {
        upgrade.changes.push(Change::Update(File::new(PATH, content)));
    }
    if versioned.checkout.is_some() && !config.as_deref().is_some_and(names_checkout) {
        for file in checkout_files(&source, config.as_deref()) {
            upgrade.changes.push(match files.read(&file.path)? {
                Some(_) => Change::Update(file),
                None => Change::Create(file),
            });
        }
    }
    Ok(())
}

/// Whether cargo's configuration lets a checkout take the place of a release.
fn names_checkout(config: &str) -> bool {
    config.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with("kubewright ") && line.contains("path")
    })
}
