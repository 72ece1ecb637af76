//! `edit`: the switches of a project.

use std::collections::BTreeSet;

use super::CommandError;
use crate::Project;
use crate::code::CodePaths;
use crate::project::TEMPLATES;

/// Which switches to set; the others stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EditRequest {
    /// Folders are per group.
    pub multigroup: Option<bool>,
    /// The operator watches its own namespace only.
    pub namespaced: Option<bool>,
    /// Certificates come from cert-manager.
    pub cert_manager: Option<bool>,
    /// A `ServiceMonitor` is installed.
    pub prometheus: Option<bool>,
    /// There are a Grafana dashboard and alert rules.
    pub grafana: Option<bool>,
    /// Network policies are installed.
    pub network_policy: Option<bool>,
    /// How long a description in a definition may be; 0 leaves them all out.
    pub max_description_length: Option<u32>,
    /// The license of the files that are written.
    pub license: Option<String>,
    /// Whose copyright it is.
    pub owner: Option<String>,
}

impl Project {
    /// The project with other switches.
    ///
    /// ```
    /// use kubewright_scaffold::Project;
    /// use kubewright_scaffold::command::EditRequest;
    ///
    /// let request = EditRequest { cert_manager: Some(true), ..EditRequest::default() };
    /// let project = Project::new("shop", "example.com", "0.1.0").edit(&request)?;
    /// assert!(project.settings().cert_manager);
    /// # Ok::<(), kubewright_scaffold::command::CommandError>(())
    /// ```
    pub fn edit(&self, request: &EditRequest) -> Result<Self, CommandError> {
        if *request == EditRequest::default() {
            return Err(CommandError::NothingToEdit);
        }
        let mut project = self.clone();
        if let Some(multigroup) = request.multigroup {
            project.set_multigroup(multigroup)?;
        }
        if let Some(namespaced) = request.namespaced {
            project.namespaced = namespaced;
        }
        let settings = &mut project.plugins.settings;
        let switches = [
            (&mut settings.cert_manager, request.cert_manager),
            (&mut settings.prometheus, request.prometheus),
            (&mut settings.grafana, request.grafana),
            (&mut settings.network_policy, request.network_policy),
        ];
        for (switch, wanted) in switches {
            *switch = wanted.unwrap_or(*switch);
        }
        settings.max_description_length = request.max_description_length.or(settings.max_description_length);
        let license = request.license.clone().unwrap_or_else(|| settings.license.clone());
        let owner = request.owner.clone().unwrap_or_else(|| settings.owner.clone());
        if request.license.is_some() || request.owner.is_some() {
            project = project.with_license(&license, &owner)?;
        }
        Ok(project)
    }

    /// The project as this version of `kubewright` writes it.
    pub fn upgrade(&self, version: &str) -> Result<Self, CommandError> {
        if self.templates() > TEMPLATES || numbers(&self.cli_version) > numbers(version) {
            return Err(CommandError::Newer {
                theirs: self.cli_version.clone(),
                own: version.to_owned(),
            });
        }
        let mut project = self.clone();
        version.clone_into(&mut project.cli_version);
        project.plugins.settings.templates = Some(TEMPLATES);
        Ok(project)
    }

    fn set_multigroup(&mut self, multigroup: bool) -> Result<(), CommandError> {
        let own = self
            .resources
            .iter()
            .filter(|resource| !resource.core && !resource.external);
        let groups: BTreeSet<&str> = own.map(|resource| resource.group.as_str()).collect();
        if !multigroup && groups.len() > 1 {
            let groups: Vec<&str> = groups.into_iter().collect();
            return Err(CommandError::SeveralGroups(groups.join(", ")));
        }
        self.multigroup = multigroup;
        let moved = self.clone();
        for resource in self.resources.iter_mut().filter(|resource| resource.api.is_some()) {
            let path = CodePaths::new(&moved, resource).api_path();
            resource.path = format!("{}::{path}", moved.crate_name());
        }
        Ok(())
    }
}

/// The numbers of a version, for comparison. A part that is not a number counts as zero.
fn numbers(version: &str) -> Vec<u64> {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    release
        .split('.')
        .map(|part| part.parse().unwrap_or_default())
        .collect()
}
