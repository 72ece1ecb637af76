//! What k8s-openapi calls types and fields, and since which version of Kubernetes it has them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::package::Package;

/// The versions of Kubernetes that the package offers, oldest first. The facts are of the fourth.
const VERSIONS: [u32; 5] = [33, 34, 35, 36, 37];
const OF_THE_FACTS: u32 = 36;

/// A type of k8s-openapi.
pub(crate) struct Known {
    /// `k8s_openapi::api::core::v1::Container`
    pub(crate) path: String,
    /// The first version that has it, if the oldest has not.
    pub(crate) since: Option<u32>,
    /// The name of a field in Rust, by its name in JSON.
    pub(crate) fields: BTreeMap<String, String>,
}

/// Looks a type up by its name in `OpenAPI` documents. None if the package has no such type in some version from the first on.
pub(crate) fn look_up(package: &Package, name: &str) -> io::Result<Option<Known>> {
    let Some((module, short)) = name.strip_prefix("io.k8s.").and_then(|name| name.rsplit_once('.')) else {
        return Ok(None);
    };
    let module = module.replace('-', "_");
    let folder = |version: u32| -> PathBuf {
        let root = package.folder.join("src").join(format!("v1_{version}"));
        root.join(module.replace('.', "/"))
    };
    let mut missing = Vec::new();
    for version in VERSIONS {
        if file(&folder(version), short).is_none() {
            missing.push(version);
        }
    }
    let Some(file) = file(&folder(OF_THE_FACTS), short) else {
        return Ok(None);
    };
    // What is gone again in a later version has no place in any.
    if missing.iter().any(|version| *version > OF_THE_FACTS) {
        return Ok(None);
    }
    Ok(Some(Known {
        path: format!("k8s_openapi::{}::{short}", module.replace('.', "::")),
        since: missing.last().map(|version| version + 1),
        fields: fields(&fs::read_to_string(file)?),
    }))
}

/// The file that defines a type, as the module that exports it says.
fn file(folder: &Path, name: &str) -> Option<PathBuf> {
    let module = fs::read_to_string(folder.join("mod.rs")).ok()?;
    let export = module.lines().find_map(|line| {
        let (file, exported) = line
            .strip_prefix("pub use self::")?
            .strip_suffix(';')?
            .split_once("::")?;
        (exported == name).then_some(file)
    });
    export.map(|file| folder.join(format!("{file}.rs")))
}

/// `"clusterIP" => Field::Key_cluster_ip,` as the reader of the type has it.
fn fields(source: &str) -> BTreeMap<String, String> {
    let pairs = source.lines().filter_map(|line| {
        let (json, rust) = line.trim().split_once(" => Field::Key_")?;
        Some((json.trim_matches('"').to_owned(), rust.trim_end_matches(',').to_owned()))
    });
    pairs.collect()
}
