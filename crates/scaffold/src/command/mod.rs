//! The commands as functions from one PROJECT to the next. What that means for files is computed by `plan`.

mod api;
mod edit;
mod error;
mod webhook;

pub use api::{ApiRequest, ImageRequest};
pub use edit::EditRequest;
pub use error::CommandError;
pub use webhook::WebhookRequest;

use crate::project::{LAYOUT, Settings, TEMPLATES};
use crate::{Project, Resource, builtin_kinds, names};

/// Which kind a command is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The group without the project's domain; may be empty.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl Target {
    /// Checks the three names.
    fn check(&self, project: &Project) -> Result<(), CommandError> {
        names::check_group(&self.group, &project.domain)?;
        names::check_version(&self.version)?;
        names::check_kind(&self.kind)?;
        Ok(())
    }

    /// The kind as PROJECT has it.
    fn find<'a>(&self, project: &'a Project) -> Option<&'a Resource> {
        project.resources.iter().find(|resource| self.is(resource))
    }

    fn is(&self, resource: &Resource) -> bool {
        resource.group == self.group && resource.version == self.version && resource.kind == self.kind
    }

    /// The entry of PROJECT, made if there is none.
    fn entry<'a>(&self, project: &'a mut Project, resource: Resource) -> &'a mut Resource {
        let at = project.resources.iter().position(|other| self.is(other));
        let at = at.unwrap_or_else(|| {
            project.resources.push(resource);
            project.resources.len() - 1
        });
        &mut project.resources[at]
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Target { group, version, kind } = self;
        match group.as_str() {
            "" => write!(f, "{kind} {version}"),
            group => write!(f, "{kind} {group}/{version}"),
        }
    }
}

impl Project {
    /// A project without anything in it.
    pub fn new(name: &str, domain: &str, cli_version: &str) -> Self {
        let mut project = Project {
            version: "3".to_owned(),
            cli_version: cli_version.to_owned(),
            domain: domain.to_owned(),
            layout: vec![LAYOUT.to_owned()],
            name: name.to_owned(),
            ..Project::default()
        };
        project.plugins.settings.templates = Some(TEMPLATES);
        project
    }

    /// Sets license and owner of the files that are written from now on.
    pub fn with_license(mut self, license: &str, owner: &str) -> Result<Self, CommandError> {
        if !crate::code::LICENSES.contains(&license) {
            return Err(CommandError::License(license.to_owned()));
        }
        if owner.contains(char::is_control) {
            return Err(CommandError::Owner(owner.to_owned()));
        }
        let settings: &mut Settings = &mut self.plugins.settings;
        license.clone_into(&mut settings.license);
        owner.clone_into(&mut settings.owner);
        Ok(self)
    }

    /// Sets where the source lives.
    pub fn with_repo(mut self, repo: &str) -> Result<Self, CommandError> {
        if repo.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"') {
            return Err(CommandError::Repo(repo.to_owned()));
        }
        repo.clone_into(&mut self.repo);
        Ok(self)
    }

    /// A project without `multigroup` has kinds of one group only.
    fn check_single_group(&self, group: &str) -> Result<(), CommandError> {
        let own = self
            .resources
            .iter()
            .find(|resource| !resource.core && !resource.external);
        match own {
            Some(own) if !self.multigroup && own.group != group => Err(CommandError::SecondGroup {
                first: own.group.clone(),
                second: group.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// A kind that is not the project's own, as PROJECT lists it.
    fn foreign(target: &Target, path: &str, domain: &str) -> Result<Resource, CommandError> {
        let Target { group, version, kind } = target.clone();
        if !path.is_empty() {
            if !names::is_path(path) {
                return Err(CommandError::ExternalPath(path.to_owned()));
            }
            if !domain.is_empty() {
                names::check_domain(domain)?;
            }
            return Ok(Resource {
                group,
                version,
                kind,
                domain: domain.to_owned(),
                external: true,
                path: path.to_owned(),
                ..Resource::default()
            });
        }
        let known = builtin_kinds::find(&group, &version, &kind).ok_or_else(|| CommandError::NoSuchCoreKind {
            target: target.clone(),
            choices: builtin_kinds::choices(&group),
        })?;
        Ok(Resource {
            path: format!("k8s_openapi::api::{}::{version}", known.module),
            domain: known.domain.to_owned(),
            core: true,
            group,
            version,
            kind,
            ..Resource::default()
        })
    }
}
