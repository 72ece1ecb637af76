//! Kinds of several versions, converted by the program itself.

use http::{Method, StatusCode};
use kube::CustomResource;
use kubewright_extension::{ApiServer, CreateRows, ExtensionServer, RowError, RowStore, Rows};
use kubewright_runtime::conversion::Conversion;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{ask, get};

mod v1beta1 {
    use super::*;

    /// A song, as it was.
    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(
        group = "music.example.com",
        version = "v1beta1",
        kind = "Song",
        namespaced,
        storage = false
    )]
    pub(crate) struct SongSpec {
        /// How long it is, in minutes.
        pub(crate) minutes: u32,
    }
}

/// A song.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "music.example.com", version = "v1", kind = "Song", namespaced)]
pub(crate) struct SongSpec {
    /// How long it is, in seconds.
    pub(crate) seconds: u32,
}

impl From<v1beta1::Song> for Song {
    fn from(song: v1beta1::Song) -> Self {
        let spec = SongSpec {
            seconds: song.spec.minutes * 60,
        };
        Song {
            metadata: song.metadata,
            spec,
        }
    }
}

impl From<Song> for v1beta1::Song {
    fn from(song: Song) -> Self {
        let spec = v1beta1::SongSpec {
            minutes: song.spec.seconds / 60,
        };
        v1beta1::Song {
            metadata: song.metadata,
            spec,
        }
    }
}

fn conversion() -> Conversion {
    Conversion::hub::<Song>().spoke::<v1beta1::Song>().into()
}

fn song(version: &str, field: &str, length: u32) -> serde_json::Value {
    json!({
        "apiVersion": format!("music.example.com/{version}"), "kind": "Song",
        "metadata": { "name": "aria", "namespace": "opera" }, "spec": { field: length },
    })
}

fn songs(version: &str) -> String {
    format!("/apis/music.example.com/{version}/namespaces/opera/songs")
}

async fn is_converted_both_ways(server: &ApiServer) {
    let (status, made) = ask(server, Method::POST, &songs("v1beta1"), song("v1beta1", "minutes", 3)).await;
    assert_eq!(
        (status, &made["spec"]["minutes"]),
        (StatusCode::CREATED, &json!(3)),
        "{made}"
    );
    let (_, stored) = get(server, &format!("{}/aria", songs("v1"))).await;
    assert_eq!(
        (&stored["spec"], &stored["apiVersion"]),
        (&json!({ "seconds": 180 }), &json!("music.example.com/v1"))
    );
    let (_, list) = get(server, &songs("v1beta1")).await;
    assert_eq!(list["items"][0]["spec"], json!({ "minutes": 3 }));
    let (_, group) = get(server, "/apis/music.example.com").await;
    assert_eq!(group["preferredVersion"]["version"], "v1");
}

#[tokio::test]
async fn objects_in_memory_are_converted_without_a_webhook_of_the_cluster() {
    let extension = ExtensionServer::new()
        .stored::<Song>()
        .stored::<v1beta1::Song>()
        .conversion(conversion());
    is_converted_both_ways(&extension.local_server().await.unwrap()).await;
}

#[derive(Default)]
struct Repertoire(Mutex<Vec<Song>>);

impl Rows<Song> for Repertoire {
    async fn list(&self, _namespace: Option<&str>) -> Result<Vec<Song>, RowError> {
        Ok(self.0.lock().clone())
    }
}

impl CreateRows<Song> for Repertoire {
    async fn create(&self, song: Song) -> Result<Song, RowError> {
        self.0.lock().push(song.clone());
        Ok(song)
    }
}

#[tokio::test]
async fn rows_are_of_one_version_and_served_in_all() {
    let rows = RowStore::<Song, _>::new(Repertoire::default()).create();
    let extension = ExtensionServer::new()
        .rows(rows)
        .stored::<v1beta1::Song>()
        .conversion(conversion());
    is_converted_both_ways(&extension.local_server().await.unwrap()).await;
}

#[tokio::test]
async fn a_kind_that_no_api_server_takes_is_refused_with_the_reason() {
    // Two versions, and nobody says which is stored.
    let extension = ExtensionServer::new().stored::<Song>().stored::<other::Song>();
    let error = extension.local_server().await.unwrap_err().to_string();
    assert!(error.contains("several versions of Song are stored"), "{error}");
}

mod other {
    use super::*;

    /// A song, once more.
    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "music.example.com", version = "v2", kind = "Song", namespaced)]
    pub(crate) struct SongSpec {
        /// How long it is.
        pub(crate) seconds: u32,
    }
}
