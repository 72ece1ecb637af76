//! An installation as objects for a cluster: what `kubectl kustomize config/default` makes of the same files, without kustomize.
//! Files that a project has taken over count as they are there.

mod edited;
mod names;

use std::collections::BTreeMap;

use kubewright_codec::yaml::YamlError;
use kubewright_description::Description;
use kubewright_merge::{JsonPatch, PatchError};
use serde_json::Value;

use crate::install::kustomization::Entry;
use crate::install::{self, MANAGER, Settings, is_generated};
use crate::yaml;
use edited::{AddedPatch, Edited};

/// The objects of an installation.
///
/// ```
/// use kubewright_manifests::bundle::Bundle;
/// use kubewright_manifests::install::Settings;
/// use kubewright_description::Description;
///
/// let operator = Description::new("shop");
/// let bundle = Bundle::render(&operator, &[], &Settings::new("shop", "shop:1.0"), &|_| None).unwrap();
/// let kinds: Vec<&str> = bundle.objects.iter().filter_map(|object| object["kind"].as_str()).collect();
/// assert_eq!(kinds.first(), Some(&"Namespace"));
/// assert_eq!(kinds.last(), Some(&"Deployment"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The `CustomResourceDefinition`s.
    pub definitions: Vec<Value>,
    /// Everything else, in the order in which a cluster takes it: the Namespace first, the Deployment last.
    pub objects: Vec<Value>,
    /// What of the project's kustomization is not in it, since only kustomize can follow it; a sentence each.
    pub ignored: Vec<String>,
}

/// Why there is no installation.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file is not YAML.
    #[error("{path} is not YAML")]
    Yaml {
        /// Which.
        path: String,
        /// What is wrong.
        source: YamlError,
    },
    /// A kustomization is a list or a text.
    #[error("{path} is no kustomization: it has to have fields such as `resources`")]
    NoKustomization {
        /// Which.
        path: String,
    },
    /// A patch does not fit the manager.
    #[error(
        "{path} cannot be applied to {target}: {reason}; its lists `args`, `ports`, `volumeMounts` and `volumes` have to be there, if \
         only as `[]`"
    )]
    Patch {
        /// The file of the patch.
        path: String,
        /// What it patches.
        target: String,
        /// Why not.
        reason: String,
    },
    /// There is no manager.
    #[error("{MANAGER} has no Deployment; `kubewright init` wrote one called controller-manager")]
    NoManager,
    /// The image has nowhere to go.
    #[error(
        "the image {image} was not put in: no container of {MANAGER} has the image `controller`; write `image: controller:latest` there"
    )]
    NoImage {
        /// The image.
        image: String,
    },
    /// Names would be others than the manager knows.
    #[error(
        "the prefix {prefix:?} cannot be used: the manager keeps the certificates of its webhooks in objects whose names begin with \
         {wanted:?}; keep that prefix, or let cert-manager care for certificates (`kubewright edit --cert-manager`)"
    )]
    Prefix {
        /// What was asked for.
        prefix: String,
        /// What would do.
        wanted: String,
    },
}

/// An image that nobody has chosen.
const ANY_IMAGE: &str = "controller:latest";

impl Bundle {
    /// The installation of an operator. `file` gives the files of the project by their paths; only those that are not generated
    /// count, and the manager's. `definitions` are the operator's, as [`crate::definitions::render`] makes them.
    pub fn render(
        operator: &Description,
        definitions: &[Value],
        settings: &Settings,
        file: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Bundle, BundleError> {
        check(operator, settings)?;
        let (files, mut told) = Files::of(operator, definitions, settings, file)?;
        let edited = Edited::read(file)?;
        let resource = |entry: &str, wanted: bool| wanted && !edited.leaves_out(&Entry::resource(entry, true));
        let mut definitions = Vec::new();
        if resource("../crd", true) {
            definitions = files.objects_in("config/crd/bases/")?;
            for definition in &mut definitions {
                files.convert(definition)?;
            }
        }
        let mut objects = Vec::new();
        // Somebody may run the manager elsewhere, and have the rest installed.
        let has_manager = resource("../manager", true);
        if has_manager {
            objects.extend(files.objects(MANAGER)?);
            if !objects.iter().any(|object| object["kind"] == "Deployment") {
                return Err(BundleError::NoManager);
            }
            let (beside, more) = edited::beside_the_manager(file)?;
            for (path, text) in &beside {
                objects.extend(Files::read(path, text)?);
            }
            told.extend(more);
        }
        if resource("metrics_service.yaml", true) {
            objects.extend(files.objects("config/default/metrics_service.yaml")?);
        }
        for (folder, wanted) in [
            ("rbac", true),
            ("webhook", true),
            ("certmanager", settings.cert_manager),
            ("prometheus", settings.prometheus),
            ("network-policy", settings.network_policy),
        ] {
            if resource(&format!("../{folder}"), wanted) {
                objects.extend(files.objects_in(&format!("config/{folder}/"))?);
            }
        }
        let (added, mut ignored) = edited.added_files(file);
        for (path, text) in &added {
            objects.extend(Files::read(path, text)?);
        }
        files.patch(&mut objects, &edited)?;
        let (patches, more) = edited.added_patches(file);
        for added in &patches {
            apply(added, &mut objects)?;
        }
        ignored.extend(more);
        ignored.extend(edited.ignored_fields());
        if has_manager {
            set_image(&mut objects, &settings.image)?;
        }
        set_replicas(&mut objects, settings.replicas);
        let mut all: Vec<&mut Value> = definitions.iter_mut().chain(&mut objects).collect();
        names::settle(&mut all, settings);
        objects.sort_by_key(|object| order(object["kind"].as_str().unwrap_or_default()));
        told.extend(ignored.iter().map(|ignored| Edited::sentence(ignored)));
        Ok(Bundle {
            definitions,
            objects,
            ignored: told,
        })
    }

    /// All of it, in the order in which a cluster takes it: the Namespace, the definitions, the rest.
    ///
    /// ```
    /// use kubewright_manifests::bundle::Bundle;
    ///
    /// let bundle = Bundle { definitions: vec![], objects: vec![], ignored: vec![] };
    /// assert_eq!(bundle.all().count(), 0);
    /// ```
    pub fn all(&self) -> impl Iterator<Item = &Value> {
        let namespaces = self.objects.iter().take_while(|object| object["kind"] == "Namespace");
        let others = self.objects.iter().skip_while(|object| object["kind"] == "Namespace");
        namespaces.chain(&self.definitions).chain(others)
    }
}

/// A manager that makes its own certificates finds its objects by the operator's name.
fn check(operator: &Description, settings: &Settings) -> Result<(), BundleError> {
    let wanted = format!("{}-", operator.name);
    let has_webhooks = !operator.webhooks.is_empty() || !operator.conversions.is_empty();
    if has_webhooks && !settings.cert_manager && settings.prefix != wanted {
        return Err(BundleError::Prefix {
            prefix: settings.prefix.clone(),
            wanted,
        });
    }
    Ok(())
}

/// Where a kind stands among others: what is referred to comes before what refers to it.
fn order(kind: &str) -> usize {
    let kinds = [
        "Namespace",
        "ServiceAccount",
        "Role",
        "ClusterRole",
        "RoleBinding",
        "ClusterRoleBinding",
        "Service",
        "Issuer",
        "Certificate",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "NetworkPolicy",
        "ServiceMonitor",
    ];
    // What somebody else has put into a file goes before the manager, too.
    let behind = if kind == "Deployment" {
        kinds.len() + 1
    } else {
        kinds.len()
    };
    kinds.iter().position(|known| *known == kind).unwrap_or(behind)
}

/// The files of an installation by their paths.
struct Files(BTreeMap<String, String>);

impl Files {
    fn of(
        operator: &Description,
        definitions: &[Value],
        settings: &Settings,
        file: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Files, Vec<String>), BundleError> {
        let (mut files, mut lists, mut ignored) = (BTreeMap::new(), Vec::new(), Vec::new());
        for part in install::files(operator, definitions, settings) {
            let taken_over = file(&part.path).filter(|text| !is_generated(text));
            if let (Some(text), Some(folder)) = (&taken_over, part.path.strip_suffix("kustomization.yaml")) {
                lists.push((folder.to_owned(), text.clone()));
            }
            files.insert(part.path, taken_over.unwrap_or(part.text));
        }
        for (folder, text) in lists {
            ignored.extend(follow(&mut files, &folder, &text, file)?);
        }
        let manager = file(MANAGER).unwrap_or_else(|| install::manager_yaml(&operator.name, settings.namespaced));
        files.insert(MANAGER.to_owned(), manager);
        Ok((Files(files), ignored))
    }

    fn read(path: &str, text: &str) -> Result<Vec<Value>, BundleError> {
        yaml::read(text).map_err(|source| BundleError::Yaml {
            path: path.to_owned(),
            source,
        })
    }

    /// The objects of one file.
    fn objects(&self, path: &str) -> Result<Vec<Value>, BundleError> {
        self.0.get(path).map_or(Ok(Vec::new()), |text| Self::read(path, text))
    }

    /// The objects of a folder: not what tells kustomize how to build it.
    fn objects_in(&self, folder: &str) -> Result<Vec<Value>, BundleError> {
        let mut objects = Vec::new();
        for (path, text) in self.0.range(folder.to_owned()..) {
            let Some(file) = path.strip_prefix(folder) else { break };
            if !file.contains('/') && !file.starts_with("kustomiz") && !file.ends_with("_patch.yaml") {
                objects.extend(Self::read(path, text)?);
            }
        }
        Ok(objects)
    }

    /// Tells the API server who converts.
    fn convert(&self, definition: &mut Value) -> Result<(), BundleError> {
        for patch in self.objects_in("config/crd/patches/")? {
            if patch["metadata"]["name"] == definition["metadata"]["name"] {
                merge(definition, &patch);
            }
        }
        Ok(())
    }

    /// Applies the patches of the manager, and that of the monitor.
    fn patch(&self, objects: &mut [Value], edited: &Edited) -> Result<(), BundleError> {
        for (folder, file, kind) in [
            ("default", "manager_metrics_patch.yaml", "Deployment"),
            ("default", "manager_webhook_patch.yaml", "Deployment"),
            ("default", "cert_metrics_manager_patch.yaml", "Deployment"),
            ("prometheus", "monitor_tls_patch.yaml", "ServiceMonitor"),
        ] {
            let path = format!("config/{folder}/{file}");
            let Some(text) = self.0.get(&path) else { continue };
            if folder == "default" && edited.leaves_out(&Entry::patch(file, true)) {
                continue;
            }
            let [operations] = Self::read(&path, text)?
                .try_into()
                .unwrap_or([Value::Array(Vec::new())]);
            let known = AddedPatch {
                path,
                operations,
                kind: kind.to_owned(),
                name: None,
            };
            apply(&known, objects)?;
        }
        Ok(())
    }
}

/// Has a folder hold the files that its taken over kustomization lists, and no others. The answer is what cannot be followed.
fn follow(
    files: &mut BTreeMap<String, String>,
    folder: &str,
    kustomization: &str,
    file: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<String>, BundleError> {
    let list = format!("{folder}kustomization.yaml");
    let value = edited::decode(&list, kustomization)?;
    let entries = value["resources"].as_array().into_iter().flatten();
    let listed: Vec<String> = entries
        .filter_map(Value::as_str)
        .map(|entry| format!("{folder}{entry}"))
        .collect();
    let is_resource = |path: &str| {
        let name = path.strip_prefix(folder).unwrap_or_default();
        let helps = name.starts_with("kustomiz") || name.starts_with("patches/") || name.ends_with("_patch.yaml");
        !name.is_empty() && !helps
    };
    files.retain(|path, _| !is_resource(path) || listed.contains(path));
    let mut ignored = Vec::new();
    for path in listed {
        if files.contains_key(&path) {
            continue;
        }
        let entry = path.strip_prefix(folder).unwrap_or_default();
        let is_direct = !entry.contains('/') || folder == "config/crd/" && entry.starts_with("bases/");
        match file(&path).filter(|_| is_direct) {
            Some(text) => drop(files.insert(path, text)),
            None => ignored.push(edited::left_to_kustomize(
                &list,
                &format!("its resource {entry}, which is no file of that folder"),
            )),
        }
    }
    Ok(ignored)
}

/// Applies a JSON patch to the objects it is for.
fn apply(added: &AddedPatch, objects: &mut [Value]) -> Result<(), BundleError> {
    let refused = |target: &Value, error: &PatchError| BundleError::Patch {
        path: added.path.clone(),
        target: format!("{} {}", added.kind, target["metadata"]["name"]),
        reason: match error {
            PatchError::DoesNotApply { reason } => reason.clone(),
            other => other.to_string(),
        },
    };
    let is_meant = |object: &&mut Value| {
        let is_named = |name: &String| object["metadata"]["name"] == name.as_str();
        object["kind"] == added.kind.as_str() && added.name.as_ref().is_none_or(is_named)
    };
    for object in objects.iter_mut().filter(is_meant) {
        let patch = JsonPatch::decode(added.operations.clone(), true).map_err(|error| refused(object, &error))?;
        *object = patch.apply(object.clone()).map_err(|error| refused(object, &error))?;
    }
    Ok(())
}

/// Fields of one object into another; lists and texts take the place of what was there.
fn merge(into: &mut Value, from: &Value) {
    let (Value::Object(into), Value::Object(from)) = (&mut *into, from) else {
        *into = from.clone();
        return;
    };
    for (name, value) in from {
        merge(into.entry(name).or_insert(Value::Null), value);
    }
}

/// Puts the image in for every one called `controller`, as kustomize does.
fn set_image(objects: &mut [Value], image: &str) -> Result<(), BundleError> {
    let mut found = false;
    for object in objects.iter_mut().filter(|object| object["kind"] == "Deployment") {
        for list in ["containers", "initContainers"] {
            let containers = object.pointer_mut(&format!("/spec/template/spec/{list}"));
            for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
                let name = container["image"].as_str().unwrap_or_default();
                if name == "controller" || name.starts_with("controller:") || name.starts_with("controller@") {
                    container["image"] = image.into();
                    found = true;
                }
            }
        }
    }
    // An image that nobody has chosen may give way to one that stands in the file.
    if found || image == ANY_IMAGE {
        Ok(())
    } else {
        Err(BundleError::NoImage {
            image: image.to_owned(),
        })
    }
}

fn set_replicas(objects: &mut [Value], replicas: Option<u32>) {
    let Some(replicas) = replicas else { return };
    for object in objects.iter_mut().filter(|object| object["kind"] == "Deployment") {
        object["spec"]["replicas"] = replicas.into();
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kubewright_runtime::operator::Operator;
    use kubewright_runtime::webhook::{AdmissionRequest, Webhook};

    use super::*;

    fn with_webhooks() -> Description {
        let webhook = Webhook::of::<ConfigMap>().defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(()));
        Operator::new("shop").webhook(webhook).describe()
    }

    fn render(settings: &Settings, manager: &str) -> Result<Bundle, BundleError> {
        let file = |path: &str| (path == MANAGER).then(|| manager.to_owned());
        Bundle::render(&with_webhooks(), &[], settings, &file)
    }

    fn settings() -> Settings {
        Settings::new("shop", "shop:1.0")
    }

    #[test]
    fn another_prefix_needs_certificates_from_somewhere_else() {
        let mut settings = Settings {
            prefix: "mall-".to_owned(),
            ..settings()
        };
        let manager = install::manager_yaml("shop", false);
        let error = render(&settings, &manager).unwrap_err().to_string();
        assert!(
            error.contains("\"shop-\"") && error.contains("--cert-manager"),
            "{error}"
        );
        settings.cert_manager = true;
        let bundle = render(&settings, &manager).unwrap();
        let named = |object: &&Value| {
            object["metadata"]["name"]
                .as_str()
                .is_some_and(|name| name.starts_with("mall-"))
        };
        assert_eq!(bundle.objects.iter().filter(named).count(), bundle.objects.len() - 1);
    }

    #[test]
    fn a_manager_that_is_no_deployment_is_an_error() {
        let error = render(&settings(), "kind: Namespace\n").unwrap_err();
        assert!(matches!(error, BundleError::NoManager), "{error}");
    }

    fn edited(kustomization: &str) -> Bundle {
        let file = |path: &str| match path {
            "config/default/kustomization.yaml" => Some(kustomization.to_owned()),
            "config/extra/quota.yaml" => {
                Some("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: quota}\n".to_owned())
            }
            "config/default/more.yaml" => Some("- {op: replace, path: /spec/replicas, value: 7}\n".to_owned()),
            _ => None,
        };
        Bundle::render(&with_webhooks(), &[], &settings(), &file).unwrap()
    }

    #[test]
    fn entries_that_somebody_takes_out_or_adds_count() {
        let text = install::default_kustomization(&settings(), &install::entries(&with_webhooks(), &settings()));
        let kinds = |bundle: &Bundle| -> Vec<String> {
            let kinds = bundle.objects.iter().filter_map(|object| object["kind"].as_str());
            kinds.map(str::to_owned).collect()
        };
        let whole = edited(&text);
        assert!(whole.ignored.is_empty() && kinds(&whole).iter().filter(|kind| *kind == "Service").count() == 2);
        let changed = text
            .replace("- metrics_service.yaml\n", "- ../extra/quota.yaml\n")
            .replace("- ../webhook\n", "# - ../webhook\n")
            .replace(
                "patches:\n",
                "patches:\n- path: more.yaml\n  target: {kind: Deployment, name: controller-manager}\n",
            );
        let changed = edited(&changed);
        assert!(changed.ignored.is_empty(), "{:?}", changed.ignored);
        assert!(!kinds(&changed).contains(&"Service".to_owned()));
        let quota = changed
            .objects
            .iter()
            .find(|object| object["kind"] == "ResourceQuota")
            .unwrap();
        assert_eq!(quota["metadata"]["name"], "shop-quota");
        assert_eq!(changed.objects.last().unwrap()["spec"]["replicas"], 7);
    }

    #[test]
    fn what_only_kustomize_can_do_is_told() {
        let text = "namePrefix: shop-\ncommonLabels: {a: b}\nresources:\n- ../rbac\n- ../manager\n- metrics_service.yaml\n- \
                    https://example.com/x\npatches:\n- path: manager_metrics_patch.yaml\n- path: merge.yaml\n";
        let ignored = edited(text).ignored.join("\n");
        for part in [
            "`commonLabels`",
            "https://example.com/x",
            "merge.yaml",
            "kubectl apply -k config/default",
        ] {
            assert!(ignored.contains(part), "{part}: {ignored}");
        }
    }

    fn with_file(path: &'static str, text: &'static str) -> Result<Bundle, BundleError> {
        let file = |wanted: &str| match wanted {
            "config/manager/quota.yaml" => {
                Some("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: quota}\n".to_owned())
            }
            wanted => (wanted == path).then(|| text.to_owned()),
        };
        Bundle::render(&with_webhooks(), &[], &settings(), &file)
    }

    #[test]
    fn what_is_listed_beside_the_manager_counts_or_is_told() {
        let text = "resources:\n- manager.yaml\n- quota.yaml\n- gone.yaml\nimages:\n- name: controller\n- name: proxy\n\
                    commonLabels: {a: b}\n";
        let bundle = with_file("config/manager/kustomization.yaml", text).unwrap();
        let quota = bundle.objects.iter().find(|object| object["kind"] == "ResourceQuota");
        let quota = quota.unwrap();
        assert_eq!(quota["metadata"]["name"], "shop-quota");
        assert_eq!(quota["metadata"]["namespace"], "shop-system");
        let ignored = bundle.ignored.join("\n");
        for part in [
            "config/manager/kustomization.yaml: its resource gone.yaml",
            "its image proxy",
            "`commonLabels`",
        ] {
            assert!(ignored.contains(part), "{part}: {ignored}");
        }
        assert_eq!(bundle.ignored.len(), 3, "{ignored}");
    }

    #[test]
    fn a_kustomization_that_cannot_be_read_is_an_error_with_its_name() {
        for path in [
            "config/default/kustomization.yaml",
            "config/manager/kustomization.yaml",
            "config/rbac/kustomization.yaml",
        ] {
            for text in ["resources: [", "- ../rbac\n"] {
                let error = with_file(path, text).unwrap_err().to_string();
                assert!(error.starts_with(path), "{error}");
            }
        }
        let text = "resources:\n- role.yaml\n- https://example.com/x\n";
        let ignored = with_file("config/rbac/kustomization.yaml", text).unwrap().ignored;
        assert!(ignored[0].contains("its resource https://example.com/x"), "{ignored:?}");
    }

    #[test]
    fn an_image_goes_where_the_placeholder_is_and_nowhere_else() {
        let manager = install::manager_yaml("shop", false).replace(
            "      containers:\n",
            "      initContainers:\n      - name: first\n        image: controller\n      containers:\n      - name: proxy\n        \
             image: controller-proxy:1\n        args: []\n        ports: []\n",
        );
        let bundle = render(&settings(), &manager).unwrap();
        let pod = &bundle.objects.last().unwrap()["spec"]["template"]["spec"];
        assert_eq!(pod["initContainers"][0]["image"], "shop:1.0");
        assert_eq!(pod["containers"][0]["image"], "controller-proxy:1");
        assert_eq!(pod["containers"][1]["image"], "shop:1.0");
        // Patches go to the first container, as kustomize has it.
        assert_eq!(pod["containers"][0]["ports"][0]["name"], "webhook-server");
    }

    #[test]
    fn the_number_of_replicas_is_the_files_unless_somebody_says_another() {
        let manager = install::manager_yaml("shop", false).replace("replicas: 1", "replicas: 4");
        let replicas = |settings: &Settings| {
            render(settings, &manager).unwrap().objects.last().unwrap()["spec"]["replicas"].clone()
        };
        assert_eq!(replicas(&settings()), 4);
        let other = Settings {
            replicas: Some(2),
            ..settings()
        };
        assert_eq!(replicas(&other), 2);
    }

    #[test]
    fn with_cert_manager_the_manager_has_no_rights_to_certificates() {
        let names = |settings: &Settings| -> Vec<String> {
            let bundle = render(settings, &install::manager_yaml("shop", false)).unwrap();
            let names = bundle
                .objects
                .iter()
                .filter_map(|object| object["metadata"]["name"].as_str());
            names.map(str::to_owned).collect()
        };
        let own = names(&settings());
        let theirs = names(&Settings {
            cert_manager: true,
            ..settings()
        });
        let certificates = "shop-certificates-role".to_owned();
        assert!(own.contains(&certificates) && !theirs.contains(&certificates));
        assert!(theirs.contains(&"shop-serving-cert".to_owned()));
    }
}
