//! `kubewright init`: a new project in the current folder.

use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kubewright_scaffold::plan::Files as _;
use kubewright_scaffold::{Project, Source, SourceError, checkout_files, manifest, names};

use crate::files::Disk;
use crate::prompt::Prompt;
use crate::scaffold::{DesiredProject, Report, bring_about};

/// Start a project in this folder
///
/// The folder should be empty; hidden files, a README.md and a LICENSE may be there, and hack/boilerplate.rs.txt: what stands in it
/// is written above every Rust file, in place of the license.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  # A project named like the folder, whose groups end in ginoh.github.io
  kubewright init --domain ginoh.github.io --repo github.com/ginoh/markdown-view

  # Several groups, and an operator that watches its own namespace only
  kubewright init --domain example.com --multigroup --namespaced")]
pub(crate) struct Arguments {
    /// The domain of the project's API groups (without a terminal: my.domain)
    #[arg(long)]
    domain: Option<String>,
    /// The repository of its source, as github.com/ginoh/markdown-view
    #[arg(long)]
    repo: Option<String>,
    /// The prefix of what is installed, and the crate's name [default: the name of the folder]
    #[arg(long)]
    project_name: Option<String>,
    /// The copyright holder that the files name
    #[arg(long, default_value = "", hide_default_value = true)]
    owner: String,
    /// The license in the head of every file
    #[arg(long, default_value = "apache2", value_parser = ["apache2", "copyright", "none"])]
    license: String,
    /// The operator watches its own namespace only
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, hide_possible_values = true)]
    namespaced: bool,
    /// One folder for each API group
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, hide_possible_values = true)]
    multigroup: bool,
    /// Where the crate kubewright comes from: a version, a folder or a git address [default: where this command comes from]
    #[arg(long, value_name = "SOURCE")]
    kubewright_source: Option<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let folder = std::env::current_dir()?;
    let disk = Disk::new(&folder);
    if let Some(text) = disk.read("PROJECT")? {
        return again(arguments, &Project::parse(&text)?, &disk);
    }
    check_folder(&folder)?;
    let mut prompt = Prompt::system();
    let name = match &arguments.project_name {
        Some(name) => name.clone(),
        None => folder_name(&folder),
    };
    names::check_project(&name).map_err(|error| match arguments.project_name {
        Some(_) => Box::<dyn Error>::from(error),
        None => format!("{error}; it is the folder's, and --project-name sets another").into(),
    })?;
    let domain = prompt.text(
        "domain",
        arguments.domain.as_deref(),
        Some("my.domain"),
        names::check_domain,
    )?;
    let mut project = Project::new(&name, &domain, env!("CARGO_PKG_VERSION"))
        .with_license(&arguments.license, &arguments.owner)?
        .with_repo(arguments.repo.as_deref().unwrap_or_default())?;
    project.multigroup = arguments.multigroup;
    project.namespaced = arguments.namespaced;

    let source = source(arguments.kubewright_source.as_deref(), &folder)?;
    let mut wanted = DesiredProject::new(&project);
    wanted.extra = vec![manifest(&project, &source)];
    let mut notes = Vec::new();
    if let Source::Path(path) = &source {
        let config = disk.read(".cargo/config.toml")?;
        if config.as_deref().is_some_and(|text| text.contains("[patch.crates-io]")) {
            let error = format!(
                ".cargo/config.toml has a [patch.crates-io] already; take it out, start the project, and put it back with \
                 kubewright = {{ path = {path:?} }}"
            );
            return Err(error.into());
        }
        wanted.extra.extend(checkout_files(&source, config.as_deref()));
        notes.push(format!(
            "kubewright comes from the checkout {path}; .cargo/config.toml says so, and is not committed"
        ));
    }
    let report = Report {
        notes,
        next: vec![(
            "kubewright create api --group GROUP --version v1 --kind KIND".to_owned(),
            "a kind and its controller".to_owned(),
        )],
        ..Report::default()
    };
    bring_about(None, wanted, &disk, &report)
}

/// The same command once more changes nothing; another one is refused.
fn again(arguments: &Arguments, there: &Project, disk: &Disk) -> Result<ExitCode, Box<dyn Error>> {
    let other = [
        ("--project-name", &arguments.project_name, &there.name),
        ("--domain", &arguments.domain, &there.domain),
        ("--repo", &arguments.repo, &there.repo),
    ];
    let other = other
        .into_iter()
        .find(|(_, asked, is)| asked.as_ref().is_some_and(|asked| asked != *is));
    if let Some((flag, _, is)) = other {
        let error = format!(
            "this folder is the project {} already, with {flag} {is:?}; see `kubewright edit`",
            there.name
        );
        return Err(error.into());
    }
    if (arguments.multigroup && !there.multigroup) || (arguments.namespaced && !there.namespaced) {
        let error = format!(
            "this folder is the project {} already; `kubewright edit` changes it",
            there.name
        );
        return Err(error.into());
    }
    let report = Report {
        unchanged: format!("this folder is the project {} already", there.name),
        ..Report::default()
    };
    bring_about(Some(there), DesiredProject::new(there), disk, &report)
}

/// The name a project takes from its folder.
fn folder_name(folder: &Path) -> String {
    folder
        .file_name()
        .map(OsStr::to_string_lossy)
        .unwrap_or_default()
        .to_lowercase()
}

/// Refuses a folder with files that are not usual in a new repository.
fn check_folder(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut foreign = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_prose = [
            "README",
            "LICENSE",
            "NOTICE",
            "CONTRIBUTING",
            "CODE_OF_CONDUCT",
            "SECURITY",
        ]
        .iter()
        .any(|prose| name.to_uppercase().starts_with(prose));
        // A header for the files, as kubebuilder has it, may be there before them.
        let is_header = name == "hack";
        if !name.starts_with('.') && !is_prose && !is_header {
            foreign.push(name);
        }
    }
    if foreign.is_empty() {
        return Ok(());
    }
    foreign.sort();
    let more = if foreign.len() > 3 { ", …" } else { "" };
    foreign.truncate(3);
    let found = foreign.join(", ");
    Err(format!("the folder is not empty ({found}{more}); start a project in one that has only hidden files, a README or a LICENSE").into())
}

/// Where the project's `kubewright` comes from.
fn source(given: Option<&str>, folder: &Path) -> Result<Source, SourceError> {
    let Some(given) = given else {
        return Ok(own_source());
    };
    if let Some(source) = Source::parse(given) {
        return Ok(source);
    }
    let path = PathBuf::from(given);
    let crates = [path.join("crates/kubewright"), path.clone()];
    let found = crates
        .into_iter()
        .map(|path| folder.join(path))
        .find(|path| is_kubewright(path));
    let path = found.and_then(|path| path.canonicalize().ok());
    let path = path.ok_or_else(|| SourceError(given.to_owned()))?;
    Ok(Source::Path(path.to_string_lossy().into_owned()))
}

/// The checkout this command was built from, while it is there; else the version that was released with it. A command that was built
/// from a package has no checkout beside it, and one that was built for a release (`KUBEWRIGHT_RELEASE` is set) takes no notice of it.
fn own_source() -> Source {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kubewright");
    match checkout.canonicalize() {
        _ if option_env!("KUBEWRIGHT_RELEASE").is_some() => Source::Version(env!("CARGO_PKG_VERSION").to_owned()),
        Ok(path) if is_kubewright(&path) => Source::Path(path.to_string_lossy().into_owned()),
        _ => Source::Version(env!("CARGO_PKG_VERSION").to_owned()),
    }
}

fn is_kubewright(folder: &Path) -> bool {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    manifest.lines().any(|line| line.trim() == "name = \"kubewright\"")
}
