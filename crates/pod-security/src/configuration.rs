//! What a cluster configures for all its namespaces: a `PodSecurityConfiguration`.

use std::collections::BTreeSet;

use kubewright_apimachinery::field::{FieldError, Path, aggregate};
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::policy::{LEVELS, Level, LevelVersion, Policy, VERSIONS, Version};

/// A `PodSecurityConfiguration`: the policy of namespaces without labels, and who is exempt from all policies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The policy of what labels do not say.
    pub defaults: Policy,
    usernames: BTreeSet<String>,
    namespaces: BTreeSet<String>,
    runtime_classes: BTreeSet<String>,
}

impl Configuration {
    /// Reads a configuration; the error has everything that is wrong with it, in upstream's words.
    ///
    /// ```
    /// use kubewright_pod_security::{Configuration, Level};
    /// use serde_json::json;
    ///
    /// let strict = Configuration::read(&json!({
    ///     "apiVersion": "pod-security.admission.config.k8s.io/v1",
    ///     "kind": "PodSecurityConfiguration",
    ///     "defaults": { "enforce": "restricted" },
    ///     "exemptions": { "namespaces": ["kube-system"] },
    /// }))
    /// .unwrap();
    /// assert_eq!(strict.defaults.enforce.level, Level::Restricted);
    /// assert!(strict.exempts_namespace("kube-system"));
    /// let wrong = Configuration::read(&json!({ "defaults": { "warn": "some" } })).unwrap_err();
    /// assert!(wrong.starts_with(r#"defaults.warn: Invalid value: "some": must be one of"#));
    /// ```
    pub fn read(configuration: &Value) -> Result<Configuration, String> {
        let mut errors = Vec::new();
        let mut mode = |name: &str| {
            let text = |key: &str, default: &'static str| {
                let defaults = configuration.get("defaults");
                let text = defaults.and_then(|defaults| defaults.get(key)?.as_str());
                text.filter(|text| !text.is_empty()).unwrap_or(default).to_owned()
            };
            let (level, version) = (text(name, "privileged"), text(&format!("{name}-version"), "latest"));
            let path = Path::new("defaults").child(name);
            let read = LevelVersion {
                level: Level::parse(&level).unwrap_or_default(),
                version: Version::parse(&version).unwrap_or_default(),
            };
            if Level::parse(&level).is_none() {
                errors.push(FieldError::invalid(&path, level.as_str(), LEVELS));
            }
            if Version::parse(&version).is_none() {
                let path = Path::new("defaults").child(format!("{name}-version"));
                errors.push(FieldError::invalid(&path, version.as_str(), VERSIONS));
            }
            read
        };
        let enforce = mode("enforce");
        let warn = mode("warn");
        let audit = mode("audit");
        let mut exempt = |key: &str, mistakes: fn(&str) -> Vec<String>| {
            let list = configuration
                .get("exemptions")
                .and_then(|exemptions| exemptions.get(key)?.as_array());
            let mut found = BTreeSet::new();
            for (index, name) in list.into_iter().flatten().enumerate() {
                let name = name.as_str().unwrap_or_default();
                let path = Path::new("exemptions").child(key).index(index);
                let wrong = mistakes(name);
                if !wrong.is_empty() {
                    errors.push(FieldError::invalid(&path, name, wrong.join(", ")));
                } else if !found.insert(name.to_owned()) {
                    errors.push(FieldError::duplicate(&path, name));
                }
            }
            found
        };
        let read = Configuration {
            defaults: Policy { enforce, audit, warn },
            namespaces: exempt("namespaces", names::dns1123_label),
            runtime_classes: exempt("runtimeClasses", names::dns1123_subdomain),
            usernames: exempt("usernames", |name| {
                let is_empty = name.is_empty();
                is_empty
                    .then(|| "username must not be empty".to_owned())
                    .into_iter()
                    .collect()
            }),
        };
        aggregate(&errors).map_or(Ok(read), Err)
    }

    /// Whether nothing in a namespace is looked at.
    pub fn exempts_namespace(&self, name: &str) -> bool {
        self.namespaces.contains(name)
    }

    /// Whether nothing that a user writes is looked at.
    pub fn exempts_user(&self, name: &str) -> bool {
        self.usernames.contains(name)
    }

    /// Whether a Pod, or the template of one, is not looked at.
    pub fn exempts_runtime_class_of(&self, pod: &Value) -> bool {
        let class = pod.pointer("/spec/runtimeClassName").and_then(Value::as_str);
        class.is_some_and(|class| self.runtime_classes.contains(class))
    }

    /// What the labels of an exempt namespace are warned with, since they have no effect.
    pub fn warning_of_exempt_namespace(
        &self,
        namespace: &str,
        policy: &Policy,
        labels: Option<&Value>,
    ) -> Option<String> {
        if policy.is_privileged() || policy.is_equivalent(&self.defaults) {
            return None;
        }
        let has = |key: &str| labels.is_some_and(|labels| labels.get(key).is_some());
        let modes = [
            ("enforce", policy.enforce),
            ("audit", policy.audit),
            ("warn", policy.warn),
        ];
        let shown: Vec<String> = modes
            .into_iter()
            .filter(|(mode, asked)| {
                let label = format!("pod-security.kubernetes.io/{mode}");
                asked.level != Level::Privileged && (has(&label) || has(&format!("{label}-version")))
            })
            .map(|(mode, asked)| format!("{mode}={asked}"))
            .collect();
        let (namespace, shown) = (quote(namespace), shown.join(", "));
        Some(format!(
            "namespace {namespace} is exempt from Pod Security, and the policy ({shown}) will be ignored"
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_mistake_is_named_once() {
        let wrong = json!({
            "defaults": {"enforce": "most", "audit-version": "1.30"},
            "exemptions": {"usernames": ["", "a", "a"], "namespaces": ["A b"], "runtimeClasses": ["x", "x"]},
        });
        let errors = Configuration::read(&wrong).unwrap_err();
        assert!(
            errors.contains(
                r#"defaults.enforce: Invalid value: "most": must be one of privileged, baseline, restricted"#
            )
        );
        assert!(errors.contains(r#"defaults.audit-version: Invalid value: "1.30": must be "latest" or "v1.x""#));
        assert!(errors.contains(r#"exemptions.usernames[0]: Invalid value: "": username must not be empty"#));
        assert!(errors.contains(r#"exemptions.usernames[2]: Duplicate value: "a""#));
        assert!(errors.contains(r#"exemptions.namespaces[0]: Invalid value: "A b""#));
        assert!(errors.contains(r#"exemptions.runtimeClasses[1]: Duplicate value: "x""#));
    }

    #[test]
    fn labels_of_an_exempt_namespace_are_warned_of() {
        let configuration = Configuration::default();
        let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
        let (policy, _) = Policy::of_labels(Some(&labels), configuration.defaults);
        assert_eq!(
            configuration
                .warning_of_exempt_namespace("a", &policy, Some(&labels))
                .unwrap(),
            r#"namespace "a" is exempt from Pod Security, and the policy (enforce=restricted:latest) will be ignored"#
        );
    }
}
