//! The `Cargo.toml` of a project: what it is called, and where `kubewright` comes from.

use super::header::spdx;
use crate::template::{TemplateValues, fill};
use crate::{File, Project};

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
            Source::Path(path) => format!("path = {}", quoted(path)),
            Source::Git(address) => format!("git = {}", quoted(address)),
        }
    }
}

/// The `Cargo.toml` of a new project.
pub fn manifest(project: &Project, source: &Source) -> File {
    let license = spdx(&project.settings().license).map(|license| format!("license = {}\n", quoted(license)));
    let repository = address(&project.repo).map(|address| format!("repository = {}\n", quoted(&address)));
    let values = TemplateValues::default()
        .text("name", &project.name)
        .text("license", license.unwrap_or_default())
        .text("repository", repository.unwrap_or_default())
        .text("source", source.dependency());
    File::new(
        "Cargo.toml",
        fill(include_str!("../../templates/code/Cargo.toml.template"), &values),
    )
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
