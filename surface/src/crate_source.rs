//! The modules of a crate as parsed files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use quote::ToTokens;
use syn::{Attribute, Item};

/// The path of a module inside its crate; the root is empty.
pub(crate) type ModulePath = Vec<String>;

/// The reason why the public items of a crate cannot be listed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file is missing or cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// `syn` cannot parse a file.
    #[error("cannot parse {}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The error of `syn`, with its place.
        source: syn::Error,
    },
}

/// All modules of a crate with their items, except those that are compiled for tests only.
pub(crate) struct CrateSource {
    pub(crate) modules: BTreeMap<ModulePath, Vec<Item>>,
}

impl CrateSource {
    pub(crate) fn read(root: &Path) -> Result<Self, Error> {
        let mut source = CrateSource {
            modules: BTreeMap::new(),
        };
        let folder = root.parent().unwrap_or(Path::new("")).to_owned();
        source.add_file(root, &folder, Vec::new())?;
        Ok(source)
    }

    /// Adds the module in `file`, whose own modules are files in `folder`.
    fn add_file(&mut self, file: &Path, folder: &Path, module: ModulePath) -> Result<(), Error> {
        let text = fs::read_to_string(file).map_err(|source| Error::Read {
            path: file.to_owned(),
            source,
        })?;
        let parsed = syn::parse_file(&text).map_err(|source| Error::Parse {
            path: file.to_owned(),
            source,
        })?;
        let mut items = parsed.items;
        if text.starts_with("// @generated") {
            items.retain(|item| !matches!(item, Item::Impl(_)));
        }
        self.add_items(items, folder, module)
    }

    fn add_items(&mut self, items: Vec<Item>, folder: &Path, module: ModulePath) -> Result<(), Error> {
        let items: Vec<Item> = items.into_iter().filter(|item| !is_test(attributes(item))).collect();
        for item in &items {
            let Item::Mod(child) = item else { continue };
            let name = child.ident.to_string();
            let mut path = module.clone();
            path.push(name.clone());
            let inner = folder.join(&name);
            if let Some((_, items)) = &child.content {
                self.add_items(items.clone(), &inner, path)?;
                continue;
            }
            let flat = folder.join(format!("{name}.rs"));
            let file = if flat.exists() { flat } else { inner.join("mod.rs") };
            self.add_file(&file, &inner, path)?;
        }
        self.modules.insert(module, items);
        Ok(())
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.meta.to_token_stream().to_string() == "cfg (test)"
    })
}

/// The attributes of an item that has a name or an implementation.
pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
