//! The files of a project that are not Rust: the kustomize tree, the Makefile, the image, the workflows, the README.
//! These follow from PROJECT; `kubewright manifests` writes what follows from the code.

mod description;
mod grafana;
mod tree;

use std::fmt::Write as _;

use crate::{File, Project};

pub use tree::{definition_options, settings};

/// The files that users may edit, as they follow from a project.
///
/// ```
/// use kubewright_scaffold::{Project, config};
///
/// let project = Project::parse("projectName: shop\nversion: \"3\"\n")?;
/// let files = config::files(&project);
/// assert!(files.iter().any(|file| file.path == "Makefile"));
/// assert!(files.iter().any(|file| file.path == "config/manager/manager.yaml" && file.content.contains("name: manager")));
/// # Ok::<(), kubewright_scaffold::project::ProjectError>(())
/// ```
pub fn files(project: &Project) -> Vec<File> {
    /// A template of the first generation that has changed since, and the current one.
    macro_rules! changed {
        ($name:literal) => {
            project.template(
                include_str!(concat!("../../templates/1/", $name)),
                include_str!(concat!("templates/", $name)),
            )
        };
    }
    let mut files = vec![
        text(project, "Makefile", changed!("Makefile")),
        text(project, "Dockerfile", changed!("Dockerfile")),
        text(project, ".dockerignore", changed!("dockerignore")),
        text(project, ".gitignore", changed!("gitignore")),
        text(project, ".github/workflows/lint.yml", changed!("lint.yml")),
        text(project, ".github/workflows/test.yml", changed!("test.yml")),
        File::new("README.md", readme(project, changed!("README.md"))),
    ];
    files.extend(tree::files(project));
    files.extend(grafana::file(project));
    files
}

/// The first state of the files that `kubewright manifests` writes from the code, so that the tree is complete from the start:
/// `kubectl kustomize config/default` builds it before anything is compiled. They are written only where they do not exist, or are
/// still what the scaffold wrote.
pub fn generated(project: &Project) -> Vec<File> {
    tree::generated(project)
}

fn text(project: &Project, path: &str, template: &str) -> File {
    let content = template
        .replace("{{name}}", &project.name)
        .replace("{{version}}", &project.cli_version)
        .replace("{{rust}}", env!("CARGO_PKG_RUST_VERSION"));
    File::new(path, content)
}

/// The README, with the paths of this layout.
fn readme(project: &Project, template: &str) -> String {
    let kind = project.kinds().next();
    let (group, name) = kind.map_or(("shop", "Order".to_owned()), |kind| {
        let group = if kind.group.is_empty() { "shop" } else { &kind.group };
        (group, kind.kind.clone())
    });
    template
        .replace("{{paths}}", &paths(project))
        .replace("{{name}}", &project.name)
        .replace("{{group}}", group)
        .replace("{{kind}}", &name)
}

fn paths(project: &Project) -> String {
    let group = if project.multigroup { "<group>/" } else { "" };
    let rows = [
        (
            format!("api/{group}<version>/<kind>_types.go"),
            format!("src/api/{group}<version>/<kind>.rs"),
        ),
        (
            format!("internal/controller/{group}<kind>_controller.go"),
            format!("src/controllers/{group}<kind>.rs"),
        ),
        (
            format!("internal/webhook/{group}<version>/<kind>_webhook.go"),
            format!("src/webhooks/{group}<version>/<kind>.rs"),
        ),
        ("<kind>_controller_test.go".to_owned(), "tests/<kind>.rs".to_owned()),
    ];
    rows.iter().fold(String::new(), |mut text, (theirs, ours)| {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "| `{theirs}` | `{ours}` |");
        text
    })
}
