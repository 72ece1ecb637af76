//! A project in memory, and the commands run on it.

use std::collections::BTreeMap;
use std::error::Error;

use kubewright_scaffold::command::{ApiRequest, EditRequest, ImageRequest, Target, WebhookRequest};
use kubewright_scaffold::plan::{Change, Options, plan};
use kubewright_scaffold::{Project, Source, manifest};

pub(crate) type Done = Result<Vec<Change>, Box<dyn Error>>;

/// The files of a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TestProject {
    pub(crate) files: BTreeMap<String, String>,
}

impl TestProject {
    /// A new project.
    pub(crate) fn init(project: &Project) -> Self {
        let mut made = Self::default();
        let cargo = manifest(project, &Source::Version("0.1.0".to_owned()));
        let changes = plan(None, project, vec![cargo], &made.files, &Options::default()).unwrap();
        made.carry_out(&changes);
        made
    }

    pub(crate) fn named(name: &str) -> Self {
        Self::init(&project(name))
    }

    pub(crate) fn project(&self) -> Project {
        Project::parse(&self.files["PROJECT"]).unwrap()
    }

    pub(crate) fn create_api(&mut self, request: &ApiRequest) -> Done {
        let project = self.project();
        self.bring_about(&project.create_api(request)?, &Options::default())
    }

    pub(crate) fn create_webhook(&mut self, request: &WebhookRequest) -> Done {
        let project = self.project();
        self.bring_about(&project.create_webhook(request)?, &Options::default())
    }

    pub(crate) fn delete_api(&mut self, target: &Target) -> Done {
        let project = self.project();
        self.bring_about(&project.delete_api(target)?, &Options::default())
    }

    pub(crate) fn delete_webhook(&mut self, request: &WebhookRequest) -> Done {
        let project = self.project();
        self.bring_about(&project.delete_webhook(request)?, &Options::default())
    }

    pub(crate) fn edit(&mut self, request: &EditRequest) -> Done {
        let project = self.project();
        self.bring_about(&project.edit(request)?, &Options::default())
    }

    pub(crate) fn bring_about(&mut self, after: &Project, options: &Options) -> Done {
        let changes = plan(Some(&self.project()), after, Vec::new(), &self.files, options)?;
        self.carry_out(&changes);
        Ok(changes)
    }

    fn carry_out(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Create(file) => {
                    let there = self.files.insert(file.path.clone(), file.content.clone());
                    assert_eq!(there, None, "{} was there", file.path);
                }
                Change::Update(file) => {
                    let there = self.files.insert(file.path.clone(), file.content.clone());
                    assert!(
                        there.is_some_and(|there| there != file.content),
                        "{} did not change",
                        file.path
                    );
                }
                Change::Remove(path) => assert!(self.files.remove(path).is_some(), "{path} was not there"),
            }
        }
    }

    /// Changes one text in a file, as its user would.
    pub(crate) fn replace(&mut self, path: &str, from: &str, to: &str) {
        let text = self.files.get_mut(path).unwrap_or_else(|| panic!("{path} is missing"));
        assert!(text.contains(from), "{path} has no {from:?}:\n{text}");
        *text = text.replace(from, to);
    }

    pub(crate) fn append(&mut self, path: &str, more: &str) {
        self.files
            .get_mut(path)
            .unwrap_or_else(|| panic!("{path} is missing"))
            .push_str(more);
    }
}

pub(crate) fn project(name: &str) -> Project {
    let project = Project::new(name, "ginoh.github.io", "0.1.0");
    let project = project.with_license("apache2", "The Ginoh Authors").unwrap();
    project.with_repo(&format!("github.com/ginoh/{name}")).unwrap()
}

pub(crate) fn target(group: &str, version: &str, kind: &str) -> Target {
    Target {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
    }
}

pub(crate) fn api(group: &str, version: &str, kind: &str) -> ApiRequest {
    ApiRequest {
        target: target(group, version, kind),
        ..ApiRequest::default()
    }
}

pub(crate) fn image(image: &str) -> ImageRequest {
    ImageRequest {
        image: image.to_owned(),
        ..ImageRequest::default()
    }
}

/// A request for webhooks by the flags of the command: `"defaulting"`, `"validation"`, or a spoke.
pub(crate) fn webhook(target: Target, wanted: &[&str]) -> WebhookRequest {
    let spokes = wanted
        .iter()
        .filter(|word| !["defaulting", "validation"].contains(word));
    let spokes: Vec<String> = spokes.map(|&spoke| spoke.to_owned()).collect();
    WebhookRequest {
        target,
        defaulting: wanted.contains(&"defaulting"),
        validation: wanted.contains(&"validation"),
        conversion: !spokes.is_empty(),
        spokes,
        ..WebhookRequest::default()
    }
}

/// One group, one kind, its webhooks: the tutorial everybody knows.
pub(crate) fn markdown_view() -> TestProject {
    let mut project = TestProject::named("markdown-view");
    project.create_api(&api("view", "v1", "MarkdownView")).unwrap();
    let view = target("view", "v1", "MarkdownView");
    project
        .create_webhook(&webhook(view, &["defaulting", "validation"]))
        .unwrap();
    project
}

/// Several groups, several versions with conversion, kinds of Kubernetes, a cluster-wide kind.
pub(crate) fn fleet() -> TestProject {
    let mut fleet = project("fleet");
    fleet.multigroup = true;
    let mut project = TestProject::init(&fleet);
    project.create_api(&api("ship", "v1", "Frigate")).unwrap();
    project.create_api(&api("ship", "v1beta1", "Frigate")).unwrap();
    project.create_api(&api("ship", "v2", "Frigate")).unwrap();
    project
        .create_webhook(&webhook(target("ship", "v1", "Frigate"), &["v1beta1", "v2"]))
        .unwrap();
    project
        .create_webhook(&webhook(target("ship", "v1", "Frigate"), &["validation"]))
        .unwrap();
    project
        .create_webhook(&webhook(target("ship", "v2", "Frigate"), &["defaulting"]))
        .unwrap();
    let kraken = ApiRequest {
        namespaced: Some(false),
        plural: "krakenes".to_owned(),
        ..api("sea-creatures", "v1alpha1", "Kraken")
    };
    project.create_api(&kraken).unwrap();
    let harbour = ApiRequest {
        controller: Some(false),
        ..api("ship", "v1", "Harbour")
    };
    project.create_api(&harbour).unwrap();
    let deployments = ApiRequest {
        resource: Some(false),
        ..api("apps", "v1", "Deployment")
    };
    project.create_api(&deployments).unwrap();
    project
        .create_webhook(&webhook(target("core", "v1", "Pod"), &["defaulting", "validation"]))
        .unwrap();
    project
}

/// Kinds that the program serves itself, beside one of a cluster.
pub(crate) fn observatory() -> TestProject {
    let mut project = TestProject::init(&Project::new("observatory", "example.com", "0.1.0"));
    let aggregated = |kind: &str, namespaced: bool| ApiRequest {
        aggregated: Some(true),
        namespaced: Some(namespaced),
        ..api("sky", "v1", kind)
    };
    project.create_api(&aggregated("Moon", false)).unwrap();
    project.create_api(&aggregated("Sighting", true)).unwrap();
    project.create_api(&api("sky", "v1alpha1", "Telescope")).unwrap();
    project
}

/// A ready-made operator, beside a kind that runs an image without options.
pub(crate) fn cache() -> TestProject {
    let mut project = TestProject::init(&Project::new("cache", "example.com", "0.1.0"));
    let memcached = ApiRequest {
        image: Some(ImageRequest {
            image: "memcached:1.6.26-alpine3.19".to_owned(),
            command: ["memcached", "--memory-limit=64", "-o", "modern", "-v"]
                .map(str::to_owned)
                .to_vec(),
            port: Some(11211),
            run_as_user: Some(1001),
        }),
        ..api("cache", "v1alpha1", "Memcached")
    };
    project.create_api(&memcached).unwrap();
    let busybox = ApiRequest {
        image: Some(image("busybox:1.36.1")),
        ..api("cache", "v1alpha1", "Busybox")
    };
    project.create_api(&busybox).unwrap();
    project
}
