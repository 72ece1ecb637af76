//! `create api` and `delete api`.

use super::{CommandError, Target};
use crate::project::{Api, Image};
use crate::{Project, Resource, builtin_kinds, names};

/// What `create api` was asked for.
#[derive(Clone, Debug, Default)]
pub struct ApiRequest {
    /// The kind.
    pub target: Target,
    /// Write its types; by default they are.
    pub resource: Option<bool>,
    /// Write a controller; by default one is, unless another version of the kind has it.
    pub controller: Option<bool>,
    /// Its objects live in namespaces; by default as before, as in other versions of the kind, or else they do.
    pub namespaced: Option<bool>,
    /// The plural; if empty as before, as in other versions of the kind, or else the regular one.
    pub plural: String,
    /// What it runs, for a ready-made operator.
    pub image: Option<ImageRequest>,
    /// The Rust module of a foreign type.
    pub external_path: String,
    /// What the group of a foreign kind ends in.
    pub external_domain: String,
    /// The program serves the kind itself, as an aggregated API; by default as before, or else it does not.
    pub aggregated: Option<bool>,
    /// The flags win over PROJECT.
    pub force: bool,
}

/// What a ready-made operator runs.
#[derive(Clone, Debug, Default)]
pub struct ImageRequest {
    /// The image.
    pub image: String,
    /// The command, in words.
    pub command: Vec<String>,
    /// Where the container listens.
    pub port: Option<u16>,
    /// The user it runs as.
    pub run_as_user: Option<i64>,
}

impl Project {
    /// The project with another kind, with its types, its controller or both.
    ///
    /// ```
    /// use kubewright_scaffold::Project;
    /// use kubewright_scaffold::command::{ApiRequest, Target};
    ///
    /// let target = Target { group: "view".into(), version: "v1".into(), kind: "MarkdownView".into() };
    /// let request = ApiRequest { target, ..ApiRequest::default() };
    /// let project = Project::new("markdown-view", "ginoh.github.io", "0.1.0").create_api(&request)?;
    /// assert_eq!(project.resources[0].api_version(), "view.ginoh.github.io/v1");
    /// # Ok::<(), kubewright_scaffold::command::CommandError>(())
    /// ```
    pub fn create_api(&self, request: &ApiRequest) -> Result<Self, CommandError> {
        let target = &request.target;
        target.check(self)?;
        let there = target.find(self);
        let own = there.is_some_and(|resource| resource.api.is_some());
        let with_types = request.resource.unwrap_or(true);
        // Who names a group of Kubernetes may mean Kubernetes' own kind; in a project with such a group it is the project's.
        let is_meant = request.resource.is_some() || self.has_own_kinds_in(&target.group);
        if with_types && builtin_kinds::is_group(&target.group) && !is_meant {
            return Err(CommandError::CoreGroup {
                group: target.group.clone(),
                own: format!("{}.{}", target.group, self.domain),
            });
        }
        let other = self.controller_of_other_version(target);
        // A kind that exists keeps its choice of a controller.
        let is_aggregated = request
            .aggregated
            .unwrap_or_else(|| there.is_some_and(Resource::aggregated));
        if is_aggregated {
            self.check_aggregated(request)?;
        }
        let by_default = match there {
            _ if is_aggregated => false,
            Some(there) if own && with_types => there.controller,
            _ => other.is_none(),
        };
        let with_controller = request.controller.unwrap_or(by_default);
        if !with_types && !with_controller {
            return Err(CommandError::Nothing);
        }
        if let (true, Some(other)) = (with_controller, other) {
            return Err(CommandError::SecondController {
                kind: target.kind.clone(),
                version: other.version.clone(),
            });
        }
        let mut project = self.clone();
        let resource = if with_types {
            self.check_single_group(&target.group)?;
            self.own_resource(request)?
        } else if own {
            there.cloned().unwrap_or_default()
        } else if !request.external_path.is_empty() || builtin_kinds::is_group(&target.group) {
            Self::foreign(target, &request.external_path, &request.external_domain)?
        } else {
            return Err(CommandError::NoApi(target.clone()));
        };
        if let Some(image) = &request.image {
            Self::check_image(request, image, resource.namespaced(), with_types && with_controller)?;
            project.set_image(request, image)?;
        }
        let entry = target.entry(&mut project, resource.clone());
        if with_types {
            entry.api = resource.api;
            entry.plural = resource.plural;
        }
        entry.controller = match request.controller {
            Some(said) if request.force => said,
            _ => entry.controller || with_controller,
        };
        Ok(project)
    }

    /// A kind that the program serves itself has types and rows, and nothing that acts on what a cluster stores.
    fn check_aggregated(&self, request: &ApiRequest) -> Result<(), CommandError> {
        let target = &request.target;
        if request.resource == Some(false) {
            return Err(CommandError::Aggregated(
                "it is about types of this project: it does not go with --resource=false",
            ));
        }
        if request.image.is_some() || request.controller == Some(true) {
            return Err(CommandError::Aggregated(
                "it writes no controller, since nobody creates such objects to be acted upon: it does not go with --image or \
                 --controller",
            ));
        }
        let mut others = self
            .kinds()
            .filter(|other| other.group == target.group && other.kind == target.kind);
        if others.any(|other| other.version != target.version) {
            return Err(CommandError::Aggregated(
                "the kind has another version; add this one by hand: its type, and `.stored::<…>()` beside its rows",
            ));
        }
        Ok(())
    }

    /// Whether the project defines kinds in a group.
    fn has_own_kinds_in(&self, group: &str) -> bool {
        let mut kinds = self.resources.iter().filter(|resource| resource.group == group);
        kinds.any(|resource| resource.api.is_some())
    }

    /// Another version of the kind that has the controller.
    fn controller_of_other_version(&self, target: &Target) -> Option<&Resource> {
        let is_other = |resource: &&Resource| {
            resource.group == target.group && resource.kind == target.kind && resource.version != target.version
        };
        self.resources
            .iter()
            .filter(is_other)
            .find(|resource| resource.controller)
    }

    /// A kind of the project's own, checked against those there are.
    fn own_resource(&self, request: &ApiRequest) -> Result<Resource, CommandError> {
        let Target { group, version, kind } = request.target.clone();
        if !request.plural.is_empty() {
            names::check_plural(&request.plural)?;
        }
        let there = request.target.find(self).filter(|there| there.api.is_some());
        if let Some(there) = there.filter(|_| !request.force) {
            check_unchanged(request, there)?;
        }
        // All versions of a kind have the same scope and plural.
        let like = there.or_else(|| self.kinds().find(|other| other.group == group && other.kind == kind));
        let namespaced = like.is_none_or(Resource::namespaced);
        let plural = match request.plural.as_str() {
            "" => like.map(Resource::plural).unwrap_or_default(),
            said => said.to_owned(),
        };
        let mut api = there.and_then(|there| there.api.clone()).unwrap_or_else(|| Api {
            crd_version: "v1".to_owned(),
            ..Api::default()
        });
        api.namespaced = request.namespaced.unwrap_or(namespaced);
        api.aggregated = request.aggregated.unwrap_or(api.aggregated);
        // There is no definition whose version that would be.
        api.crd_version = if api.aggregated { String::new() } else { "v1".to_owned() };
        let mut resource = Resource {
            api: Some(api),
            domain: self.domain.clone(),
            path: String::new(),
            group,
            version,
            kind,
            plural,
            ..Resource::default()
        };
        if resource.plural == names::plural(&resource.kind) {
            resource.plural.clear();
        }
        names::check_plural(&resource.plural())?;
        for other in self.kinds().filter(|other| other.group == resource.group) {
            check_no_clash(&resource, other)?;
        }
        let paths = crate::code::CodePaths::new(self, &resource);
        resource.path = format!("{}::{}", self.crate_name(), paths.api_path());
        Ok(resource)
    }

    fn check_image(
        request: &ApiRequest,
        image: &ImageRequest,
        namespaced: bool,
        whole: bool,
    ) -> Result<(), CommandError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "./:@_-".contains(c);
        let starts = image.image.starts_with(|first: char| first.is_ascii_alphanumeric());
        if !starts || !image.image.chars().all(is_plain) {
            return Err(CommandError::Image(image.image.clone()));
        }
        if image.command.iter().any(|word| word.contains(char::is_control)) {
            return Err(CommandError::ImageOption(
                "--image-container-command has a control character in it",
            ));
        }
        if image.port == Some(0) {
            return Err(CommandError::ImageOption(
                "--image-container-port 0 is no port (for example 8080)",
            ));
        }
        if image.run_as_user.is_some_and(|user| user <= 0) {
            return Err(CommandError::ImageOption(
                "--run-as-user must be above 0, since the pods run as no root (for example 1001)",
            ));
        }
        if request.target.kind == "Deployment" {
            return Err(CommandError::ImageOption(
                "--image runs a Deployment, so a kind of that name would be mistaken for it; choose another --kind",
            ));
        }
        if !namespaced {
            return Err(CommandError::ImageOption(
                "--image runs a Deployment, which needs a namespace: it does not go with --namespaced=false",
            ));
        }
        if !whole {
            return Err(CommandError::ImageOption(
                "--image writes types and a controller: it does not go with --resource=false or --controller=false",
            ));
        }
        Ok(())
    }

    /// Sets the image of a kind. Options that are not given keep their values.
    fn set_image(&mut self, request: &ApiRequest, said: &ImageRequest) -> Result<(), CommandError> {
        let Target { group, version, kind } = request.target.clone();
        let images = &mut self.plugins.settings.images;
        let is_of = |other: &Image| other.group == group && other.version == version && other.kind == kind;
        let Some(there) = images.iter_mut().find(|other| is_of(other)) else {
            images.push(Image {
                group,
                version,
                kind,
                image: said.image.clone(),
                command: said.command.clone(),
                port: said.port,
                run_as_user: said.run_as_user,
                ..Image::default()
            });
            return Ok(());
        };
        let command = Some(&said.command).filter(|command| !command.is_empty());
        let differs = [
            (said.image != there.image, "--image", there.image.clone()),
            (
                command.is_some_and(|command| *command != there.command),
                "--image-container-command",
                there.command.join(","),
            ),
            (
                said.port.is_some() && said.port != there.port,
                "--image-container-port",
                there.port.map(|port| port.to_string()).unwrap_or_default(),
            ),
            (
                said.run_as_user.is_some() && said.run_as_user != there.run_as_user,
                "--run-as-user",
                there.run_as_user.map(|user| user.to_string()).unwrap_or_default(),
            ),
        ];
        if let Some((_, flag, value)) = differs.into_iter().find(|(differs, ..)| *differs && !request.force) {
            return Err(CommandError::DiffersFromProject {
                target: request.target.clone(),
                flag,
                there: value,
            });
        }
        there.image.clone_from(&said.image);
        if let Some(command) = command {
            there.command.clone_from(command);
        }
        there.port = said.port.or(there.port);
        there.run_as_user = said.run_as_user.or(there.run_as_user);
        Ok(())
    }

    /// The project without a kind and its controller.
    pub fn delete_api(&self, target: &Target) -> Result<Self, CommandError> {
        let there = target
            .find(self)
            .filter(|there| there.api.is_some() || there.controller);
        let Some(there) = there else {
            return Err(CommandError::NotThere {
                what: "API",
                target: target.clone(),
            });
        };
        if there.has_webhooks() {
            return Err(CommandError::HasWebhooks(target.clone()));
        }
        if let Some(hub) = self.hub_of(there) {
            return Err(CommandError::IsSpoke {
                target: target.clone(),
                hub: hub.version.clone(),
            });
        }
        let mut project = self.clone();
        project.resources.retain(|resource| !target.is(resource));
        let is_of =
            |image: &Image| image.group == target.group && image.version == target.version && image.kind == target.kind;
        project.plugins.settings.images.retain(|image| !is_of(image));
        Ok(project)
    }
}

/// Checks that flags do not contradict what PROJECT has for an existing kind.
fn check_unchanged(request: &ApiRequest, there: &Resource) -> Result<(), CommandError> {
    let namespaced = request.namespaced.is_some_and(|said| said != there.namespaced());
    let plural = !request.plural.is_empty() && request.plural != there.plural();
    let controller = request.controller == Some(false) && there.controller;
    let aggregated = request.aggregated.is_some_and(|said| said != there.aggregated());
    let differs = [
        (namespaced, "--namespaced", there.namespaced().to_string()),
        (plural, "--plural", there.plural()),
        (controller, "--controller", there.controller.to_string()),
        (aggregated, "--aggregated", there.aggregated().to_string()),
    ];
    match differs.into_iter().find(|(differs, ..)| *differs) {
        Some((_, flag, there)) => Err(CommandError::DiffersFromProject {
            target: request.target.clone(),
            flag,
            there,
        }),
        None => Ok(()),
    }
}

/// Checks that two kinds of one group share no name that must be unique.
fn check_no_clash(resource: &Resource, other: &Resource) -> Result<(), CommandError> {
    let is_other_kind = resource.kind != other.kind;
    if is_other_kind && resource.version == other.version && resource.aggregated() != other.aggregated() {
        return Err(CommandError::Aggregated(
            "a cluster sends all requests for a version of a group to one server, and this one has kinds that are served otherwise; \
             choose another --version or --group",
        ));
    }
    if resource.kind == other.kind {
        if resource.version != other.version && resource.aggregated() != other.aggregated() {
            return Err(CommandError::Aggregated(
                "all versions of a kind are served in the same way, and another version says otherwise",
            ));
        }
        if resource.version != other.version && resource.namespaced() != other.namespaced() {
            let there = if other.namespaced() {
                "in namespaces"
            } else {
                "cluster-wide"
            };
            return Err(CommandError::Scope {
                kind: resource.kind.clone(),
                there,
                version: other.version.clone(),
            });
        }
        if resource.version != other.version && resource.plural() != other.plural() {
            return Err(CommandError::Plural {
                kind: resource.kind.clone(),
                there: other.plural(),
                version: other.version.clone(),
            });
        }
        return Ok(());
    }
    let part = |kind: &str, of: &str| ["Spec", "Status"].iter().any(|part| *kind == format!("{of}{part}"));
    let same = [
        (
            part(&resource.kind, &other.kind) || part(&other.kind, &resource.kind),
            "type",
        ),
        (resource.lowercase() == other.lowercase(), "name in lower case"),
        (resource.plural() == other.plural(), "plural"),
        (resource.module() == other.module(), "file name"),
    ];
    match same.into_iter().find(|(same, _)| *same) {
        Some((_, what)) => Err(CommandError::Clash {
            kind: resource.kind.clone(),
            other: other.kind.clone(),
            what: what.to_owned(),
        }),
        None => Ok(()),
    }
}
