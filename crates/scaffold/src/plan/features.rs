//! The features of kubewright that the code of a project needs, in its `Cargo.toml`, which is otherwise the user's.

use super::{Files, Obstacle, Planner, ReadError};
use crate::{File, Project};

const MANIFEST: &str = "Cargo.toml";
/// What an aggregated API takes.
const EXTENSION: &str = "extension";

impl<F: Files> Planner<'_, F> {
    /// Asks for the server of an aggregated API once a project has one. It stays when the last such kind goes: the user may have
    /// more.
    pub(super) fn extension_feature(&mut self, before: Option<&Project>, after: &Project) -> Result<(), ReadError> {
        let had = before.is_some_and(Project::has_extension);
        if had || !after.has_extension() {
            return Ok(());
        }
        let Some(text) = self.read(MANIFEST)? else {
            return Ok(());
        };
        if let Some(changed) = with_feature(&text, EXTENSION) {
            return self.write(File::new(MANIFEST, changed));
        }
        let line = format!("kubewright = {{ version = \"…\", features = [\"{EXTENSION}\"] }}");
        self.obstacles.push(Obstacle::Conflict(MANIFEST.to_owned(), vec![line]));
        Ok(())
    }
}

/// A `Cargo.toml` whose dependency on kubewright has a feature; `None` if the line is not one that can be edited.
fn with_feature(manifest: &str, feature: &str) -> Option<String> {
    let quoted = format!("\"{feature}\"");
    let mut changed = String::with_capacity(manifest.len() + feature.len() + 4);
    let (mut is_in_dependencies, mut done) = (false, false);
    for line in manifest.split_inclusive('\n') {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            is_in_dependencies = trimmed == "[dependencies]";
        }
        let is_ours = is_in_dependencies && trimmed.split(['=', ' ']).next() == Some("kubewright");
        if !is_ours || done {
            changed.push_str(line);
            continue;
        }
        done = true;
        if line.contains(&quoted) {
            changed.push_str(line);
        } else if let Some((head, tail)) = line.split_once("features = [") {
            let between = if tail.trim_start().starts_with(']') { "" } else { ", " };
            changed.extend([head, "features = [", quoted.as_str(), between, tail]);
        } else {
            let (head, tail) = line.rsplit_once('}')?;
            changed.extend([head.trim_end(), ", features = [", quoted.as_str(), "] }", tail]);
        }
    }
    done.then_some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_joins_those_that_are_there() {
        let manifest = |features: &str| {
            format!(
                "[package]\nname = \"kubewright\"\n\n[dependencies]\nkubewright = {{ version = \"0.1\"{features} }}\n\n\
                 [dev-dependencies]\nkubewright = {{ version = \"0.1\", features = [\"testing\"] }}\n"
            )
        };
        for (before, after) in [
            (", features = [\"v1_36\"]", ", features = [\"extension\", \"v1_36\"]"),
            (", features = []", ", features = [\"extension\"]"),
            ("", ", features = [\"extension\"]"),
            (", features = [\"extension\"]", ", features = [\"extension\"]"),
        ] {
            assert_eq!(with_feature(&manifest(before), EXTENSION), Some(manifest(after)));
        }
    }

    #[test]
    fn a_dependency_that_is_written_otherwise_is_left_to_its_author() {
        assert_eq!(with_feature("[dependencies]\nkubewright = \"0.1\"\n", EXTENSION), None);
        assert_eq!(with_feature("[dependencies]\n", EXTENSION), None);
    }
}
