//! Server-side apply with the twins: the owner owns what it set, and the server keeps the rest.

use kubewright::client::Client;
use kubewright::informer::Cache;
use kubewright::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kubewright::prelude::*;
use kubewright::serde_json::{self, Value, json};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_manifests::definitions::{DefinitionOptions, render};

#[kubewright::resource(
    group = "example.com",
    version = "v1",
    kind = "Shop",
    namespaced,
    status = "ShopStatus"
)]
pub struct ShopSpec {
    #[schema(default = 1)]
    pub replicas: i32,
    pub title: String,
    #[schema(optional, list_map_keys("name"))]
    pub doors: Vec<Door>,
    #[schema(optional)]
    pub rooms: BTreeMap<String, Vec<Room>>,
    pub site: Option<Box<Site>>,
    #[serde(flatten)]
    pub extra: Extra,
    #[serde(with = "upper")]
    pub code: String,
}

#[kubewright::schema]
pub struct Door {
    pub name: String,
    pub width: Option<u16>,
    pub kind: DoorKind,
}

#[kubewright::schema]
#[derive(Default)]
pub enum DoorKind {
    #[default]
    Wide,
    Narrow,
}

#[kubewright::schema]
pub struct Room {
    pub size: f64,
    pub note: Option<String>,
}

#[kubewright::schema]
pub struct Site {
    pub host: String,
    pub r#type: Option<String>,
}

#[kubewright::schema]
pub struct Extra {
    pub colour: Option<String>,
}

#[kubewright::schema]
#[derive(Default)]
pub struct ShopStatus {
    #[schema(optional)]
    pub ready: i32,
    pub message: Option<String>,
}

/// A text that JSON has in capitals.
mod upper {
    use kubewright::serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(code: &str, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&code.to_uppercase())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        String::deserialize(deserializer).map(|code| code.to_lowercase())
    }
}

/// A server that knows the kind, and a client of this owner.
async fn server() -> (ApiServer, Client) {
    let server = ApiServer::new(Options::new());
    let user = Client::new(server.client(), Cache::default())
        .live()
        .field_owner("owner");
    let operator = Operator::new("shops").resource::<Shop>().describe();
    for definition in render(&operator, &DefinitionOptions::default()).unwrap() {
        let definition: CustomResourceDefinition = serde_json::from_value(definition).unwrap();
        user.create(&definition).await.unwrap();
    }
    (server, user)
}

/// The fields that an owner owns.
async fn owned(user: &Client, owner: &str, subresource: Option<&str>) -> Value {
    let shop = user
        .get::<Shop>(&ObjectKey::namespaced("default", "corner"))
        .await
        .unwrap();
    let entries = shop.metadata.managed_fields.clone().unwrap_or_default();
    let mut found = entries
        .iter()
        .filter(|entry| entry.manager.as_deref() == Some(owner) && entry.subresource.as_deref() == subresource);
    json!(found.next().and_then(|entry| entry.fields_v1.as_ref()))
}

#[test]
fn a_twin_says_only_what_was_set() {
    let shop = ShopApply::namespaced("default", "corner").label("app", "shop").spec(
        ShopSpecApply::new()
            .title("Corner")
            .doors([
                DoorApply::new().name("front"),
                DoorApply::new().name("back").width(80).kind(DoorKind::Narrow),
            ])
            .rooms([("big", [RoomApply::new().size(2.5)])])
            .site(SiteApply::new().r#type("web"))
            .extra(ExtraApply::new().colour("red"))
            .code("ab".to_owned()),
    );
    assert_eq!(
        serde_json::to_value(&shop).unwrap(),
        json!({
            "apiVersion": "example.com/v1",
            "kind": "Shop",
            "metadata": { "namespace": "default", "name": "corner", "labels": { "app": "shop" } },
            "spec": {
                "title": "Corner",
                "doors": [{ "name": "front" }, { "name": "back", "width": 80, "kind": "Narrow" }],
                "rooms": { "big": [{ "size": 2.5 }] },
                "site": { "type": "web" },
                "colour": "red",
                "code": "AB",
            },
        })
    );
}

#[test]
fn a_whole_value_stands_where_a_twin_may() {
    let room = Room { size: 1.0, note: None };
    let spec = ShopSpecApply::new().rooms(BTreeMap::from([("a".to_owned(), vec![room])]));
    assert_eq!(
        serde_json::to_value(spec).unwrap(),
        json!({ "rooms": { "a": [{ "size": 1.0 }] } })
    );
}

#[tokio::test(start_paused = true)]
async fn an_owner_owns_what_it_set_and_nothing_else() {
    let (_server, user) = server().await;
    let wanted = ShopApply::namespaced("default", "corner").spec(
        ShopSpecApply::new()
            .title("Corner")
            .code("ab".to_owned())
            .doors([DoorApply::new().name("front").kind(DoorKind::Wide)]),
    );
    let applied = user.apply(&wanted).await.unwrap();
    assert_eq!(applied.outcome, Outcome::Created);
    // The server's default is in the object, and nobody's who applied.
    assert_eq!(applied.object.object().unwrap().spec.replicas, 1);
    assert_eq!(
        owned(&user, "owner", None).await,
        json!({ "f:spec": {
            "f:title": {},
            "f:code": {},
            "f:doors": { "k:{\"name\":\"front\"}": { ".": {}, "f:name": {}, "f:kind": {} } },
        } })
    );

    // Somebody else scales; we take the door away, and the scale stays.
    let other = user.clone().field_owner("scaler");
    other
        .apply(&ShopApply::namespaced("default", "corner").spec(ShopSpecApply::new().replicas(3)))
        .await
        .unwrap();
    let wanted =
        ShopApply::namespaced("default", "corner").spec(ShopSpecApply::new().title("Corner").code("ab".to_owned()));
    let shop = user.apply(&wanted).await.unwrap().object.object().unwrap();
    assert_eq!((shop.spec.replicas, shop.spec.doors.len()), (3, 0));
    assert_eq!(
        owned(&user, "scaler", None).await,
        json!({ "f:spec": { "f:replicas": {} } })
    );
}

#[tokio::test(start_paused = true)]
async fn a_status_is_applied_on_its_own() {
    let (_server, user) = server().await;
    let wanted =
        ShopApply::namespaced("default", "corner").spec(ShopSpecApply::new().title("Corner").code("ab".to_owned()));
    user.apply(&wanted).await.unwrap();
    let status = ShopApply::namespaced("default", "corner").status(ShopStatusApply::new().message("open"));
    let shop = user
        .of::<ShopApply>()
        .status()
        .apply(&status)
        .await
        .unwrap()
        .object
        .object()
        .unwrap();
    assert_eq!(shop.status.unwrap().message.as_deref(), Some("open"));
    assert_eq!(
        owned(&user, "owner", Some("status")).await,
        json!({ "f:status": { "f:message": {} } })
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_server_refuses_is_told() {
    let (_server, user) = server().await;
    let wanted = ShopApply::namespaced("default", "corner").spec(ShopSpecApply::new().title("Corner"));
    let error = user.apply(&wanted).await.unwrap_err().to_string();
    assert!(error.contains("spec.code: Required value"), "{error}");
}
