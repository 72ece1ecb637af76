//! Admission plugins: which of kube-apiserver's are here, and which of them are on.

use kubewright_apimachinery::go::quote;
use kubewright_apiserver::{AdmissionPlugin, Options};

use super::super::flags::Given;
use super::FACTS;

/// Plugins that this server has as parts that cannot be off.
const ALWAYS_ON: [&str; 3] = [
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
];
/// A plugin that does nothing.
const NOTHING: &str = "AlwaysAdmit";
const TOLERATION_SECONDS: i64 = 300;

/// The plugins of kube-apiserver, and whether they are on by default.
fn all() -> impl Iterator<Item = (&'static str, bool)> {
    FACTS.lines().filter_map(|line| {
        let mut fields = line.strip_prefix("plugin\t")?.split('\t');
        Some((fields.next()?, fields.next()? == "true"))
    })
}

/// Whether flags leave a plugin on, or turn it on.
pub(super) fn is_on(given: &Given, plugin: &str) -> bool {
    let names = |flag: &str| given.items(flag).iter().any(|name| name == plugin);
    if !given.items("admission-control").is_empty() {
        return names("admission-control") || names("enable-admission-plugins");
    }
    let is_default = all().any(|(name, default)| name == plugin && default);
    (is_default || names("enable-admission-plugins")) && !names("disable-admission-plugins")
}

/// Turns plugins on and off as flags say.
pub(super) fn apply(given: &Given, mut options: Options, problems: &mut Vec<String>) -> Options {
    let exact = given.items("admission-control");
    let (enabled, disabled) = (
        given.items("enable-admission-plugins"),
        given.items("disable-admission-plugins"),
    );
    for (flag, names) in [
        ("admission-control", &exact),
        ("enable-admission-plugins", &enabled),
        ("disable-admission-plugins", &disabled),
    ] {
        for name in names.iter().filter(|name| !all().any(|(known, _)| known == *name)) {
            problems.push(format!("{flag} plugin {} is unknown", quote(name)));
        }
    }
    let both: Vec<&str> = enabled
        .iter()
        .filter(|name| disabled.contains(name))
        .map(String::as_str)
        .collect();
    if !both.is_empty() {
        let both = both.join(" ");
        problems.push(format!(
            "[{both}] in enable-admission-plugins and disable-admission-plugins overlapped"
        ));
    }
    for (name, _) in all() {
        let is_named = |names: &[String]| names.iter().any(|given| given == name);
        let is_asked_for = is_named(&enabled) || is_named(&exact);
        let is_on = is_on(given, name);
        if let Some(plugin) = AdmissionPlugin::ALL.into_iter().find(|plugin| plugin.name() == name) {
            options = options.admission(plugin, is_on);
        } else if ALWAYS_ON.contains(&name) {
            if !is_on {
                problems.push(format!(
                    "--disable-admission-plugins={name} is not possible here: it is always on"
                ));
            }
        } else if is_asked_for && name != NOTHING {
            problems.push(format!(
                "--enable-admission-plugins={name} is not possible here: this server does not have it"
            ));
        }
    }
    let seconds = |flag: &str| {
        given
            .text(flag)
            .and_then(|text| text.parse().ok())
            .unwrap_or(TOLERATION_SECONDS)
    };
    options.default_toleration_seconds(
        seconds("default-not-ready-toleration-seconds"),
        seconds("default-unreachable-toleration-seconds"),
    )
}
