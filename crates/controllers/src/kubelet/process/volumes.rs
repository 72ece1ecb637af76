//! The volumes of a Pod as folders, and where its containers find them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{
    ConfigMap, Container, DownwardAPIVolumeFile, KeyToPath, Secret, ServiceAccount, ServiceAccountTokenProjection,
    Volume, VolumeMount, VolumeProjection,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kubewright_apimachinery::go::quote;
use kubewright_runtime::object::ObjectKey;
use serde_json::json;

use super::atomic::{self, Payload};
use super::environment::Sources;
use super::error::StartError;
use super::{expansion, fields, files};

const DEFAULT_MODE: i32 = 0o644;
const TOKEN_MODE: u32 = 0o600;

/// The volumes of a Pod under its folder, and what was last written into them.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    written: BTreeMap<String, (Payload, u64)>,
    tokens: BTreeMap<(String, String), Token>,
}

#[derive(Clone, Debug)]
struct Token {
    text: String,
    /// From then on it is time for another.
    until: Timestamp,
}

impl Volumes {
    /// Makes the volumes, or brings them up to date.
    pub(super) async fn write(
        &mut self,
        sources: &Sources<'_>,
        folder: &Path,
        now: Timestamp,
    ) -> Result<(), StartError> {
        let spec = sources.pod.spec.iter();
        for volume in spec.flat_map(|spec| spec.volumes.iter().flatten()) {
            check_sort(volume)?;
            let place = folder.join(&volume.name);
            files::private_folder(&place).map_err(StartError::file(&place))?;
            let payload = self.payload(sources, volume, now).await;
            let payload = payload.map_err(|why| StartError::Mount {
                volume: volume.name.clone(),
                why,
            })?;
            let Some(payload) = payload else {
                continue;
            };
            let version = match self.written.get(&volume.name) {
                Some((before, _)) if *before == payload => continue,
                Some((_, version)) => version + 1,
                None => 1,
            };
            atomic::write(&place, &payload, version).map_err(StartError::file(&place))?;
            self.written.insert(volume.name.clone(), (payload, version));
        }
        Ok(())
    }

    /// The files of a volume; `None` if it is for processes to fill.
    async fn payload(
        &mut self,
        sources: &Sources<'_>,
        volume: &Volume,
        now: Timestamp,
    ) -> Result<Option<Payload>, String> {
        let mut payload = Payload::default();
        if volume.empty_dir.is_some() {
            return Ok(None);
        }
        if let Some(wanted) = &volume.config_map {
            let found = sources.config_map(&wanted.name).await?;
            let items = wanted.items.as_deref();
            let choice = KeySelection::new(items, wanted.default_mode, wanted.optional);
            config_map(&mut payload, found, &wanted.name, choice)?;
        } else if let Some(wanted) = &volume.secret {
            let name = wanted.secret_name.as_deref().unwrap_or_default();
            let found = sources.secret(name).await?;
            let choice = KeySelection::new(wanted.items.as_deref(), wanted.default_mode, wanted.optional);
            secret(&mut payload, found, name, choice)?;
        } else if let Some(wanted) = &volume.downward_api {
            let items = wanted.items.as_deref().unwrap_or_default();
            downward(&mut payload, sources, items, wanted.default_mode)?;
        } else if let Some(wanted) = &volume.projected {
            for source in wanted.sources.iter().flatten() {
                self.project(&mut payload, sources, volume, source, wanted.default_mode, now)
                    .await?;
            }
        }
        Ok(Some(payload))
    }

    async fn project(
        &mut self,
        payload: &mut Payload,
        sources: &Sources<'_>,
        volume: &Volume,
        source: &VolumeProjection,
        mode: Option<i32>,
        now: Timestamp,
    ) -> Result<(), String> {
        if let Some(wanted) = &source.service_account_token {
            let token = self.token(sources, &volume.name, wanted, now).await?;
            payload.add(&wanted.path, token, TOKEN_MODE)?;
        }
        if let Some(wanted) = &source.config_map {
            let found = sources.config_map(&wanted.name).await?;
            let choice = KeySelection::new(wanted.items.as_deref(), mode, wanted.optional);
            config_map(payload, found, &wanted.name, choice)?;
        }
        if let Some(wanted) = &source.secret {
            let found = sources.secret(&wanted.name).await?;
            let choice = KeySelection::new(wanted.items.as_deref(), mode, wanted.optional);
            secret(payload, found, &wanted.name, choice)?;
        }
        if let Some(wanted) = &source.downward_api {
            downward(payload, sources, wanted.items.as_deref().unwrap_or_default(), mode)?;
        }
        if source.cluster_trust_bundle.is_some() {
            return Err("processes have no clusterTrustBundle".to_owned());
        }
        Ok(())
    }

    /// A token of the Pod's account: the one there is, or another when four fifths of its time are over.
    #[allow(
        clippy::useless_conversion,
        reason = "with the types of some versions of Kubernetes it is none"
    )]
    async fn token(
        &mut self,
        sources: &Sources<'_>,
        volume: &str,
        wanted: &ServiceAccountTokenProjection,
        now: Timestamp,
    ) -> Result<String, String> {
        let at = (volume.to_owned(), wanted.path.clone());
        if let Some(token) = self.tokens.get(&at).filter(|token| now < token.until) {
            return Ok(token.text.clone());
        }
        let meta = &sources.pod.metadata;
        let spec = sources.pod.spec.as_ref();
        let account = spec.and_then(|spec| spec.service_account_name.as_deref());
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        let audiences: Vec<&String> = wanted.audience.iter().filter(|audience| !audience.is_empty()).collect();
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {
                "audiences": audiences,
                "expirationSeconds": wanted.expiration_seconds.unwrap_or(3600),
                "boundObjectRef": { "apiVersion": "v1", "kind": "Pod", "name": meta.name, "uid": meta.uid },
            },
        });
        let key = ObjectKey::namespaced(namespace, account.unwrap_or("default"));
        let tokens = sources.client.live().of::<ServiceAccount>().subresource("token");
        let answer: TokenRequest = tokens
            .create_as(&key, &request)
            .await
            .map_err(|error| format!("failed to fetch token: {error}"))?;
        let status = answer.status.ok_or("the API server sent no token")?;
        // The types of some versions of Kubernetes have an optional time and an optional text, those of others both.
        let end = Option::<Time>::from(status.expiration_timestamp).map_or(now, |time| time.0);
        let life = end.duration_since(now).as_secs().max(0);
        let token = Token {
            text: Option::<String>::from(status.token).unwrap_or_default(),
            until: now
                .saturating_add(Duration::from_secs((life * 4 / 5).unsigned_abs()))
                .unwrap_or(Timestamp::MAX),
        };
        self.tokens.insert(at, token.clone());
        Ok(token.text)
    }
}

/// Whether a volume can be made of files of its own. Nothing of the machine is given to processes: a Pod that waits for more, such as that
/// of `kubectl debug node/…`, waits for ever, and its container says so.
fn check_sort(volume: &Volume) -> Result<(), StartError> {
    let is_known = volume.empty_dir.is_some()
        || volume.config_map.is_some()
        || volume.secret.is_some()
        || volume.downward_api.is_some()
        || volume.projected.is_some();
    if is_known {
        return Ok(());
    }
    Err(StartError::Config(format!(
        "volume {}: processes have volumes of the sorts configMap, secret, projected, downwardAPI and emptyDir only, and no \
         folder of the machine",
        quote(&volume.name)
    )))
}

/// Which keys of a map are wanted, and as what.
#[derive(Clone, Copy)]
struct KeySelection<'a> {
    items: Option<&'a [KeyToPath]>,
    mode: i32,
    optional: bool,
}

impl<'a> KeySelection<'a> {
    fn new(items: Option<&'a [KeyToPath]>, mode: Option<i32>, optional: Option<bool>) -> Self {
        KeySelection {
            items: items.filter(|items| !items.is_empty()),
            mode: mode.unwrap_or(DEFAULT_MODE),
            optional: optional == Some(true),
        }
    }

    fn add(self, payload: &mut Payload, sort: &str, mut data: BTreeMap<String, Vec<u8>>) -> Result<(), String> {
        let Some(items) = self.items else {
            for (key, value) in data {
                payload.add(&key, value, mode(self.mode))?;
            }
            return Ok(());
        };
        for item in items {
            match data.remove(&item.key) {
                Some(value) => payload.add(&item.path, value, mode(item.mode.unwrap_or(self.mode)))?,
                None if self.optional => {}
                None => return Err(format!("{sort} references non-existent config key: {}", item.key)),
            }
        }
        Ok(())
    }
}

fn mode(mode: i32) -> u32 {
    u32::try_from(mode).unwrap_or(0o600)
}

fn config_map(
    payload: &mut Payload,
    found: Option<ConfigMap>,
    name: &str,
    choice: KeySelection<'_>,
) -> Result<(), String> {
    let Some(found) = found else {
        return if choice.optional {
            Ok(())
        } else {
            Err(format!("configmap {} not found", quote(name)))
        };
    };
    let text = found.data.unwrap_or_default().into_iter();
    let binary = found.binary_data.unwrap_or_default().into_iter();
    let data = text
        .map(|(key, value)| (key, value.into_bytes()))
        .chain(binary.map(|(key, value)| (key, value.0)));
    choice.add(payload, "configmap", data.collect())
}

fn secret(payload: &mut Payload, found: Option<Secret>, name: &str, choice: KeySelection<'_>) -> Result<(), String> {
    match found {
        None if choice.optional => Ok(()),
        None => Err(format!("secret {} not found", quote(name))),
        Some(found) => {
            let data = found.data.unwrap_or_default().into_iter();
            choice.add(payload, "secret", data.map(|(key, value)| (key, value.0)).collect())
        }
    }
}

fn downward(
    payload: &mut Payload,
    sources: &Sources<'_>,
    items: &[DownwardAPIVolumeFile],
    default: Option<i32>,
) -> Result<(), String> {
    for item in items {
        let text = match (&item.field_ref, &item.resource_field_ref) {
            (Some(field), _) => fields::field(sources.pod, field)?,
            (None, Some(resource)) => fields::resource(sources.pod, None, sources.allocatable, resource)?,
            (None, None) => String::new(),
        };
        payload.add(&item.path, text, mode(item.mode.or(default).unwrap_or(DEFAULT_MODE)))?;
    }
    Ok(())
}

/// Where a volume, or a part of it, is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mount {
    /// The path in the folder of the container.
    pub(super) place: PathBuf,
    /// The folder of the volume.
    pub(super) volume: PathBuf,
    /// What of it is mounted; empty if all is.
    pub(super) part: PathBuf,
}

/// Makes the folder a container takes for its root, with links to the volumes where they are mounted, which are returned.
pub(super) fn mount(
    container: &Container,
    root: &Path,
    volumes: &Path,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<Mount>, StartError> {
    files::remove_folder(root).map_err(StartError::file(root))?;
    let temporary = root.join("tmp");
    files::private_folder(&temporary).map_err(StartError::file(&temporary))?;
    let mut mounts: Vec<&VolumeMount> = container.volume_mounts.iter().flatten().collect();
    mounts.sort_by_key(|mount| mount.mount_path.len());
    let mut links: Vec<PathBuf> = Vec::new();
    let mut mounted = Vec::new();
    for mount in mounts {
        let place = inside(root, &mount.mount_path)?;
        if place == root {
            return Err(StartError::Config(format!(
                "mountPath {:?} is the whole container, which processes cannot have: mount the volume in a folder of it",
                mount.mount_path
            )));
        }
        if let Some(outer) = links.iter().find(|link| place.starts_with(link)) {
            return Err(StartError::Config(format!(
                "mountPath {:?} lies within another, {:?}, which processes cannot have",
                mount.mount_path,
                outer.strip_prefix(root).unwrap_or(outer).display()
            )));
        }
        let volume = volumes.join(&mount.name);
        let target = match (&mount.sub_path, &mount.sub_path_expr) {
            (Some(part), _) if !part.is_empty() => inside(&volume, part)?,
            (_, Some(part)) if !part.is_empty() => inside(&volume, &expansion::expanded(part, variables))?,
            _ => volume.clone(),
        };
        if !target.exists() {
            files::private_folder(&target).map_err(StartError::file(&target))?;
        }
        let above = place.parent().unwrap_or(root);
        files::private_folder(above).map_err(StartError::file(above))?;
        // An empty folder such as tmp makes room.
        if place.is_dir() {
            fs::remove_dir(&place).map_err(StartError::file(&place))?;
        }
        files::link(&target, &place).map_err(StartError::file(&place))?;
        let below = |path: &Path, above: &Path| path.strip_prefix(above).unwrap_or(path).to_owned();
        mounted.push(Mount {
            place: below(&place, root),
            part: below(&target, &volume),
            volume,
        });
        links.push(place);
    }
    Ok(mounted)
}

/// A path of a container in its folder.
pub(super) fn inside(root: &Path, path: &str) -> Result<PathBuf, StartError> {
    let mut place = root.to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(part) => place.push(part),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                return Err(StartError::Config(format!(
                    "the path {path:?} leads out of the container"
                )));
            }
        }
    }
    Ok(place)
}

#[cfg(all(test, unix))]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn mounted(mounts: Value) -> Result<tempfile::TempDir, StartError> {
        let folder = tempfile::tempdir().unwrap();
        let volumes = folder.path().join("volumes");
        fs::create_dir_all(volumes.join("a")).unwrap();
        fs::write(volumes.join("a/file"), "a").unwrap();
        let container = serde_json::from_value(json!({ "name": "c", "volumeMounts": mounts })).unwrap();
        let variables = [("WHERE".to_owned(), "deep".to_owned())].into();
        mount(&container, &folder.path().join("root"), &volumes, &variables).map(|_| folder)
    }

    #[test]
    fn a_volume_is_found_where_it_is_mounted() {
        let folder = mounted(json!([
            { "name": "a", "mountPath": "/etc/app" },
            { "name": "a", "mountPath": "/one.txt", "subPath": "file" },
            { "name": "a", "mountPath": "/tmp", "subPathExpr": "new/$(WHERE)" },
        ]))
        .unwrap();
        let root = folder.path().join("root");
        assert_eq!(fs::read(root.join("etc/app/file")).unwrap(), b"a");
        assert_eq!(fs::read(root.join("one.txt")).unwrap(), b"a");
        fs::write(root.join("tmp/written"), "x").unwrap();
        assert!(folder.path().join("volumes/a/new/deep/written").exists());
    }

    #[test]
    fn a_mount_that_leads_out_or_lies_in_another_is_refused() {
        for wrong in [
            json!([{ "name": "a", "mountPath": "/../up" }]),
            json!([{ "name": "a", "mountPath": "/x", "subPath": "../b" }]),
            json!([{ "name": "a", "mountPath": "/" }]),
            json!([{ "name": "a", "mountPath": "/x" }, { "name": "a", "mountPath": "/x/y" }]),
        ] {
            assert!(matches!(mounted(wrong.clone()), Err(StartError::Config(_))), "{wrong}");
        }
    }
}
