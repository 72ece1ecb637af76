//! The files and Rust paths of a kind's code, with and without folders per group.

use crate::{Project, Resource};

/// The files and Rust paths of one kind in one version.
#[derive(Clone, Copy)]
pub(crate) struct CodePaths<'a> {
    project: &'a Project,
    resource: &'a Resource,
}

impl<'a> CodePaths<'a> {
    pub(crate) fn new(project: &'a Project, resource: &'a Resource) -> Self {
        Self { project, resource }
    }

    /// The group's folder, where folders are per group.
    fn group(&self) -> Option<String> {
        self.project.multigroup.then(|| self.resource.group_module())
    }

    fn version(&self) -> String {
        crate::names::module(&self.resource.version)
    }

    /// The modules above the types: `["api", "v1"]`, or with the group between.
    pub(crate) fn api_modules(&self) -> Vec<String> {
        self.versioned("api")
    }

    /// The modules above the webhooks.
    pub(crate) fn webhook_modules(&self) -> Vec<String> {
        self.versioned("webhooks")
    }

    /// The modules above the controller.
    pub(crate) fn controller_modules(&self) -> Vec<String> {
        ["controllers".to_owned()].into_iter().chain(self.group()).collect()
    }

    /// The modules above the rows of an aggregated kind.
    pub(crate) fn rows_modules(&self) -> Vec<String> {
        ["rows".to_owned()].into_iter().chain(self.group()).collect()
    }

    /// The file of the rows.
    pub(crate) fn rows_file(&self) -> String {
        self.file(&self.rows_modules())
    }

    /// The module of the rows: `rows::moon`.
    pub(crate) fn rows_path(&self) -> String {
        format!("{}::{}", self.rows_modules().join("::"), self.resource.module())
    }

    fn versioned(&self, top: &str) -> Vec<String> {
        [top.to_owned()]
            .into_iter()
            .chain(self.group())
            .chain([self.version()])
            .collect()
    }

    /// The file of the types.
    pub(crate) fn api_file(&self) -> String {
        self.file(&self.api_modules())
    }

    /// The file of the controller.
    pub(crate) fn controller_file(&self) -> String {
        self.file(&self.controller_modules())
    }

    /// The file of the webhooks.
    pub(crate) fn webhook_file(&self) -> String {
        self.file(&self.webhook_modules())
    }

    fn file(&self, modules: &[String]) -> String {
        format!("src/{}/{}.rs", modules.join("/"), self.resource.module())
    }

    /// A file of tests: `tests/markdown_view.rs`, or with the group before.
    pub(crate) fn test_file(&self, suffix: &str) -> String {
        let group = self.group().map(|group| format!("{group}_")).unwrap_or_default();
        format!("tests/{group}{}{suffix}.rs", self.resource.module())
    }

    /// The module of the types from the root of the crate: `api::v1`.
    pub(crate) fn api_path(&self) -> String {
        self.api_modules().join("::")
    }

    /// The type from the root of the crate: `api::v1::MarkdownView`.
    pub(crate) fn type_path(&self) -> String {
        format!("{}::{}", self.api_path(), self.resource.kind)
    }

    /// The module of the controller: `controllers::markdown_view`.
    pub(crate) fn controller_path(&self) -> String {
        format!("{}::{}", self.controller_modules().join("::"), self.resource.module())
    }

    /// The module of the webhooks: `webhooks::v1::markdown_view`.
    pub(crate) fn webhook_path(&self) -> String {
        format!("{}::{}", self.webhook_modules().join("::"), self.resource.module())
    }
}
