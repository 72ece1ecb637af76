//! The flags themselves.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};

use super::environment::Environment;
use crate::lease::ElectionOptions;
use crate::serve::{BindAddress, CertificateError, Certificates};

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One JSON object per line, for machines.
    Json,
    /// For people.
    #[default]
    Text,
}

/// kubebuilder's flags, with its defaults.
///
/// Go writes switches as `--leader-elect` or `--leader-elect=false`, and accepts one dash as well as two; so does this.
///
/// ```
/// use kubewright_runtime::flags::Flags;
///
/// let flags = Flags::try_parse_from(["manager", "--leader-elect", "-metrics-bind-address=:8443"]).unwrap();
/// assert!(flags.leader_elect && flags.metrics_secure);
/// assert_eq!(flags.metrics_bind_address.to_string(), ":8443");
/// assert_eq!(flags.health_probe_bind_address.to_string(), ":8081");
/// assert!(Flags::try_parse_from(["manager", "--leader-elekt"]).is_err());
/// ```
///
/// To have flags of your own beside them, flatten them:
///
/// ```
/// use clap::Parser;
///
/// #[derive(Parser)]
/// struct Mine {
///     #[command(flatten)]
///     manager: kubewright_runtime::flags::Flags,
///     /// The image that shows the pages.
///     #[arg(long, default_value = "viewer:latest")]
///     viewer_image: String,
/// }
/// let mine = Mine::parse_from(["manager", "--viewer-image=viewer:2", "--log-format=json"]);
/// assert_eq!(mine.viewer_image, "viewer:2");
/// ```
#[derive(Args, Clone, Debug, PartialEq, Eq)]
// Each is a switch of its own on the command line.
#[allow(clippy::struct_excessive_bools)]
pub struct Flags {
    /// Path to a kubeconfig. Only required if out-of-cluster.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// The address the metrics endpoint binds to. Use :8443 for HTTPS or :8080 for HTTP, or leave as 0 to disable the metrics
    /// service.
    #[arg(long, value_name = "ADDRESS", default_value = "0")]
    pub metrics_bind_address: BindAddress,

    /// If set, the metrics endpoint is served securely via HTTPS. Use --metrics-secure=false to use HTTP instead.
    #[arg(long, value_name = "BOOL", default_value = "true", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = go_bool, action = clap::ArgAction::Set)]
    pub metrics_secure: bool,

    /// The directory that contains the metrics server certificate.
    #[arg(long, value_name = "FOLDER")]
    pub metrics_cert_path: Option<PathBuf>,

    /// The name of the metrics server certificate file.
    #[arg(long, value_name = "FILE", default_value = "tls.crt")]
    pub metrics_cert_name: String,

    /// The name of the metrics server key file.
    #[arg(long, value_name = "FILE", default_value = "tls.key")]
    pub metrics_cert_key: String,

    /// The address the probe endpoint binds to.
    #[arg(long, value_name = "ADDRESS", default_value = ":8081")]
    pub health_probe_bind_address: BindAddress,

    /// The address the debug page binds to. Elsewhere than on loopback it is served as metrics are: via HTTPS, with their certificate, to those
    /// who may get its paths. 0 to disable it.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8082")]
    pub debug_bind_address: BindAddress,

    /// How many bytes of what happens the debug page keeps, at /debug/kubewright/trace: events, reconciles with what they read, wrote and
    /// logged. 0 to keep nothing; without a value 8 MiB.
    #[arg(long, value_name = "BYTES", default_value_t = 0, num_args = 0..=1, require_equals = true, default_missing_value = "8388608")]
    pub debug_trace_bytes: usize,

    /// Enable leader election for controller manager. Enabling this will ensure there is only one active controller manager.
    #[arg(long, value_name = "BOOL", default_value = "false", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = go_bool, action = clap::ArgAction::Set)]
    pub leader_elect: bool,

    /// The name of the lease. Defaults to the operator's own.
    #[arg(long, value_name = "NAME")]
    pub leader_election_id: Option<String>,

    /// The namespace of the lease. Defaults to the one this Pod is in.
    #[arg(long, value_name = "NAMESPACE")]
    pub leader_election_namespace: Option<String>,

    /// The directory that contains the webhook certificate.
    #[arg(long, value_name = "FOLDER")]
    pub webhook_cert_path: Option<PathBuf>,

    /// The name of the webhook certificate file.
    #[arg(long, value_name = "FILE", default_value = "tls.crt")]
    pub webhook_cert_name: String,

    /// The name of the webhook key file.
    #[arg(long, value_name = "FILE", default_value = "tls.key")]
    pub webhook_cert_key: String,

    /// Port the webhook server listens on. 0 to serve no webhooks.
    #[arg(long, value_name = "PORT", default_value_t = 9443)]
    pub webhook_port: u16,

    /// Name or address at which the API server reaches this machine, when the manager runs outside the cluster.
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    pub webhook_host: String,

    /// Name of the Service of the webhooks, when the manager makes its own certificates. Defaults to the operator's name and
    /// -webhook-service.
    #[arg(long, value_name = "NAME")]
    pub webhook_service_name: Option<String>,

    /// Port the aggregated API is served on, if the program serves one. 0 to serve none.
    #[arg(long, value_name = "PORT", default_value_t = 7443)]
    pub extension_port: u16,

    /// The directory that contains the certificate of the aggregated API: tls.crt and tls.key.
    #[arg(long, value_name = "FOLDER")]
    pub extension_cert_path: Option<PathBuf>,

    /// If set, HTTP/2 will be enabled for the metrics and webhook servers.
    #[arg(long, value_name = "BOOL", default_value = "false", num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_parser = go_bool, action = clap::ArgAction::Set)]
    pub enable_http2: bool,

    /// How log lines look.
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub log_format: LogFormat,

    /// What is logged: error, warn, info, debug or trace, also by module as in `info,kube=debug`.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: String,
}

/// A command line that has these flags and nothing else.
#[derive(Parser)]
struct FlagsOnly {
    #[command(flatten)]
    flags: Flags,
}

impl Default for Flags {
    fn default() -> Self {
        // No argument is required and the defaults are ours, so there is nothing to fail.
        Self::try_parse_from(["manager"]).unwrap_or_else(|error| error.exit())
    }
}

impl Flags {
    /// Parses the command line of this process. Prints help or what is wrong, and exits, where there is nothing else to do.
    pub fn parse() -> Self {
        Self::try_parse_from(std::env::args_os()).unwrap_or_else(|error| error.exit())
    }

    /// Parses a command line; the first word is the program's name.
    pub fn try_parse_from(words: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Self, clap::Error> {
        parse_words(words).map(|alone: FlagsOnly| alone.flags)
    }

    /// How leaders are elected, if they are. `id` is the lease's name unless a flag says another.
    pub(crate) fn election(&self, id: &str, environment: &Environment) -> Option<ElectionOptions> {
        // An empty namespace is refused, with advice, when the election begins.
        let namespace = self
            .leader_election_namespace
            .clone()
            .or_else(|| environment.namespace())
            .unwrap_or_default();
        let name = self.leader_election_id.as_deref().unwrap_or(id);
        self.leader_elect.then(|| ElectionOptions::new(namespace, name))
    }

    /// The certificate of the metrics endpoint, if it is served securely: from its folder, or made for the occasion.
    pub(crate) fn metrics_certificates(&self) -> Result<Option<Certificates>, CertificateError> {
        if !self.metrics_secure {
            return Ok(None);
        }
        let made = || Certificates::self_signed(&["localhost", "127.0.0.1"]);
        let folder = self.metrics_cert_path.as_deref();
        let read = |folder| Certificates::from_folder(folder, &self.metrics_cert_name, &self.metrics_cert_key);
        folder.map_or_else(made, read).map(Some)
    }
}

/// Parses a command line that contains the flags, as Go would write them; the first word is the program's name.
pub(crate) fn parse_words<P: Parser>(words: impl IntoIterator<Item = impl Into<OsString>>) -> Result<P, clap::Error> {
    let command = P::command();
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    let name = words.first().map(|word| PathBuf::from(word.clone()));
    let name = name
        .as_deref()
        .and_then(|path| path.file_name())
        .and_then(|name| name.to_str());
    let command = command.bin_name(name.unwrap_or("manager"));
    let known: Vec<String> = command
        .get_arguments()
        .filter_map(|flag| flag.get_long())
        .map(str::to_owned)
        .chain(["help".to_owned()])
        .collect();
    let words = words.into_iter().map(|word| two_dashes(word, &known));
    let matches = command.try_get_matches_from(words)?;
    P::from_arg_matches(&matches)
}

/// `-flag` means `--flag`, if there is such a flag.
fn two_dashes(word: OsString, known: &[String]) -> OsString {
    let Some(text) = word.to_str() else {
        return word;
    };
    let Some(flag) = text.strip_prefix('-').filter(|flag| !flag.starts_with('-')) else {
        return word;
    };
    let name = flag.split_once('=').map_or(flag, |(name, _)| name);
    if known.iter().any(|known| known == name) {
        format!("--{flag}").into()
    } else {
        word
    }
}

/// What Go takes for a truth value.
fn go_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("write true or false".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Flags, clap::Error> {
        Flags::try_parse_from(std::iter::once("manager").chain(words.iter().copied()))
    }

    #[test]
    fn the_defaults_are_those_of_kubebuilders_scaffold() {
        let flags = Flags::default();
        assert_eq!(flags.metrics_bind_address, BindAddress::Off);
        assert!(flags.metrics_secure && !flags.leader_elect && !flags.enable_http2);
        assert_eq!(
            (flags.webhook_port, flags.webhook_cert_name.as_str()),
            (9443, "tls.crt")
        );
        assert_eq!((flags.log_format, flags.log_level.as_str()), (LogFormat::Text, "info"));
    }

    #[test]
    fn switches_are_written_as_go_writes_them() {
        for (words, on) in [
            (&["--leader-elect"][..], true),
            (&["-leader-elect"], true),
            (&["--leader-elect=true"], true),
            (&["--leader-elect=1"], true),
            (&["--leader-elect=false"], false),
            (&["--leader-elect=F"], false),
            (&["--leader-elect", "--leader-elect=false"][1..], false),
        ] {
            assert_eq!(parse(words).unwrap().leader_elect, on, "{words:?}");
        }
        assert!(!parse(&["--metrics-secure=false"]).unwrap().metrics_secure);
        // A switch takes no word that follows, as in Go.
        assert!(parse(&["--leader-elect", "false"]).is_err());
        assert!(parse(&["--leader-elect=maybe"]).is_err());
    }

    #[test]
    fn values_may_follow_or_be_joined() {
        for words in [
            &["--kubeconfig", "/a"][..],
            &["--kubeconfig=/a"],
            &["-kubeconfig", "/a"],
        ] {
            assert_eq!(parse(words).unwrap().kubeconfig, Some(PathBuf::from("/a")), "{words:?}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_an_error_that_says_so() {
        let error = parse(&["--metrics-bind-address=8080"]).unwrap_err().to_string();
        assert!(
            error.contains(":8080") && error.contains("metrics-bind-address"),
            "{error}"
        );
        let error = parse(&["--leader-elekt"]).unwrap_err().to_string();
        assert!(error.contains("--leader-elect"), "{error}");
        assert!(parse(&["--log-format=xml"]).is_err());
    }

    #[test]
    fn the_trace_is_off_unless_it_is_asked_for_and_then_keeps_eight_mebibytes() {
        let bytes = |words: &[&str]| parse(words).unwrap().debug_trace_bytes;
        assert_eq!(bytes(&[]), 0);
        assert_eq!(bytes(&["--debug-trace-bytes"]), 8 << 20);
        assert_eq!(bytes(&["--debug-trace-bytes=4096"]), 4096);
        assert!(Flags::default().debug_bind_address.is_loopback());
    }

    #[test]
    fn an_election_without_a_namespace_is_refused_with_advice() {
        let flags = parse(&["--leader-elect"]).unwrap();
        let options = flags
            .election("id", &Environment::of([]).with_service_account("/no/such/folder"))
            .unwrap();
        assert!(
            options
                .check()
                .unwrap_err()
                .to_string()
                .contains("leader election namespace")
        );
    }

    #[test]
    fn metrics_without_tls_need_no_certificate() {
        assert!(
            parse(&["--metrics-secure=false"])
                .unwrap()
                .metrics_certificates()
                .unwrap()
                .is_none()
        );
        assert!(
            !Flags::default()
                .metrics_certificates()
                .unwrap()
                .unwrap()
                .is_from_files()
        );
    }
}
