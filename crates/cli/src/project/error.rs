//! Why a project cannot be worked with.

use std::io;
use std::path::PathBuf;

use kubewright_manifests::Problems;
use kubewright_manifests::bundle::BundleError;
use kubewright_scaffold::project::ProjectError;

/// Why a project cannot be worked with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("there is no PROJECT in {} or above it: go to a project, or make one with `kubewright init`", .0.display())]
    NoProject(PathBuf),
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is not YAML")]
    Yaml {
        path: &'static str,
        source: kubewright_codec::yaml::YamlError,
    },
    #[error("{} cannot be used", path.display())]
    Project { path: PathBuf, source: Box<ProjectError> },
    #[error("cannot run cargo: is Rust installed? see https://rustup.rs")]
    NoCargo(#[source] io::Error),
    #[error("{what} does not build; see what cargo says above")]
    Build {
        what: String,
        /// What the compiler says; empty if cargo did not come so far.
        errors: String,
    },
    #[error("cargo built no program of {0}")]
    NoTest(String),
    #[error(
        "the project has no program: `cargo build` made no binary; src/main.rs has to be there, with `fn main() -> ExitCode {{ \
         {crate_name}::operator().main() }}`"
    )]
    NoBinary { crate_name: String },
    #[error("the project has several programs ({}), and none is called {name}: name the operator's program so", found.join(", "))]
    SeveralBinaries { name: String, found: Vec<String> },
    #[error("cannot run {}", binary.display())]
    Run { binary: PathBuf, source: io::Error },
    #[error(
        "{} does not say what it is ({what}): its main has to be `{crate_name}::operator().main()`, so that it knows the word \
         `describe`{said}",
        binary.display()
    )]
    Silent {
        binary: PathBuf,
        what: String,
        crate_name: String,
        /// What it wrote to standard error.
        said: String,
    },
    #[error(
        "the operator describes itself in version {found}, and this kubewright reads version {known}: {}",
        if found > known { "install a newer kubewright" } else { "use a newer version of the kubewright crate in Cargo.toml" }
    )]
    Version { found: u64, known: u64 },
    #[error(
        "what the operator says of itself cannot be understood: the kubewright crate in Cargo.toml and this command have to be of one version"
    )]
    Shape(#[source] serde_json::Error),
    #[error(
        "the operator is called {found:?} in its code, and the project {name:?} in PROJECT: write `Operator::new({name:?})` in \
         src/lib.rs, since names of installed objects begin with it"
    )]
    Name { found: String, name: String },
    #[error(transparent)]
    Definitions(Problems),
    #[error(transparent)]
    Bundle(#[from] BundleError),
}
