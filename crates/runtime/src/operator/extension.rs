//! The aggregated API of an operator: its server, its `APIServices` and its certificate.

use std::sync::Arc;

use super::{MainError, Operator};
use crate::certificates::{CertificateFiles, ManagedOptions, ServingCertificates, Source, Target};
use crate::extension::{ApiExtension, ServedExtension};
use crate::flags::{Environment, Flags};
use crate::manager::{Manager, ManagerError};
use crate::serve::{BindAddress, Certificates};

impl Operator {
    /// Serves kinds itself, as an aggregated API, on every replica: `kubewright::extension::ExtensionServer` is such a server.
    /// Several calls add up.
    pub fn extension(mut self, extension: impl ApiExtension) -> Self {
        let joined = self.extension.as_ref().and_then(|before| before.join(&extension));
        self.extension = Some(joined.unwrap_or_else(|| Arc::new(extension)));
        self
    }

    /// The server of its aggregated API, if it has one.
    pub fn api_extension(&self) -> Option<&Arc<dyn ApiExtension>> {
        self.extension.as_ref()
    }

    /// The Service through which the API server reaches the aggregated API.
    pub(super) fn extension_service(&self) -> String {
        format!("{}-extension-service", self.name)
    }

    /// The `APIServices` of the aggregated API, which get the caBundle.
    pub(super) fn extension_targets(&self) -> Vec<Target> {
        let definitions = self.extension.iter().flat_map(|extension| extension.definitions());
        let mut targets: Vec<Target> = definitions
            .map(|kind| Target::api_service(&kind.group, &kind.version))
            .collect();
        targets.sort();
        targets.dedup();
        targets
    }

    /// Serves the aggregated API as flags and environment say.
    pub(super) fn serve_extension(
        &self,
        manager: Manager,
        flags: &Flags,
        environment: &Environment,
    ) -> Result<Manager, MainError> {
        let Some(extension) = self.extension.clone().filter(|_| flags.extension_port != 0) else {
            return Ok(manager);
        };
        let certificates = self
            .extension_certificates(flags, environment)
            .map_err(ManagerError::Certificates)?;
        let served = ServedExtension {
            extension,
            address: BindAddress::At {
                host: None,
                port: flags.extension_port,
            },
            certificates: certificates.clone(),
        };
        let manager = manager.runnable_everywhere("extension", served);
        manager
            .ready()
            .add("extension", move || std::future::ready(certificates.check()));
        Ok(manager)
    }

    /// The certificate: from files, if a flag names them; else from a Secret of ours in the cluster; else one that nobody can
    /// verify, for a run on this machine.
    fn extension_certificates(
        &self,
        flags: &Flags,
        environment: &Environment,
    ) -> Result<ServingCertificates, crate::serve::CertificateError> {
        if let Some(folder) = &flags.extension_cert_path {
            return Source::Files(CertificateFiles::in_folder(folder, "tls.crt", "tls.key")).open();
        }
        match environment.namespace() {
            Some(namespace) if environment.is_in_cluster() => {
                let mut options = ManagedOptions::new(namespace, self.extension_service());
                options.targets = self.extension_targets();
                Source::Managed(options).open()
            }
            _ => Ok(ServingCertificates::fixed(Certificates::self_signed(&[
                "localhost",
                "127.0.0.1",
            ])?)),
        }
    }
}
