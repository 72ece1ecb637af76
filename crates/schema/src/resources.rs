//! The resources a server serves out of the box: names, scope, verbs and subresources, in the order discovery lists them.

use std::{collections::HashMap, sync::OnceLock};

pub(crate) static BUILTIN: &str = include_str!("../facts/v1.36/resources.facts");

/// The built-in resources of Kubernetes 1.36.
pub fn resources() -> &'static Resources {
    static RESOURCES: OnceLock<Resources> = OnceLock::new();
    RESOURCES.get_or_init(|| Resources::parse(BUILTIN))
}

/// Every group-version with its resources, in the order the real server lists them.
#[derive(Debug)]
pub struct Resources {
    group_versions: Vec<GroupVersion>,
    by_plural: HashMap<(&'static str, &'static str, &'static str), (u32, u32)>,
}

/// A group-version and its resources.
#[derive(Debug)]
pub struct GroupVersion {
    /// The group; empty for the core.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// In the order of the discovery document.
    pub resources: Vec<Resource>,
}

/// A resource: a collection of objects under one name.
#[derive(Debug)]
pub struct Resource {
    /// The group; empty for the core.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The name in paths: `deployments`.
    pub plural: &'static str,
    /// The name of one: `deployment`.
    pub singular: &'static str,
    /// The kind of its objects.
    pub kind: &'static str,
    /// Its objects live in namespaces.
    pub namespaced: bool,
    /// The verbs, in discovery's order.
    pub verbs: Vec<&'static str>,
    /// The names kubectl also takes: `deploy`.
    pub short_names: Vec<&'static str>,
    /// The groups of resources it is in: `all`.
    pub categories: Vec<&'static str>,
    /// The hash discovery shows for the stored version, if it shows one.
    pub storage_version_hash: Option<&'static str>,
    /// A deletion answers with the object instead of a `Status` (D3).
    pub returns_deleted: bool,
    /// In the order of the discovery document.
    pub subresources: Vec<Subresource>,
}

/// A part of an object, or an action on it, with a path of its own.
#[derive(Debug)]
pub struct Subresource {
    /// The last part of its path: `status`.
    pub name: &'static str,
    /// The group of its kind, which may be another one (`autoscaling` for `scale`).
    pub group: &'static str,
    /// The version of its kind.
    pub version: &'static str,
    /// The kind it reads and writes.
    pub kind: &'static str,
    /// The discovery entry names group and version itself, as it does where they are not the resource's own.
    pub names_group_version: bool,
    /// The verbs, in discovery's order.
    pub verbs: Vec<&'static str>,
}

/// The verbs of most resources, `*` in the table.
const USUAL_VERBS: &str = "create,delete,deletecollection,get,list,patch,update,watch";

fn verbs(word: &'static str) -> Vec<&'static str> {
    if word == "*" { USUAL_VERBS } else { word }.split(',').collect()
}

impl Subresource {
    fn read(line: &'static str, of: &Resource) -> Option<Self> {
        let mut words = line.split(' ');
        let (name, kind) = (words.next()?, words.next()?);
        let (group, version, kind, names_group_version) = match kind.rsplit_once('.') {
            Some((gv, kind)) => {
                let (group, version) = gv.split_once('/').unwrap_or(("", gv));
                (group, version, kind, true)
            }
            None => (of.group, of.version, kind, false),
        };
        Some(Subresource {
            name,
            group,
            version,
            kind,
            names_group_version,
            verbs: verbs(words.next()?),
        })
    }
}

impl Resource {
    fn read(line: &'static str, gv: &GroupVersion) -> Option<Self> {
        let mut words = line.split(' ');
        let mut resource = Resource {
            group: gv.group,
            version: gv.version,
            plural: words.next()?,
            singular: words.next()?,
            kind: words.next()?,
            namespaced: words.next()? == "namespaced",
            verbs: verbs(words.next()?),
            short_names: Vec::new(),
            categories: Vec::new(),
            storage_version_hash: None,
            returns_deleted: false,
            subresources: Vec::new(),
        };
        for word in words {
            match word.split_once('=') {
                Some(("short", names)) => resource.short_names = names.split(',').collect(),
                Some(("categories", names)) => resource.categories = names.split(',').collect(),
                Some(("hash", hash)) => resource.storage_version_hash = Some(hash),
                None if word == "returns-deleted" => resource.returns_deleted = true,
                _ => return None,
            }
        }
        Some(resource)
    }

    /// The subresource of that name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }
}

impl Resources {
    /// Reads the table: a line per group-version, below it, by indentation, its resources and their subresources.
    fn parse(text: &'static str) -> Self {
        let mut resources = Resources {
            group_versions: Vec::new(),
            by_plural: HashMap::new(),
        };
        for line in text.lines() {
            let read = resources.read(line);
            debug_assert!(read.is_some(), "the table holds {line}");
        }
        resources
    }

    fn read(&mut self, line: &'static str) -> Option<()> {
        let position = self.group_versions.len() as u32;
        if let Some(line) = line.strip_prefix("  ") {
            let resource = self.group_versions.last_mut()?.resources.last_mut()?;
            let subresource = Subresource::read(line, resource)?;
            resource.subresources.push(subresource);
        } else if let Some(line) = line.strip_prefix(' ') {
            let gv = self.group_versions.last_mut()?;
            let resource = Resource::read(line, gv)?;
            let key = (gv.group, gv.version, resource.plural);
            self.by_plural.insert(key, (position - 1, gv.resources.len() as u32));
            gv.resources.push(resource);
        } else {
            let (group, version) = line.split_once('/').unwrap_or(("", line));
            self.group_versions.push(GroupVersion {
                group,
                version,
                resources: Vec::new(),
            });
        }
        Some(())
    }

    /// The group-versions in the order of the real server: core first, then by priority.
    pub fn group_versions(&self) -> impl Iterator<Item = &GroupVersion> {
        self.group_versions.iter()
    }

    /// The versions of a group, preferred first.
    pub fn group<'r>(&'r self, group: &'r str) -> impl Iterator<Item = &'r GroupVersion> {
        self.group_versions.iter().filter(move |gv| gv.group == group)
    }

    /// Every resource, in the order of the group-versions and, within them, of discovery.
    pub fn iter(&self) -> impl Iterator<Item = &Resource> {
        self.group_versions.iter().flat_map(|gv| &gv.resources)
    }

    /// The resource of that group, version and plural name.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Resource> {
        let (gv, resource) = self.by_plural.get(&(group, version, plural))?;
        self.group_versions.get(*gv as usize)?.resources.get(*resource as usize)
    }
}
