//! Every file that a project should have according to its PROJECT file, Rust code above all.

mod code_paths;
mod files;
mod header;
mod manifest;
pub(crate) mod rust;
mod sample;

pub(crate) use manifest::{CARGO_CONFIG, with_version};
pub use manifest::{Source, SourceError, checkout_files, manifest};

use crate::plan::calls;
use crate::plan::modules::Declaration;
use crate::{File, Project, Resource, config};
use header::header;

pub(crate) use code_paths::CodePaths;
pub(crate) use header::{BOILERPLATE, LICENSES};

/// The root of the library, where `operator()` is.
pub(crate) const LIBRARY: &str = "src/lib.rs";

/// Every file a project should have.
#[derive(Debug, Default)]
pub(crate) struct ProjectFiles {
    /// Files with a single purpose.
    pub(crate) owned_files: Vec<OwnedFile>,
    /// Files that declare modules.
    pub(crate) modules: Vec<ModuleFile>,
    /// The calls in `operator()`.
    pub(crate) calls: Vec<String>,
}

/// A file with a single purpose.
#[derive(Clone, Debug)]
pub(crate) struct OwnedFile {
    /// Identifies its purpose, also if its path changes.
    pub(crate) key: String,
    pub(crate) file: File,
    /// It is written only if it does not exist: `kubewright manifests` keeps it up to date.
    pub(crate) only_if_missing: bool,
    /// It is Rust that the user goes on writing: an upgrade replaces it only if nobody has edited it.
    pub(crate) is_users_code: bool,
}

/// A file that declares modules.
#[derive(Debug)]
pub(crate) struct ModuleFile {
    pub(crate) path: String,
    /// The comment at the top of a new file.
    pub(crate) head: String,
    pub(crate) declarations: Vec<Declaration>,
}

impl ProjectFiles {
    pub(crate) fn of(project: &Project) -> Self {
        let mut state = Self::default();
        state.add(config::files(project));
        let generated = config::generated(project).into_iter();
        state.owned_files.extend(generated.map(|file| OwnedFile {
            key: file.path.clone(),
            file,
            only_if_missing: true,
            is_users_code: false,
        }));
        state.add([files::main(project), files::library(project)]);
        for resource in &project.resources {
            state.add_resource(project, resource);
        }
        state.add_explore_test(project);
        state
    }

    /// A controller with a sample can be explored from the beginning.
    fn add_explore_test(&mut self, project: &Project) {
        let has_sample = |resource: &Resource| resource.controller && resource.api.is_some() && !resource.aggregated();
        if project.templates() == 1 || !project.resources.iter().any(has_sample) {
            return;
        }
        self.owned_files.push(OwnedFile {
            key: "test that explores".to_owned(),
            file: files::explore_test(project),
            only_if_missing: true,
            is_users_code: true,
        });
    }

    /// Adds files that are identified by their path.
    pub(crate) fn add(&mut self, files: impl IntoIterator<Item = File>) {
        self.owned_files.extend(files.into_iter().map(|file| OwnedFile {
            key: file.path.clone(),
            file,
            only_if_missing: false,
            is_users_code: false,
        }));
    }

    pub(crate) fn find(&self, key: &str) -> Option<&OwnedFile> {
        self.owned_files.iter().find(|owned| owned.key == key)
    }

    fn add_resource(&mut self, project: &Project, resource: &Resource) {
        let paths = CodePaths::new(project, resource);
        let module = resource.module();
        if resource.api.is_some() {
            self.add_of(resource, "types", paths.api_file(), files::api(project, resource));
            if resource.aggregated() {
                self.add_rows(project, resource);
            } else {
                self.add_of(
                    resource,
                    "sample",
                    resource.sample_path(),
                    sample::sample(project, resource),
                );
                self.calls.push(format!(".resource::<{}>()", paths.type_path()));
            }
            let declarations = [Declaration::private(&module), Declaration::export(&module)];
            self.declare(project, &paths.api_modules(), &declarations);
        }
        if resource.controller {
            self.add_of(
                resource,
                "controller",
                paths.controller_file(),
                files::controller(project, resource),
            );
            self.add_of(
                resource,
                "test",
                paths.test_file(""),
                files::controller_test(project, resource),
            );
            let reconciler = format!("{}::{}Reconciler::controller()", paths.controller_path(), resource.kind);
            self.calls.push(rust::call(calls::INDENT, "controller", &reconciler));
            self.declare(project, &paths.controller_modules(), &[Declaration::public(&module)]);
        }
        if resource.has_webhooks() {
            self.add_webhooks(project, resource);
        }
    }

    /// Where the objects of an aggregated kind come from.
    fn add_rows(&mut self, project: &Project, resource: &Resource) {
        let paths = CodePaths::new(project, resource);
        self.add_of(resource, "rows", paths.rows_file(), files::rows(project, resource));
        self.add_of(
            resource,
            "test",
            paths.test_file(""),
            files::rows_test(project, resource),
        );
        let made = format!("{}::extension()", paths.rows_path());
        self.calls.push(rust::call(calls::INDENT, "extension", &made));
        self.declare(
            project,
            &paths.rows_modules(),
            &[Declaration::public(&resource.module())],
        );
    }

    fn add_webhooks(&mut self, project: &Project, resource: &Resource) {
        let paths = CodePaths::new(project, resource);
        self.add_of(
            resource,
            "webhooks",
            paths.webhook_file(),
            files::webhook(project, resource),
        );
        self.declare(
            project,
            &paths.webhook_modules(),
            &[Declaration::public(&resource.module())],
        );
        let version = crate::names::module(&resource.version);
        if resource.admits() {
            let path = paths.test_file(&format!("_{version}_webhook"));
            self.add_of(
                resource,
                "test of webhooks",
                path,
                files::webhook_test(project, resource),
            );
            let made = format!("{}::webhook()", paths.webhook_path());
            self.calls.push(rust::call(calls::INDENT, "webhook", &made));
        }
        if resource.converts() {
            let path = paths.test_file("_conversion");
            self.add_of(
                resource,
                "test of conversion",
                path,
                files::conversion_test(project, resource),
            );
            let made = format!("{}::conversion()", paths.webhook_path());
            self.calls.push(rust::call(calls::INDENT, "conversion", &made));
        }
    }

    fn add_of(&mut self, resource: &Resource, what: &str, path: String, content: String) {
        self.owned_files.push(OwnedFile {
            key: format!("{what} of {}", identity(resource)),
            is_users_code: what != "sample",
            file: File::new(path, content),
            only_if_missing: false,
        });
    }

    /// Declares modules in their parent's file, and all parents in theirs.
    fn declare(&mut self, project: &Project, above: &[String], declarations: &[Declaration]) {
        let (path, head) = match above {
            [] => (LIBRARY.to_owned(), String::new()),
            _ => (format!("src/{}/mod.rs", above.join("/")), head(project, above)),
        };
        let at = self
            .modules
            .iter()
            .position(|file| file.path == path)
            .unwrap_or_else(|| {
                self.modules.push(ModuleFile {
                    path,
                    head,
                    declarations: Vec::new(),
                });
                self.modules.len() - 1
            });
        let known = &mut self.modules[at].declarations;
        let new: Vec<Declaration> = declarations
            .iter()
            .filter(|one| !known.contains(one))
            .cloned()
            .collect();
        known.extend(new);
        if let Some((last, above)) = above.split_last() {
            self.declare(project, above, &[Declaration::public(last)]);
        }
    }
}

/// The test with which `kubewright explore` explores a project.
pub fn explore_test(project: &Project) -> File {
    files::explore_test(project)
}

/// The files of a kind that its author edits first: types and controller.
pub fn source_files(project: &Project, resource: &Resource) -> Vec<String> {
    let paths = CodePaths::new(project, resource);
    let api = resource.api.is_some().then(|| paths.api_file());
    let controller = resource.controller.then(|| paths.controller_file());
    let rows = resource.aggregated().then(|| paths.rows_file());
    api.into_iter().chain(controller).chain(rows).collect()
}

/// The files of a kind's webhooks that their author edits first.
pub fn webhook_source_files(project: &Project, resource: &Resource) -> Vec<String> {
    let webhooks = resource
        .has_webhooks()
        .then(|| CodePaths::new(project, resource).webhook_file());
    let spokes = project
        .spokes_of(resource)
        .map(|spoke| CodePaths::new(project, spoke).api_file());
    webhooks.into_iter().chain(spokes).collect()
}

/// Which kind in which version a file belongs to.
pub(crate) fn identity(resource: &Resource) -> String {
    format!("{}/{} {}", resource.group, resource.version, resource.kind)
}

/// The comment at the top of a new file of modules.
fn head(project: &Project, modules: &[String]) -> String {
    let said = match modules {
        [api] if api == "api" => "The kinds of this operator, by version.".to_owned(),
        [api, rest @ ..] if api == "api" => format!("The kinds of `{}`.", rest.join("/")),
        [top] if top == "controllers" => "The controllers of this operator.".to_owned(),
        [top] if top == "rows" => "Where the objects of the kinds are that this program serves itself.".to_owned(),
        [_, group] if modules[0] == "rows" => format!("Where the objects of `{group}` are."),
        [_, group] if modules[0] == "controllers" => format!("The controllers of `{group}`."),
        [_] => "The webhooks of this operator, by version.".to_owned(),
        [_, rest @ ..] => format!("The webhooks of `{}`.", rest.join("/")),
        [] => String::new(),
    };
    format!("{}//! {said}\n", header(project))
}
