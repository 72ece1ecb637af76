//! Why a container's process is not started, under the reasons by which kubectl shows it.

use std::path::Path;

use kubewright_apimachinery::go::quote;

/// Why a container's process is not started.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    /// Something that the Pod refers to is missing, or says what processes cannot do.
    #[error("{0}")]
    Config(String),
    /// A volume cannot be made.
    #[error("MountVolume.SetUp failed for volume {} : {why}", quote(.volume))]
    Mount { volume: String, why: String },
    /// A file of ours cannot be written, or a port is taken.
    #[error("{0}")]
    Create(String),
    /// The binary cannot be run.
    #[error("{0}")]
    Run(String),
    /// Nothing is loaded under the name of the image.
    #[error("image {image:?} is not loaded: run `kubewright image load {image} --binary PATH`")]
    NotLoaded { image: String },
    /// No image can have such a name.
    #[error(
        "Failed to apply default image tag {0}: couldn't parse image name {0}: invalid reference format",
        quote(.image)
    )]
    Name { image: String },
    /// What is loaded cannot be read.
    #[error("image {image:?} cannot be used: {why}")]
    Image { image: String, why: String },
    /// The process of another Pod has to end first.
    #[error("{0}")]
    Later(String),
}

impl StartError {
    /// The reason by which a container waits.
    pub(super) fn reason(&self, attempt: u32) -> &'static str {
        match self {
            StartError::Config(_) => "CreateContainerConfigError",
            StartError::Create(_) => "CreateContainerError",
            StartError::Run(_) => "RunContainerError",
            StartError::Name { .. } => "InvalidImageName",
            StartError::Mount { .. } | StartError::Later(_) => "ContainerCreating",
            StartError::NotLoaded { .. } | StartError::Image { .. } if attempt == 0 => "ErrImagePull",
            StartError::NotLoaded { .. } | StartError::Image { .. } => "ImagePullBackOff",
        }
    }

    /// The message.
    pub(super) fn message(&self, attempt: u32) -> String {
        match self {
            StartError::NotLoaded { image } | StartError::Image { image, .. } if attempt > 0 => {
                format!("Back-off pulling image {}: ErrImagePull: {self}", quote(image))
            }
            error => error.to_string(),
        }
    }

    /// A file that cannot be used.
    pub(super) fn file(path: &Path) -> impl Fn(std::io::Error) -> StartError {
        move |error| StartError::Create(format!("cannot write {}: {error}", path.display()))
    }
}
