//! The Rust code of a project, and what follows from its PROJECT file as a whole: every file it should have.

mod files;
mod header;
mod manifest;
mod place;
pub(crate) mod rust;
mod sample;

pub use manifest::{Source, SourceError, manifest};

use crate::plan::calls;
use crate::plan::modules::Declaration;
use crate::{File, Project, Resource, config};
use header::header;

pub(crate) use header::LICENSES;
pub(crate) use place::Place;

/// The root of the library, where `operator()` is.
pub(crate) const LIBRARY: &str = "src/lib.rs";

/// Every file a project should have.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Files that belong to one thing.
    pub(crate) wholes: Vec<Whole>,
    /// Files that declare modules.
    pub(crate) modules: Vec<Modules>,
    /// The calls in `operator()`.
    pub(crate) calls: Vec<String>,
}

/// A file that belongs to one thing.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    /// What it is, wherever it is.
    pub(crate) key: String,
    pub(crate) file: File,
    /// Written only where it is missing: another command keeps it up to date.
    pub(crate) first_state: bool,
}

/// A file that declares modules.
#[derive(Debug)]
pub(crate) struct Modules {
    pub(crate) path: String,
    /// What stands above the declarations of a new one.
    pub(crate) head: String,
    pub(crate) declarations: Vec<Declaration>,
}

impl State {
    pub(crate) fn of(project: &Project) -> Self {
        let mut state = Self::default();
        state.add(config::files(project));
        let generated = config::generated(project).into_iter();
        state.wholes.extend(generated.map(|file| Whole {
            key: file.path.clone(),
            file,
            first_state: true,
        }));
        state.add([files::main(project), files::library(project)]);
        for resource in &project.resources {
            state.add_resource(project, resource);
        }
        state
    }

    /// Files that are what their path says.
    pub(crate) fn add(&mut self, files: impl IntoIterator<Item = File>) {
        self.wholes.extend(files.into_iter().map(|file| Whole {
            key: file.path.clone(),
            file,
            first_state: false,
        }));
    }

    pub(crate) fn find(&self, key: &str) -> Option<&Whole> {
        self.wholes.iter().find(|whole| whole.key == key)
    }

    fn add_resource(&mut self, project: &Project, resource: &Resource) {
        let place = Place::new(project, resource);
        let module = resource.module();
        if resource.api.is_some() {
            self.add_of(resource, "types", place.api_file(), files::api(project, resource));
            self.add_of(
                resource,
                "sample",
                resource.sample_path(),
                sample::sample(project, resource),
            );
            self.calls.push(format!(".resource::<{}>()", place.type_path()));
            let declarations = [Declaration::private(&module), Declaration::export(&module)];
            self.declare(project, &place.api_modules(), &declarations);
        }
        if resource.controller {
            self.add_of(
                resource,
                "controller",
                place.controller_file(),
                files::controller(project, resource),
            );
            self.add_of(
                resource,
                "test",
                place.test_file(""),
                files::controller_test(project, resource),
            );
            let reconciler = format!("{}::{}Reconciler::controller()", place.controller_path(), resource.kind);
            self.calls.push(rust::call(calls::INDENT, "controller", &reconciler));
            self.declare(project, &place.controller_modules(), &[Declaration::public(&module)]);
        }
        if resource.has_webhooks() {
            self.add_webhooks(project, resource);
        }
    }

    fn add_webhooks(&mut self, project: &Project, resource: &Resource) {
        let place = Place::new(project, resource);
        self.add_of(
            resource,
            "webhooks",
            place.webhook_file(),
            files::webhook(project, resource),
        );
        self.declare(
            project,
            &place.webhook_modules(),
            &[Declaration::public(&resource.module())],
        );
        let version = crate::names::module(&resource.version);
        if resource.admits() {
            let path = place.test_file(&format!("_{version}_webhook"));
            self.add_of(
                resource,
                "test of webhooks",
                path,
                files::webhook_test(project, resource),
            );
            let made = format!("{}::webhook()", place.webhook_path());
            self.calls.push(rust::call(calls::INDENT, "webhook", &made));
        }
        if resource.converts() {
            let path = place.test_file("_conversion");
            self.add_of(
                resource,
                "test of conversion",
                path,
                files::conversion_test(project, resource),
            );
            let made = format!("{}::conversion()", place.webhook_path());
            self.calls.push(rust::call(calls::INDENT, "conversion", &made));
        }
    }

    fn add_of(&mut self, resource: &Resource, what: &str, path: String, content: String) {
        self.wholes.push(Whole {
            key: format!("{what} of {}", identity(resource)),
            file: File::new(path, content),
            first_state: false,
        });
    }

    /// Declares modules in the file of those above them, and these in the files above.
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
                self.modules.push(Modules {
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

/// The files in which the work on a kind begins.
pub fn places(project: &Project, resource: &Resource) -> Vec<String> {
    let place = Place::new(project, resource);
    let api = resource.api.is_some().then(|| place.api_file());
    let controller = resource.controller.then(|| place.controller_file());
    api.into_iter().chain(controller).collect()
}

/// The files in which the work on the webhooks of a kind begins.
pub fn webhook_places(project: &Project, resource: &Resource) -> Vec<String> {
    let webhooks = resource
        .has_webhooks()
        .then(|| Place::new(project, resource).webhook_file());
    let spokes = project
        .spokes_of(resource)
        .map(|spoke| Place::new(project, spoke).api_file());
    webhooks.into_iter().chain(spokes).collect()
}

/// Which kind in which version a file belongs to.
pub(crate) fn identity(resource: &Resource) -> String {
    format!("{}/{} {}", resource.group, resource.version, resource.kind)
}

/// What stands at the top of a new file of modules.
fn head(project: &Project, modules: &[String]) -> String {
    let said = match modules {
        [api] if api == "api" => "The kinds of this operator, by version.".to_owned(),
        [api, rest @ ..] if api == "api" => format!("The kinds of `{}`.", rest.join("/")),
        [top] if top == "controllers" => "The controllers of this operator.".to_owned(),
        [_, group] if modules[0] == "controllers" => format!("The controllers of `{group}`."),
        [_] => "The webhooks of this operator, by version.".to_owned(),
        [_, rest @ ..] => format!("The webhooks of `{}`.", rest.join("/")),
        [] => String::new(),
    };
    format!("{}//! {said}\n", header(project))
}
