//! The file of `--admission-control-config-file`: what admission plugins are told.

use std::path::Path;

use kubewright_apimachinery::go::quote;
use kubewright_apiserver::{AdmissionPlugin, Options};
use kubewright_codec::yaml;
use serde_json::{Value, json};

const VERSIONS: [&str; 3] = [
    "apiserver.config.k8s.io/v1",
    "apiserver.k8s.io/v1alpha1",
    "apiserver.config.k8s.io/v1alpha1",
];

/// Tells the plugins that are on what the file says, in which they may name files of their own.
pub(crate) fn apply(
    path: Option<&str>,
    mut options: Options,
    is_on: impl Fn(AdmissionPlugin) -> bool,
) -> Result<Options, String> {
    let mut told = match path {
        Some(path) => configurations(Path::new(path))?,
        None => Vec::new(),
    };
    let limits = AdmissionPlugin::EventRateLimit.name();
    if is_on(AdmissionPlugin::EventRateLimit) && told.iter().all(|(name, _)| name != limits) {
        // It has nothing to do without one, and upstream says so.
        let nothing = json!({ "apiVersion": "eventratelimit.admission.k8s.io/v1alpha1", "kind": "Configuration" });
        told.push((limits.to_owned(), nothing));
    }
    let images = AdmissionPlugin::ImagePolicyWebhook;
    if is_on(images) && told.iter().all(|(name, _)| name != images.name()) {
        return Err(failed(images.name(), "no config specified"));
    }
    for (name, configuration) in told {
        match AdmissionPlugin::ALL.into_iter().find(|plugin| plugin.name() == name) {
            Some(plugin) if is_on(plugin) => {
                options = options
                    .configure_admission(plugin, &configuration)
                    .map_err(|error| failed(&name, &error.to_string()))?;
            }
            // What is off is told nothing, as upstream has it; nor is what is not here, which cannot be on.
            _ => {}
        }
    }
    Ok(options)
}

fn failed(plugin: &str, why: &str) -> String {
    format!(
        "failed to apply admission: couldn't init admission plugin {}: {why}",
        quote(plugin)
    )
}

/// The configurations of a file by the names of their plugins.
fn configurations(path: &Path) -> Result<Vec<(String, Value)>, String> {
    let file = read(path)?;
    let text = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default();
    if !VERSIONS.contains(&text("apiVersion")) || text("kind") != "AdmissionConfiguration" {
        return Err(format!(
            "--admission-control-config-file: {} is no AdmissionConfiguration of {}",
            path.display(),
            VERSIONS[0]
        ));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let plugins = file.get("plugins").and_then(Value::as_array);
    let plugins = plugins.into_iter().flatten().map(|plugin| {
        let text = |key: &str| plugin.get(key).and_then(Value::as_str).unwrap_or_default();
        let configuration = match plugin.get("configuration").filter(|own| !own.is_null()) {
            Some(own) => own.clone(),
            None if text("path").is_empty() => return Ok(None),
            None => read(&folder.join(text("path")))?,
        };
        Ok(Some((text("name").to_owned(), configuration)))
    });
    plugins.filter_map(Result::transpose).collect()
}

fn read(path: &Path) -> Result<Value, String> {
    let shown = quote(&path.display().to_string());
    let failed = |why: String| format!("unable to read admission control configuration from {shown} [{why}]");
    let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    let decoded = yaml::decode(&bytes).map_err(|error| failed(error.to_string()))?;
    Ok(decoded.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, on: &[AdmissionPlugin]) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("admission.yaml");
        std::fs::write(&path, text).unwrap();
        let limits = "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\nlimits: [{type: Server, qps: 1, burst: 0}]\n";
        std::fs::write(folder.path().join("limits.yaml"), limits).unwrap();
        apply(path.to_str(), Options::new(), |plugin| on.contains(&plugin)).map(drop)
    }

    fn file(plugins: &str) -> String {
        format!("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: {plugins}\n")
    }

    #[test]
    fn a_plugin_may_name_a_file_beside_the_file() {
        let named = file("[{name: EventRateLimit, path: limits.yaml}]");
        assert_eq!(
            told(&named, &[AdmissionPlugin::EventRateLimit]).unwrap_err(),
            "failed to apply admission: couldn't init admission plugin \"EventRateLimit\": limits[0].burst: Invalid value: 0: must be positive"
        );
        assert_eq!(told(&named, &[]), Ok(()), "what is off is told nothing");
    }

    #[test]
    fn limits_of_events_need_a_configuration() {
        let wrong = apply(None, Options::new(), |plugin| plugin == AdmissionPlugin::EventRateLimit).unwrap_err();
        assert_eq!(
            wrong,
            "failed to apply admission: couldn't init admission plugin \"EventRateLimit\": limits: Invalid value: null: must not be empty"
        );
    }

    fn told_of_images(policy: &str) -> String {
        let images = file(&format!(
            "[{{name: ImagePolicyWebhook, configuration: {{imagePolicy: {policy}}}}}]"
        ));
        let wrong = told(&images, &[AdmissionPlugin::ImagePolicyWebhook]).unwrap_err();
        let before = "failed to apply admission: couldn't init admission plugin \"ImagePolicyWebhook\": ";
        wrong.strip_prefix(before).unwrap().to_owned()
    }

    /// The texts are those of kube-apiserver 1.36.3 for the same files.
    #[test]
    fn a_webhook_for_images_needs_a_configuration_that_makes_sense() {
        let on = |plugin| plugin == AdmissionPlugin::ImagePolicyWebhook;
        assert_eq!(
            apply(None, Options::new(), on).unwrap_err(),
            "failed to apply admission: couldn't init admission plugin \"ImagePolicyWebhook\": no config specified"
        );
        let field = "json: cannot unmarshal";
        let of = "into Go struct field imagePolicyWebhookConfig.imagePolicy";
        for (policy, why) in [
            ("{allowTTL: 1801}", "valid value is between 1s and 30m0s, got 30m1s".to_owned()),
            ("{allowTTL: -2, denyTTL: 5000}", "valid value is between 1s and 30m0s, got -2s".to_owned()),
            ("{retryBackoff: 300001}", "valid value is between 1ns and 5m0s, got 5m0.001s".to_owned()),
            ("{denyTTL: 30s}", format!("{field} string {of}.denyTTL of type time.Duration")),
            ("{denyTTL: 1.5}", format!("{field} number 1.5 {of}.denyTTL of type time.Duration")),
            ("{defaultAllow: \"yes\"}", format!("{field} string {of}.defaultAllow of type bool")),
            ("{kubeConfigFile: 1}", "stat 1: no such file or directory".to_owned()),
            ("{kubeConfigFile: /absent}", "stat /absent: no such file or directory".to_owned()),
            (
                "[]",
                format!("{field} array into Go struct field AdmissionConfig.imagePolicy of type imagepolicy.imagePolicyWebhookConfig"),
            ),
            (
                "{}",
                "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable"
                    .to_owned(),
            ),
        ] {
            assert_eq!(told_of_images(policy), why, "{policy}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let wrong = apply(Some("/absent.yaml"), Options::new(), |_| false).unwrap_err();
        assert!(wrong.starts_with("unable to read admission control configuration from \"/absent.yaml\" ["));
        assert!(
            told("kind: Pod\n", &[])
                .unwrap_err()
                .contains("is no AdmissionConfiguration")
        );
        let security = file("[{name: PodSecurity, configuration: {kind: PodSecurity}}]");
        let wrong = told(&security, &[AdmissionPlugin::PodSecurity]).unwrap_err();
        assert!(wrong.contains("PodSecurityConfiguration, not a"), "{wrong}");
        let webhooks = file("[{name: ResourceQuota, configuration: {kind: ResourceQuotaConfiguration}}]");
        let wrong = told(&webhooks, &[AdmissionPlugin::ResourceQuota]).unwrap_err();
        assert!(wrong.ends_with("takes no configuration here"), "{wrong}");
    }
}
