//! Resolves paths inside the crate.

use syn::{Item, UseTree, Visibility};

use crate::crate_source::{CrateSource, ModulePath};

/// The module or item that a path names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// A module of this crate.
    Module(ModulePath),
    /// An item of this crate: the module that defines it, and its name.
    Item(ModulePath, String),
}

/// A name that a `use` imports, or a glob.
#[derive(Debug)]
pub(crate) struct Import {
    /// The path as it is written, without the alias.
    pub(crate) path: Vec<String>,
    /// The name under which it is imported; none for a glob.
    pub(crate) name: Option<String>,
}

/// The imports of a `use`, with its groups expanded.
pub(crate) fn imports(tree: &UseTree) -> Vec<Import> {
    let mut all = Vec::new();
    flatten(tree, &mut Vec::new(), &mut all);
    all
}

fn flatten(tree: &UseTree, above: &mut Vec<String>, all: &mut Vec<Import>) {
    let mut add = |last: Option<String>, name: Option<String>| {
        let path = above.iter().cloned().chain(last).collect();
        all.push(Import { path, name });
    };
    match tree {
        UseTree::Path(path) => {
            above.push(path.ident.to_string());
            flatten(&path.tree, above, all);
            above.pop();
        }
        UseTree::Name(name) if name.ident == "self" => add(None, above.last().cloned()),
        UseTree::Name(name) => add(Some(name.ident.to_string()), Some(name.ident.to_string())),
        UseTree::Rename(rename) if rename.ident == "self" => add(None, Some(rename.rename.to_string())),
        UseTree::Rename(rename) => add(Some(rename.ident.to_string()), Some(rename.rename.to_string())),
        UseTree::Glob(_) => add(None, None),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, above, all);
            }
        }
    }
}

/// The name and the visibility of an item that has both.
pub(crate) fn named(item: &Item) -> Option<(String, &Visibility)> {
    let (ident, visibility) = match item {
        Item::Const(item) => (&item.ident, &item.vis),
        Item::Enum(item) => (&item.ident, &item.vis),
        Item::Fn(item) => (&item.sig.ident, &item.vis),
        Item::Static(item) => (&item.ident, &item.vis),
        Item::Struct(item) => (&item.ident, &item.vis),
        Item::Trait(item) => (&item.ident, &item.vis),
        Item::Type(item) => (&item.ident, &item.vis),
        _ => return None,
    };
    Some((ident.to_string(), visibility))
}

impl CrateSource {
    /// Resolves a path in a module. `None` for an item of another crate.
    pub(crate) fn resolve(&self, module: &[String], path: &[String]) -> Option<Target> {
        self.resolve_within(module, path, 16)
    }

    /// Follows at most `hops` imports, since globs may name each other.
    fn resolve_within(&self, module: &[String], path: &[String], hops: usize) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let mut target = match first.as_str() {
            "crate" => Target::Module(Vec::new()),
            "self" => Target::Module(module.to_vec()),
            "super" => Target::Module(module[..module.len().checked_sub(1)?].to_vec()),
            name => self.lookup(module, name, hops)?,
        };
        for name in rest {
            target = match target {
                Target::Module(module) if name == "super" => {
                    Target::Module(module[..module.len().checked_sub(1)?].to_vec())
                }
                Target::Module(module) => self.lookup(&module, name, hops)?,
                Target::Item(..) => return None,
            };
        }
        Some(target)
    }

    fn lookup(&self, module: &[String], name: &str, hops: usize) -> Option<Target> {
        let mut child = module.to_vec();
        child.push(name.to_owned());
        if self.modules.contains_key(&child) {
            return Some(Target::Module(child));
        }
        let items = self.modules.get(module)?;
        if items.iter().filter_map(named).any(|(known, _)| known == name) {
            return Some(Target::Item(module.to_vec(), name.to_owned()));
        }
        let hops = hops.checked_sub(1)?;
        let imported = items.iter().filter_map(|item| match item {
            Item::Use(item) => Some(imports(&item.tree)),
            _ => None,
        });
        imported.flatten().find_map(|import| match import.name {
            Some(known) if known == name => self.resolve_within(module, &import.path, hops),
            Some(_) => None,
            None => match self.resolve_within(module, &import.path, hops)? {
                Target::Module(glob) if glob != module => self.lookup(&glob, name, hops),
                _ => None,
            },
        })
    }
}
