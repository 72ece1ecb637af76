//! The project a command is run in: where it is, what its PROJECT says, its program, what that says of itself, and the objects
//! that follow from it.

mod build;
mod describe;
mod diagnostics;
mod error;

use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kubewright_cluster::bundle::Bundle;
use kubewright_controllers::process::ProcessGuard;
use kubewright_description::Description;
use kubewright_manifests::bundle;
use kubewright_manifests::definitions::{DefinitionOptions, Descriptions};
use kubewright_manifests::install::{RenderedManifests, Settings, kustomization};
use kubewright_scaffold::Project as ProjectFile;

pub(crate) use error::Error;

use kubewright_cluster::progress::Progress;

/// The image of a project for which none was set.
const IMAGE: &str = "controller:latest";

/// Where the namespace and the prefix are.
const DEFAULT: &str = "config/default/kustomization.yaml";

/// Where the image is.
const MANAGER: &str = "config/manager/kustomization.yaml";

/// A project on disk.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    root: PathBuf,
    file: ProjectFile,
}

/// What a command line says instead of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overrides {
    pub(crate) image: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) name_prefix: Option<String>,
    pub(crate) replicas: Option<u32>,
}

impl Project {
    /// The project of a folder: PROJECT is there or further up.
    pub(crate) fn find(from: &Path) -> Result<Project, Error> {
        let from = std::path::absolute(from).unwrap_or_else(|_| from.to_owned());
        let root = from
            .ancestors()
            .find(|folder| folder.join("PROJECT").is_file())
            .ok_or_else(|| Error::NoProject(from.clone()))?;
        let path = root.join("PROJECT");
        let text = std::fs::read_to_string(&path).map_err(|source| Error::Read {
            path: path.clone(),
            source,
        })?;
        let file = ProjectFile::parse(&text).map_err(|source| Error::Project {
            path,
            source: Box::new(source),
        })?;
        Ok(Project {
            root: root.to_owned(),
            file,
        })
    }

    /// The project of the current folder.
    pub(crate) fn load() -> Result<Project, Error> {
        let project = Self::find(Path::new("."))?;
        // The namespace and the image are in these files: ignoring an error would mean others.
        for path in [DEFAULT, MANAGER] {
            if let Some(text) = project.text(path)? {
                kubewright_codec::yaml::decode(text.as_bytes()).map_err(|source| Error::Yaml { path, source })?;
            }
        }
        Ok(project)
    }

    /// Where it is.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// What its PROJECT says.
    pub(crate) fn file(&self) -> &ProjectFile {
        &self.file
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.file.name
    }

    /// The namespace it is installed in: `config/default/kustomization.yaml` may name another than its own.
    pub(crate) fn namespace(&self) -> String {
        self.kustomized("namespace").unwrap_or_else(|| self.file.namespace())
    }

    /// What the names of its objects begin with.
    pub(crate) fn prefix(&self) -> String {
        self.kustomized("namePrefix").unwrap_or_else(|| self.file.prefix())
    }

    fn kustomized(&self, field: &str) -> Option<String> {
        kustomization::field(&self.text(DEFAULT).ok()??, field)
    }

    /// The default image of the manager: that of `config/manager/kustomization.yaml`.
    pub(crate) fn image(&self) -> String {
        let images = self.text(MANAGER).ok().flatten().and_then(|text| {
            let decoded = kubewright_codec::yaml::decode(text.as_bytes()).ok()?;
            decoded.value["images"].as_array().cloned()
        });
        let image = images
            .unwrap_or_default()
            .into_iter()
            .find(|image| image["name"] == "controller");
        let Some(image) = image else {
            return IMAGE.to_owned();
        };
        let text = |field: &str| image[field].as_str().filter(|text| !text.is_empty());
        let name = text("newName").unwrap_or("controller");
        match (text("newTag"), text("digest")) {
            (_, Some(digest)) => format!("{name}@{digest}"),
            (tag, None) => format!("{name}:{}", tag.unwrap_or("latest")),
        }
    }

    /// A file of the project, by its path with slashes; `None` if it is not there.
    pub(crate) fn text(&self, path: &str) -> Result<Option<String>, Error> {
        match std::fs::read_to_string(self.root.join(path)) {
            Ok(text) => Ok(Some(text)),
            // kustomize builds a folder, which is not read as a file.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            Err(source) => Err(Error::Read {
                path: path.into(),
                source,
            }),
        }
    }

    /// How it is installed.
    pub(crate) fn settings(&self, overrides: &Overrides) -> Settings {
        let switches = self.file.settings();
        Settings {
            namespace: overrides.namespace.clone().unwrap_or_else(|| self.namespace()),
            prefix: overrides.name_prefix.clone().unwrap_or_else(|| self.prefix()),
            image: overrides.image.clone().unwrap_or_else(|| self.image()),
            replicas: overrides.replicas,
            cert_manager: switches.cert_manager,
            prometheus: switches.prometheus,
            alerts: switches.grafana,
            network_policy: switches.network_policy,
            namespaced: self.file.namespaced,
            multigroup: self.file.multigroup,
            domain: self.file.domain.clone(),
        }
    }

    /// Builds the operator's program; where it is.
    pub(crate) fn build(&self, progress: &Progress) -> Result<PathBuf, Error> {
        build::build(self, None, progress)
    }

    /// The same with cargo in a group of processes of its own, which ends with this program even if it is killed.
    pub(crate) fn build_guarded(&self, guard: Option<&ProcessGuard>, progress: &Progress) -> Result<PathBuf, Error> {
        build::build(self, guard, progress)
    }

    /// Builds a test of the project, a file of `tests/` without `.rs`; where its program is.
    pub(crate) fn build_test(&self, test: &str, progress: &Progress) -> Result<PathBuf, Error> {
        build::build_test(self, test, progress)
    }

    /// What a program of the project says of itself.
    pub(crate) fn describe(&self, binary: &Path) -> Result<Description, Error> {
        describe::describe(self, binary)
    }

    /// What the operator needs in a cluster, as its code and PROJECT say.
    fn manifests(&self, description: &Description, overrides: &Overrides) -> Result<RenderedManifests, Error> {
        let options = DefinitionOptions {
            descriptions: self.descriptions(),
            ..DefinitionOptions::default()
        };
        RenderedManifests::render(description, &options, &self.settings(overrides)).map_err(Error::Definitions)
    }

    /// Builds the operator, and renders what it needs in a cluster.
    pub(crate) fn render(&self, overrides: &Overrides, progress: &Progress) -> Result<Bundle, Error> {
        let description = self.describe(&self.build(progress)?)?;
        self.bundle(&description, overrides)
    }

    /// How much of the descriptions is kept, as PROJECT says.
    fn descriptions(&self) -> Descriptions {
        kubewright_scaffold::config::definition_options(&self.file).descriptions
    }

    /// The objects of its installation.
    pub(crate) fn bundle(&self, description: &Description, overrides: &Overrides) -> Result<Bundle, Error> {
        let manifests = self.manifests(description, overrides)?;
        // The first file that is there and cannot be read.
        let unreadable = RefCell::new(None);
        let file = |path: &str| match self.text(path) {
            Ok(text) => text,
            Err(error) => {
                unreadable.borrow_mut().get_or_insert(error);
                None
            }
        };
        let rendered = bundle::Bundle::of(&manifests, &file);
        if let Some(error) = unreadable.take() {
            return Err(error);
        }
        let rendered = rendered?;
        let progress = Progress::new();
        for ignored in &rendered.ignored {
            progress.warn(ignored);
        }
        Ok(Bundle::of(manifests, rendered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_installs_what_a_run_of_the_example_does() {
        let (description, demo) = kubewright_demo::installation().unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/markdown-view");
        let project = Project::find(&folder).unwrap();
        let example = project.bundle(&description, &Overrides::default()).unwrap();
        assert_eq!(demo.definitions, example.definitions);
        // The demo runs the manager in its own process, whatever the Deployment says.
        let others = |bundle: &Bundle| -> Vec<serde_json::Value> {
            let objects = bundle.objects.iter();
            objects
                .filter(|object| object["kind"] != "Deployment")
                .cloned()
                .collect()
        };
        assert_eq!(others(&demo), others(&example));
        assert_eq!(
            kubewright_cluster::bundle::account(&demo),
            kubewright_cluster::bundle::account(&example)
        );
    }
}
