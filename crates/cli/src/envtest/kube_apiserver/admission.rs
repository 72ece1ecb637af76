//! Admission plugins: which of kube-apiserver's are here, and which of them are on.

use kubewright_apimachinery::go::quote;
use kubewright_apiserver::{AdmissionPlugin, Options};

use super::super::flags::Given;
use super::FACTS;

/// Plugins that do nothing, in kube-apiserver as here: one that admits everything, and those whose features are off.
const INERT: [&str; 5] = [
    "AlwaysAdmit",
    "ClusterTrustBundleAttest",
    "JobValidation",
    "PodGroupProtection",
    "PodGroupWorkloadExists",
];
const TOLERATION_SECONDS: i64 = 300;

/// The plugins of kube-apiserver, and whether they are on by default.
fn all() -> impl Iterator<Item = (&'static str, bool)> {
    FACTS.lines().filter_map(|line| {
        let mut fields = line.strip_prefix("plugin\t")?.split('\t');
        Some((fields.next()?, fields.next()? == "true"))
    })
}

/// What flags say about plugins.
#[derive(Default)]
pub(crate) struct Choice {
    /// These and no others, of `--admission-control`.
    pub(crate) exact: Vec<String>,
    /// Of `--enable-admission-plugins`.
    pub(crate) enabled: Vec<String>,
    /// Of `--disable-admission-plugins`.
    pub(crate) disabled: Vec<String>,
}

impl Choice {
    /// Turns plugins on and off. `is_default` says whether one is on that no flag names, given its name and whether it is on by
    /// default in kube-apiserver.
    pub(crate) fn apply(
        &self,
        mut options: Options,
        is_default: impl Fn(&str, bool) -> bool,
        problems: &mut Vec<String>,
    ) -> Options {
        problems.extend(self.mistakes());
        let is_named = |names: &[String], name: &str| names.iter().any(|given| given == name);
        for (name, default) in all() {
            let is_asked_for = is_named(&self.enabled, name) || is_named(&self.exact, name);
            let is_on = self.leaves_on(name, is_default(name, default));
            if let Some(plugin) = AdmissionPlugin::ALL.into_iter().find(|plugin| plugin.name() == name) {
                options = options.admission(plugin, is_on);
            } else if is_asked_for && !INERT.contains(&name) {
                problems.push(format!(
                    "--enable-admission-plugins={name} is not possible here: this server does not have it"
                ));
            }
        }
        options
    }

    /// Whether a plugin is on, given whether one is that no flag names.
    pub(crate) fn leaves_on(&self, name: &str, is_default: bool) -> bool {
        let is_named = |names: &[String]| names.iter().any(|given| given == name);
        let is_asked_for = is_named(&self.enabled) || is_named(&self.exact);
        if self.exact.is_empty() {
            (is_default || is_asked_for) && !is_named(&self.disabled)
        } else {
            is_asked_for
        }
    }

    /// What kube-apiserver refuses, in its words.
    fn mistakes(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        for (flag, names) in [
            ("admission-control", &self.exact),
            ("enable-admission-plugins", &self.enabled),
            ("disable-admission-plugins", &self.disabled),
        ] {
            for name in names.iter().filter(|name| !all().any(|(known, _)| known == *name)) {
                mistakes.push(format!("{flag} plugin {} is unknown", quote(name)));
            }
        }
        let both: Vec<&str> = self
            .enabled
            .iter()
            .filter(|name| self.disabled.contains(name))
            .map(String::as_str)
            .collect();
        if !both.is_empty() {
            let both = both.join(" ");
            mistakes.push(format!(
                "[{both}] in enable-admission-plugins and disable-admission-plugins overlapped"
            ));
        }
        mistakes
    }
}

impl From<&Given> for Choice {
    fn from(given: &Given) -> Self {
        Choice {
            exact: given.items("admission-control"),
            enabled: given.items("enable-admission-plugins"),
            disabled: given.items("disable-admission-plugins"),
        }
    }
}

/// Whether flags leave a plugin on, or turn it on.
pub(super) fn is_on(given: &Given, plugin: &str) -> bool {
    let is_default = all().any(|(name, default)| name == plugin && default);
    Choice::from(given).leaves_on(plugin, is_default)
}

/// Turns plugins on and off as flags say.
pub(super) fn apply(given: &Given, options: Options, problems: &mut Vec<String>) -> Options {
    let choice = Choice::from(given);
    let seconds = |flag: &str| {
        given
            .text(flag)
            .and_then(|text| text.parse().ok())
            .unwrap_or(TOLERATION_SECONDS)
    };
    choice
        .apply(options, |_, default| default, problems)
        .default_toleration_seconds(
            seconds("default-not-ready-toleration-seconds"),
            seconds("default-unreachable-toleration-seconds"),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(choice: &Choice) -> Vec<String> {
        let mut problems = Vec::new();
        let _ = choice.apply(Options::new(), |_, default| default, &mut problems);
        problems
    }

    #[test]
    fn every_plugin_of_kube_apiserver_but_the_one_that_refuses_everything_may_be_turned_on_and_off() {
        for (name, _) in all() {
            let names = vec![name.to_owned()];
            let enabled = Choice {
                enabled: names.clone(),
                ..Choice::default()
            };
            let disabled = Choice {
                disabled: names,
                ..Choice::default()
            };
            assert_eq!(problems(&enabled).is_empty(), name != "AlwaysDeny", "{name}");
            assert_eq!(problems(&disabled), [""; 0], "{name}");
        }
    }

    /// Commands that start a server rely on it: without flags, it is as its library makes it.
    #[test]
    fn what_is_on_by_default_is_on_by_default_in_the_library_but_for_service_accounts() {
        for plugin in AdmissionPlugin::ALL {
            let (_, default) = all().find(|(name, _)| *name == plugin.name()).unwrap();
            let is_other = plugin == AdmissionPlugin::ServiceAccount;
            assert_eq!(plugin.is_on_by_default() != default, is_other, "{plugin:?}");
        }
    }
}
