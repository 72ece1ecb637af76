//! The `Cargo.toml` of a project: what it is called, and where `kubewright` comes from.

use super::header::spdx;
use crate::template::{TemplateValues, fill};
use crate::{File, Project};

/// Where a path of this machine may stand: cargo reads the file, and nobody commits it.
pub(crate) const CARGO_CONFIG: &str = ".cargo/config.toml";

/// Where a project takes `kubewright` from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A released version.
    Version(String),
    /// A checkout on this machine: the folder of the crate `kubewright`.
    Path(String),
    /// A git repository.
    Git(String),
}

/// A source that is neither a version, nor an address, nor a folder.
#[derive(Debug, thiserror::Error)]
#[error(
    "--kubewright-source {0:?} is no version (\"0.1\"), no address of a git repository \
     (\"https://example.com/kubewright.git\") and no folder with the source of kubewright"
)]
pub struct SourceError(pub String);

impl Source {
    /// Reads a version or the address of a git repository; everything else is a path, which only the caller can look at.
    pub fn parse(text: &str) -> Option<Self> {
        let schemes = ["https://", "http://", "ssh://", "git://", "file://", "git@"];
        if schemes.iter().any(|scheme| text.starts_with(scheme)) && is_plain(text) {
            return Some(Source::Git(text.to_owned()));
        }
        let number = text.trim_start_matches(['=', '^', '~', '>', '<', ' ']);
        let is_version = number.starts_with(|first: char| first.is_ascii_digit())
            && number.chars().all(|c| c.is_ascii_alphanumeric() || ".-+*".contains(c));
        is_version.then(|| Source::Version(text.to_owned()))
    }

    fn dependency(&self) -> String {
        match self {
            Source::Version(version) => format!("version = {}", quoted(version)),
            // The checkout takes the place of the version that it will be released as.
            Source::Path(_) => format!("version = {}", quoted(env!("CARGO_PKG_VERSION"))),
            Source::Git(address) => format!("git = {}", quoted(address)),
        }
    }
}

/// The files that let a checkout take the place of the release that `Cargo.toml` asks for: its path is in cargo's configuration, which
/// is not committed. There are none for other sources.
///
/// ```
/// use kubewright_scaffold::{Source, checkout_files};
///
/// let files = checkout_files(&Source::Path("/src/kubewright/crates/kubewright".to_owned()), None);
/// assert!(files[0].content.ends_with("kubewright = { path = \"/src/kubewright/crates/kubewright\" }\n"));
/// assert!(checkout_files(&Source::Version("0.1.0".to_owned()), None).is_empty());
/// ```
pub fn checkout_files(source: &Source, config: Option<&str>) -> Vec<File> {
    let Source::Path(path) = source else {
        return Vec::new();
    };
    let before = config
        .map(|text| format!("{}\n\n", text.trim_end()))
        .unwrap_or_default();
    let config = format!(
        "{before}# A checkout of kubewright on this machine takes the place of the release that Cargo.toml asks for. Not to be committed.\n\
         [patch.crates-io]\nkubewright = {{ path = {} }}\n",
        quoted(path)
    );
    let ignored = "# It has a path of this machine.\n/config.toml\n";
    vec![
        File::new(CARGO_CONFIG, config).regenerated(),
        File::new(".cargo/.gitignore", ignored).regenerated(),
    ]
}

/// The `Cargo.toml` of a new project.
pub fn manifest(project: &Project, source: &Source) -> File {
    let license = spdx(&project.settings().license).map(|license| format!("license = {}\n", quoted(license)));
    let repository = address(&project.repo).map(|address| format!("repository = {}\n", quoted(&address)));
    let values = TemplateValues::default()
        .text("name", &project.name)
        .text("license", license.unwrap_or_default())
        .text("repository", repository.unwrap_or_default())
        .text("source", source.dependency())
        .flag("checkout", matches!(source, Source::Path(_)));
    let template = project.template(
        include_str!("../../templates/1/Cargo.toml.template"),
        include_str!("../../templates/code/Cargo.toml.template"),
    );
    File::new("Cargo.toml", fill(template, &values))
}

/// A `Cargo.toml` that asks for another version of kubewright.
pub(crate) struct Versioned {
    pub(crate) text: String,
    /// The folder of the crate in a checkout, where a path of this machine stood instead of a version.
    pub(crate) checkout: Option<String>,
}

/// Asks for a version of `kubewright` and its crates wherever a `Cargo.toml` asks for another one, or names a checkout by an absolute
/// path. All other lines stay, and so do relative paths and git sources.
pub(crate) fn with_version(manifest: &str, version: &str) -> Versioned {
    let mut out = Versioned {
        text: String::with_capacity(manifest.len()),
        checkout: None,
    };
    let mut section = String::new();
    for line in manifest.split_inclusive('\n') {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            section = trimmed.trim_matches(['[', ']']).replace('"', "");
        }
        let is_table = section.ends_with("dependencies");
        let is_entry = section
            .rsplit_once("dependencies.")
            .is_some_and(|(_, name)| is_ours(name));
        let key = trimmed.split(['=', '.']).next().unwrap_or_default().trim();
        let is_asking = is_table && is_ours(key) || is_entry && ["version", "path"].contains(&key);
        if is_asking {
            out.text.push_str(&asking(line, version, &mut out.checkout));
        } else {
            out.text.push_str(line);
        }
    }
    out
}

/// Whether a package is one of kubewright's.
fn is_ours(name: &str) -> bool {
    name == "kubewright" || name.starts_with("kubewright-")
}

/// A line of a dependency with another version in it.
fn asking(line: &str, version: &str, checkout: &mut Option<String>) -> String {
    if let Some((before, path, after)) = value_of(line, "path")
        && path.starts_with('/')
        && value_of(line, "version").is_none()
    {
        if path.ends_with("/crates/kubewright") {
            *checkout = Some(path.to_owned());
        }
        let before = before.trim_end().trim_end_matches('=').trim_end();
        let before = before.strip_suffix("path").unwrap_or(before);
        return format!("{before}version = {}{after}", quoted(version));
    }
    if let Some((before, _, after)) = value_of(line, "version") {
        return format!("{before}{}{after}", quoted(version));
    }
    // `kubewright = "0.1.0"`
    match line.split_once('=') {
        Some((name, value)) if value.trim_start().starts_with('"') => {
            let rest = value.trim_start()[1..].split_once('"').map_or("\n", |(_, rest)| rest);
            format!("{}= {}{rest}", name, quoted(version))
        }
        _ => line.to_owned(),
    }
}

/// The string that a key has in a line, and what stands before and behind its quotes.
fn value_of<'a>(line: &'a str, key: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let mut from = 0;
    while let Some(at) = line[from..].find(key).map(|at| from + at) {
        from = at + key.len();
        let stands_alone = !line[..at].ends_with(|c: char| c.is_alphanumeric() || "-_\"".contains(c));
        let Some(value) = line[from..].trim_start().strip_prefix('=').filter(|_| stands_alone) else {
            continue;
        };
        let Some(value) = value.trim_start().strip_prefix('"') else {
            continue;
        };
        let begin = line.len() - value.len() - 1;
        let (value, after) = value.split_once('"')?;
        return Some((&line[..begin], value, after));
    }
    None
}

/// A string as TOML writes it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn is_plain(text: &str) -> bool {
    !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"')
}

/// The address of a repository, as cargo wants it: `github.com/ginoh/markdown-view` becomes `https://…`.
///
/// A name without a host has no address.
fn address(repo: &str) -> Option<String> {
    if repo.contains("://") {
        return Some(repo.to_owned());
    }
    if let Some((host, path)) = repo.strip_prefix("git@").and_then(|rest| rest.split_once(':')) {
        return Some(format!("https://{host}/{}", path.trim_end_matches(".git")));
    }
    let (host, _) = repo.split_once('/')?;
    host.contains('.').then(|| format!("https://{repo}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_written_as_an_address_where_it_has_one() {
        let https = Some("https://github.com/ginoh/markdown-view".to_owned());
        assert_eq!(address("github.com/ginoh/markdown-view"), https);
        assert_eq!(address("git@github.com:ginoh/markdown-view.git"), https);
        assert_eq!(address("https://github.com/ginoh/markdown-view"), https);
        assert_eq!(address("markdown-view"), None);
        assert_eq!(address(""), None);
    }

    #[test]
    fn another_version_is_asked_for_wherever_kubewright_is_and_nothing_else_changes() {
        let manifest = "[package]\nname = \"kubewright-shop\"\nversion = \"0.1.0\"\n\n[dependencies]\n\
            kubewright = { version = \"0.1.0\", features = [\"v1_36\"] } # mine\nserde = \"1\"\n\
            kubewright-runtime = \"=0.1.0\"\n\n[dev-dependencies.kubewright]\nversion = \"0.1\"\nfeatures = [\"testing\"]\n\
            [target.'cfg(unix)'.dependencies]\nkubewright-testing.version = \"0.1\"\n";
        let after = with_version(manifest, "0.2.0");
        let expected = manifest
            .replace("version = \"0.1.0\", features", "version = \"0.2.0\", features")
            .replace("\"=0.1.0\"", "\"0.2.0\"")
            .replace("version = \"0.1\"", "version = \"0.2.0\"");
        assert_eq!(after.text, expected);
        assert_eq!(after.checkout, None);
    }

    #[test]
    fn an_absolute_path_becomes_a_version_and_other_sources_stay() {
        let line =
            "[dependencies]\nkubewright = { path = \"/src/kubewright/crates/kubewright\", features = [\"v1_36\"] }\n";
        let after = with_version(line, "0.2.0");
        assert_eq!(
            after.text,
            "[dependencies]\nkubewright = { version = \"0.2.0\", features = [\"v1_36\"] }\n"
        );
        assert_eq!(after.checkout.as_deref(), Some("/src/kubewright/crates/kubewright"));
        for stays in [
            "kubewright = { path = \"../kubewright\" }\n",
            "kubewright = { git = \"https://a.example/k.git\" }\n",
        ] {
            let text = format!("[dependencies]\n{stays}");
            assert_eq!(with_version(&text, "0.2.0").text, text);
        }
    }

    #[test]
    fn a_source_is_a_version_or_an_address_and_else_nothing() {
        assert_eq!(Source::parse("=0.1"), Some(Source::Version("=0.1".to_owned())));
        assert_eq!(
            Source::parse("git@example.com:a/b.git"),
            Some(Source::Git("git@example.com:a/b.git".to_owned()))
        );
        for neither in ["", "kubewright", "/src/kubewright", "./0.1", "0.1\"\nx", "https://a b"] {
            assert_eq!(Source::parse(neither), None, "{neither}");
        }
    }
}
