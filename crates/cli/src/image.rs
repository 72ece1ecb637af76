//! `kubewright image`: binaries that an embedded cluster runs as the images of containers.

use std::error::Error;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use kubewright_cluster::values;
use kubewright_controllers::process::{self, Image, ImageFolder};

use crate::output;

/// How this command guards processes; see [`process::guard`].
pub(crate) const GUARD: [&str; 2] = ["image", "guard"];

const EXAMPLES: &str = "\
Examples:
  # The cluster, in another terminal
  kubewright apiserver --controllers=all --run-images --kubeconfig-out kubeconfig

  # Build, load and deploy; after a change, the same again
  export KUBECONFIG=$PWD/kubeconfig
  cargo build
  kubewright image load controller:latest --binary target/debug/shop
  kubewright deploy --image controller:latest";

/// Load binaries into an embedded cluster, as images that Pods can run.
///
/// For a cluster that was started with `kubewright apiserver --run-images`: containers with such an image are processes of this
/// machine. The cluster is the one of the kubeconfig; its images are in a folder beside that file.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Load(Load),
    List(List),
    Remove(Remove),
    /// End processes if the server that started them is gone. It calls this itself.
    #[command(hide = true)]
    Guard {
        folder: PathBuf,
    },
}

/// Load a binary under the name of an image.
///
/// The binary is copied: after a new build, load it again. Containers that run go on with the old one until they are
/// restarted, as by `kubewright deploy` or `kubectl rollout restart`.
#[derive(clap::Args)]
struct Load {
    /// The name Pods have in `image`, such as controller:latest.
    #[arg(value_parser = values::image)]
    name: String,

    /// The binary, such as target/debug/shop. It must be able to run by itself on this machine.
    #[arg(long, value_name = "PATH")]
    binary: PathBuf,

    /// The path by which the `command` of a Pod names the binary. Default: / and the name of the file.
    #[arg(long, value_name = "PATH", value_parser = entrypoint)]
    entrypoint: Option<String>,

    /// Another program in the image, such as /bin/sh, for commands in its containers (`kubectl exec`); can be repeated.
    ///
    /// With PATH=BINARY, containers have a binary of this machine under another path. Whoever may run commands in a container then runs
    /// this program as you: with a shell, everything.
    #[arg(long = "program", value_name = "PATH[=BINARY]", value_parser = program)]
    programs: Vec<(String, PathBuf)>,

    #[command(flatten)]
    place: ImageLocation,
}

/// List the images that are loaded.
#[derive(clap::Args)]
struct List {
    #[command(flatten)]
    place: ImageLocation,
}

/// Remove images. Running containers are not affected.
#[derive(clap::Args)]
struct Remove {
    /// The names of the images.
    #[arg(required = true, value_name = "NAME", value_parser = values::image)]
    names: Vec<String>,

    #[command(flatten)]
    place: ImageLocation,
}

/// Where the images are.
#[derive(clap::Args)]
struct ImageLocation {
    /// The kubeconfig of the cluster. Default: $KUBECONFIG, then ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// The folder of images, in place of the one beside the kubeconfig.
    #[arg(long, value_name = "FOLDER", conflicts_with = "kubeconfig")]
    images: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(
        "no cluster is configured that runs images: start one with `kubewright apiserver --controllers=all --run-images \
         --kubeconfig-out kubeconfig`, then `export KUBECONFIG=$PWD/kubeconfig`"
    )]
    NoCluster,
    #[error(
        "the cluster of {} runs no images: start one with `kubewright apiserver --controllers=all --run-images \
         --kubeconfig-out FILE` and say --kubeconfig FILE", .0.display()
    )]
    RunsNoImages(PathBuf),
    #[error("no image {0} is loaded; `kubewright image list` shows those that are")]
    NotLoaded(String),
}

/// Where the images of a cluster are: beside its kubeconfig.
pub(crate) fn folder_beside(kubeconfig: &Path) -> PathBuf {
    let mut name = kubeconfig.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".images");
    kubeconfig.with_file_name(name)
}

/// A path in an image.
fn entrypoint(text: &str) -> Result<String, String> {
    if text.starts_with('/') && !text.ends_with('/') {
        Ok(text.to_owned())
    } else {
        Err("write an absolute path such as /manager".to_owned())
    }
}

/// A path in an image, and the binary behind it.
fn program(text: &str) -> Result<(String, PathBuf), String> {
    let (path, binary) = text.split_once('=').unwrap_or((text, text));
    Ok((entrypoint(path)?, binary.into()))
}

impl ImageLocation {
    fn open(&self) -> Result<ImageFolder, Box<dyn Error>> {
        if let Some(folder) = &self.images {
            return Ok(ImageFolder::open(folder)?);
        }
        let kubeconfigs = self.kubeconfigs();
        let Some(first) = kubeconfigs.first() else {
            return Err(Failure::NoCluster.into());
        };
        let found = kubeconfigs
            .iter()
            .map(|path| folder_beside(path))
            .find(|folder| folder.is_dir());
        match found {
            Some(folder) => Ok(ImageFolder::open(folder)?),
            None => Err(Failure::RunsNoImages(first.clone()).into()),
        }
    }

    fn kubeconfigs(&self) -> Vec<PathBuf> {
        if let Some(path) = &self.kubeconfig {
            return vec![path.clone()];
        }
        let variable = std::env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
        if let Some(value) = variable {
            let paths = std::env::split_paths(&value);
            return paths.filter(|path| !path.as_os_str().is_empty()).collect();
        }
        let home = std::env::home_dir().map(|home| home.join(".kube").join("config"));
        home.into_iter().filter(|path| path.exists()).collect()
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    match &arguments.command {
        Command::Load(load) => {
            let images = load.place.open()?;
            let image = images.load_with(&load.name, &load.binary, load.entrypoint.as_deref(), &load.programs)?;
            output::write(&format!(
                "image {} loaded from {}\n",
                image.name,
                image.source.display()
            ))?;
            let deploy = format!("kubewright deploy --image {}", image.name);
            crate::next::suggest(&[(
                &deploy,
                "runs it in the cluster; after a new build, load and deploy again",
            )]);
        }
        Command::List(list) => output::write(&table(&list.place.open()?.list()?))?,
        Command::Remove(remove) => {
            let images = remove.place.open()?;
            for name in &remove.names {
                if !images.remove(name)? {
                    return Err(Failure::NotLoaded(name.clone()).into());
                }
                output::write(&format!("image {name} removed\n"))?;
            }
        }
        Command::Guard { folder } => process::guard(io::stdin(), folder),
    }
    Ok(ExitCode::SUCCESS)
}

fn table(images: &[Image]) -> String {
    if images.is_empty() {
        return "No images are loaded: kubewright image load NAME --binary PATH\n".to_owned();
    }
    let row = |image: &Image| {
        let id = image.id.trim_start_matches("sha256:").chars().take(12).collect();
        let loaded = image.loaded.strftime("%Y-%m-%d %H:%M:%SZ").to_string();
        [image.name.clone(), id, loaded, image.source.display().to_string()]
    };
    let heading = ["NAME", "ID", "LOADED", "BINARY"].map(str::to_owned);
    let rows: Vec<[String; 4]> = std::iter::once(heading).chain(images.iter().map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let widths = [width(0), width(1), width(2)];
    let lines = rows.iter().map(|[name, id, loaded, source]| {
        format!(
            "{name:0$}   {id:1$}   {loaded:2$}   {source}\n",
            widths[0], widths[1], widths[2]
        )
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_beside_the_kubeconfig() {
        assert_eq!(
            folder_beside(Path::new("/a/kubeconfig")),
            Path::new("/a/kubeconfig.images")
        );
        assert_eq!(folder_beside(Path::new("kube.yaml")), Path::new("kube.yaml.images"));
    }

    #[test]
    fn an_entrypoint_is_a_path() {
        assert!(entrypoint("/manager").is_ok());
        assert!(entrypoint("manager").is_err() && entrypoint("/").is_err());
        let renamed = program("/bin/sh=/usr/bin/busybox").unwrap();
        assert_eq!(renamed, ("/bin/sh".to_owned(), "/usr/bin/busybox".into()));
        assert_eq!(program("/bin/sh").unwrap(), ("/bin/sh".to_owned(), "/bin/sh".into()));
        assert!(program("sh=/bin/sh").is_err());
    }
}
