//! `kubewright build-installer`: all objects of an installation in one file, for `kubectl apply -f`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kubewright_cluster::progress::Progress;
use kubewright_cluster::values;
use kubewright_manifests::yaml;

use crate::manifests;
use crate::project::{Overrides, Project};

/// The default path of the file in the project.
const DEFAULT: &str = "dist/install.yaml";

/// Write everything that is installed into one file.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  kubewright build-installer --image example.com/shop:v1
  kubewright build-installer --output - | kubectl apply --server-side -f -")]
pub(crate) struct Arguments {
    /// The image of the manager [default: that of config/manager/kustomization.yaml]
    #[arg(long, value_name = "IMAGE", visible_alias = "img", value_parser = values::image)]
    image: Option<String>,

    /// The file to write; - for standard output [default: dist/install.yaml of the project]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The namespace to install into [default: that of config/default/kustomization.yaml]
    #[arg(long, short, value_name = "NAMESPACE", value_parser = values::namespace)]
    namespace: Option<String>,

    /// How many managers run [default: as config/manager/manager.yaml says]
    #[arg(long, value_name = "COUNT")]
    replicas: Option<u32>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let progress = Progress::new();
    let project = Project::load()?;
    let binary = project.build(&progress)?;
    let description = project.describe(&binary)?;
    let overrides = Overrides {
        image: arguments.image.clone(),
        namespace: arguments.namespace.clone(),
        replicas: arguments.replicas,
        ..Overrides::default()
    };
    let bundle = project.bundle(&description, &overrides)?;
    for complaint in manifests::verify(&project, &description, &bundle)? {
        progress.warn(complaint);
    }
    let objects: Vec<_> = bundle.all().cloned().collect();
    if arguments.output.as_deref() == Some(Path::new("-")) {
        manifests::print(&objects, manifests::Format::Yaml)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (path, shown) = match &arguments.output {
        Some(path) => (path.clone(), path.as_path()),
        None => (project.root().join(DEFAULT), Path::new(DEFAULT)),
    };
    let written = path.parent().map_or(Ok(()), fs::create_dir_all);
    let written = written.and_then(|()| fs::write(&path, yaml::documents(&objects)));
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    progress.line(format!("wrote {} ({} objects)", shown.display(), objects.len()));
    let apply = format!("kubectl apply --server-side -f {}", shown.display());
    crate::next::suggest(&[(&apply, "installs it in any cluster")]);
    Ok(ExitCode::SUCCESS)
}
