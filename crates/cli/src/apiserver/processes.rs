//! `--run-images`: when containers may be processes of this machine, and what they are given.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use kubewright_apiserver::{ApiServer, Listener};
use kubewright_controllers::process::{ImageError, ImageFolder, ProcessHost, Processes, UnloadedImages};
use kubewright_controllers::{ControllerName, Controllers};

use super::containers::ProcessBackend;
use crate::image;

/// Which containers are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum RunImages {
    /// Those whose image is loaded; others are simulated, and their log says so.
    Loaded,
    /// Those whose image is loaded; others wait for theirs, as on a node that cannot pull it.
    Only,
}

/// What else was asked for.
pub(super) struct ServerFlags {
    pub(super) address: IpAddr,
    pub(super) is_anonymous: bool,
    pub(super) allows_everything: bool,
}

/// Why nothing is run.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunImagesError {
    #[error(
        "--run-images needs the controller {0}, without which Pods do not start or have no account: add --controllers=all"
    )]
    NoController(ControllerName),
    #[error(
        "--run-images lets those who may create Pods run programs as you, so it cannot go with --anonymous-auth=true: leave \
         one of them out"
    )]
    Anonymous,
    #[error(
        "--run-images lets those who may create Pods run programs as you, so it cannot go with \
         --authorization-mode=AlwaysAllow: leave one of them out"
    )]
    AlwaysAllow,
    #[error(
        "--run-images lets those who may create Pods run programs as you, so it is for this machine only: {0} is not a \
         loopback address, use --bind-address 127.0.0.1"
    )]
    Address(IpAddr),
    #[error("cannot make a temporary folder for Pods")]
    Folder(#[source] io::Error),
    #[error("cannot use the folder of images")]
    Images(#[source] ImageError),
    #[error("cannot find this program, which ends processes if the server cannot")]
    Program(#[source] io::Error),
}

/// Refuses to run anything where others than this machine's user could have it run.
pub(super) fn check(around: &ServerFlags, controllers: &Controllers) -> Result<(), RunImagesError> {
    if around.is_anonymous {
        return Err(RunImagesError::Anonymous);
    }
    if around.allows_everything {
        return Err(RunImagesError::AlwaysAllow);
    }
    if !around.address.is_loopback() {
        return Err(RunImagesError::Address(around.address));
    }
    let needed = [
        ControllerName::Kubelet,
        ControllerName::Scheduler,
        ControllerName::ServiceAccount,
        ControllerName::RootCa,
    ];
    match needed.into_iter().find(|name| !controllers.contains(*name)) {
        Some(missing) => Err(RunImagesError::NoController(missing)),
        None => Ok(()),
    }
}

/// Processes of the images beside a kubeconfig, with their Pods' files in `folder`.
pub(super) fn processes(
    which: RunImages,
    server: &ApiServer,
    listener: &Listener,
    kubeconfig: &Path,
    folder: &Path,
) -> Result<Processes, RunImagesError> {
    let images = ImageFolder::open(image::folder_beside(kubeconfig)).map_err(RunImagesError::Images)?;
    let program = std::env::current_exe().map_err(RunImagesError::Program)?;
    let unloaded_images = match which {
        RunImages::Loaded => UnloadedImages::Simulated,
        RunImages::Only => UnloadedImages::Refused,
    };
    let host = Host(server.clone());
    let processes = Processes::new(images, folder, listener.local_addr(), host)
        .unloaded_images(unloaded_images)
        .guarded_by(program, image::GUARD);
    server.set_container_backend(Arc::new(ProcessBackend(processes.containers())));
    Ok(processes)
}

/// The server that processes run beside.
struct Host(ApiServer);

impl ProcessHost for Host {
    fn begin_log(&self, namespace: &str, pod: &str, container: &str) -> [Box<dyn io::Write + Send>; 2] {
        let log = self.0.pod_log(namespace, pod, container);
        [Box::new(log.clone()), Box::new(log)]
    }

    fn redirect_pod_ip(&self, pod_ip: IpAddr, to: Option<IpAddr>) {
        self.0.redirect_pod_ip(pod_ip, to);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn around() -> ServerFlags {
        ServerFlags {
            address: Ipv4Addr::LOCALHOST.into(),
            is_anonymous: false,
            allows_everything: false,
        }
    }

    #[test]
    fn programs_are_run_only_for_users_of_this_machine_who_may() {
        let all = Controllers::all();
        assert!(check(&around(), &all).is_ok());
        let refused = [
            ServerFlags {
                is_anonymous: true,
                ..around()
            },
            ServerFlags {
                allows_everything: true,
                ..around()
            },
            ServerFlags {
                address: Ipv4Addr::UNSPECIFIED.into(),
                ..around()
            },
        ];
        for around in refused {
            assert!(check(&around, &all).is_err());
        }
        let error = check(&around(), &all.without(ControllerName::Kubelet))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("kubelet") && error.contains("--controllers=all"),
            "{error}"
        );
    }
}
