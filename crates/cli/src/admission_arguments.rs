//! The flags by which commands that start an API server choose its admission plugins, under kube-apiserver's names.

use kubewright_apiserver::{AdmissionPlugin, Options};

use crate::envtest::kube_apiserver::admission::Choice;
use crate::envtest::kube_apiserver::admission_file;
use crate::envtest::kube_apiserver::settings::aggregate;

/// Which admission plugins are on.
#[derive(clap::Args)]
pub(crate) struct AdmissionArguments {
    /// Admission plugins to turn on besides those that are on by default, as in `AlwaysPullImages,PodNodeSelector`. As in Go's envtest,
    /// `ServiceAccount` is off by default.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    enable_admission_plugins: Vec<String>,

    /// Admission plugins to turn off that are on by default, as in `PodSecurity,ResourceQuota`.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    disable_admission_plugins: Vec<String>,

    /// File of an `AdmissionConfiguration`: what admission plugins are told that take a configuration.
    #[arg(long, value_name = "FILE")]
    admission_control_config_file: Option<String>,
}

impl AdmissionArguments {
    /// Turns plugins on and off; `with_service_accounts` says whether `ServiceAccount` is on unless a flag says otherwise. The error is
    /// kube-apiserver's.
    pub(crate) fn apply(&self, options: Options, with_service_accounts: bool) -> Result<Options, String> {
        let choice = Choice {
            exact: Vec::new(),
            enabled: self.enable_admission_plugins.clone(),
            disabled: self.disable_admission_plugins.clone(),
        };
        let is_default = |name: &str, default: bool| {
            let service_accounts = AdmissionPlugin::ServiceAccount;
            if name == service_accounts.name() {
                with_service_accounts
            } else {
                default
            }
        };
        let mut problems = Vec::new();
        let options = choice.apply(options, is_default, &mut problems);
        if !problems.is_empty() {
            return Err(aggregate(problems));
        }
        let is_on = |plugin: AdmissionPlugin| {
            let default =
                plugin.is_on_by_default() || (plugin == AdmissionPlugin::ServiceAccount && with_service_accounts);
            choice.leaves_on(plugin.name(), default)
        };
        admission_file::apply(self.admission_control_config_file.as_deref(), options, is_on)
    }
}
