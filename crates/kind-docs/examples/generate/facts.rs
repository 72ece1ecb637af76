//! From the sources of the package to the text of the table.

use std::path::Path;
use std::{fs, io};

use kubewright_schema::Types;

use crate::package::Package;
use crate::source::{self, Type};

/// The module of the package that has the level of the table of types.
const LEVEL: &str = "v1_36";

/// The text of the table: the types that the API server knows, with what the package says of them.
pub(crate) fn generate(package: &Package) -> io::Result<String> {
    let mut types = Vec::new();
    collect(&package.folder.join("src").join(LEVEL), &mut types)?;
    types.retain(|ty| Types::builtin().named(&ty.name).is_some());
    types.sort();
    let mut text = format!(
        "# What the types of Kubernetes 1.36 and their fields are for, in the words of its authors (Apache-2.0), as k8s-openapi\n\
         # {} has them. Written by `cargo run -p {} --example generate`.\n",
        package.version,
        env!("CARGO_PKG_NAME"),
    );
    for ty in &types {
        text.push_str(&line(&ty.name, &ty.description));
        for (field, description) in &ty.fields {
            text.push(' ');
            text.push_str(&line(field, description));
        }
    }
    Ok(text)
}

fn line(name: &str, description: &str) -> String {
    match description {
        "" => format!("{name}\n"),
        description => format!("{name} {}\n", escaped(description)),
    }
}

fn collect(folder: &Path, types: &mut Vec<Type>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, types)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            types.extend(source::read(&fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

fn escaped(description: &str) -> String {
    description.replace('\\', "\\\\").replace('\n', "\\n")
}
