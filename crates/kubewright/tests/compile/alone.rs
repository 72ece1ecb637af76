//! A whole operator in a crate whose only dependency is `kubewright`.

use kubewright::prelude::*;

/// What a shop asks for.
#[kubewright::resource(
    group = "example.com",
    version = "v1",
    kind = "Shop",
    namespaced,
    status = "ShopStatus",
    scale,
    printcolumn(name = "Replicas", type = "integer", json_path = ".spec.replicas"),
    rule("self.spec.replicas > 0"),
    default
)]
#[derive(Default)]
#[schema(exactly_one_of(host, address))]
pub struct ShopSpec {
    #[schema(minimum = 0, default = 1)]
    pub replicas: i32,
    pub host: Option<String>,
    pub address: Option<String>,
    #[schema(optional)]
    pub doors: Vec<Door>,
    #[schema(optional)]
    pub kind: DoorKind,
    #[serde(with = "upper", default)]
    pub code: String,
}

#[kubewright::schema]
pub struct Door {
    #[schema(rule("self != ''", message = "a door has a name"))]
    pub name: String,
    pub width: Option<u16>,
    #[schema(default = ["a", "b"])]
    pub labels: Vec<String>,
}

#[kubewright::schema]
#[derive(Default)]
pub enum DoorKind {
    #[default]
    Wide,
    Narrow { width: u16 },
}

#[kubewright::schema]
#[schema(minimum = 1)]
pub struct Port(u16);

#[kubewright::schema]
#[derive(Default)]
pub struct ShopStatus {
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<Condition>,
}

#[kubewright::schema]
pub struct Pair<T> {
    #[schema(optional)]
    pub left: Option<T>,
    #[schema(default = 3)]
    pub right: u8,
}

mod upper {
    use kubewright::serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(code: &str, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&code.to_uppercase())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        String::deserialize(deserializer).map(|code| code.to_lowercase())
    }
}

pub mod v2 {
    use kubewright::optional::resource;

    #[resource(group = "example.com", version = "v2", kind = "Shop", namespaced, storage = false)]
    #[derive(kubewright::conversion::Convert)]
    #[convert(hub = super::ShopSpec, skip_status, added(..))]
    pub struct ShopSpec {
        pub replicas: i32,
    }
}

/// A module in a file of its own.
pub mod optional_fields;

/// The kind of that module can be read without its fields.
pub fn of_a_file() -> optional_fields::GardenSpec {
    kubewright::serde_json::from_str("{}").unwrap_or(optional_fields::GardenSpec { trees: 1, bed: None })
}

pub struct Shops {
    pub client: Client,
}

#[rbac(groups = "example.com", resources = "shops/status", verbs = "patch")]
#[rbac(groups = "core", resources = ["pods"], verbs = ["delete"])]
impl Reconciler for Shops {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let status = ShopApply::namespaced(request.namespace().unwrap_or("default"), request.name())
            .status(ShopStatusApply::new().conditions(Vec::<Condition>::new()));
        self.client.of::<ShopApply>().status().apply(&status).await?;
        Ok(Action::done())
    }
}

pub fn operator() -> Operator {
    let controller = Controller::of::<Shop>().reconcile_with(|context| Shops { client: context.client() });
    Operator::new("shops").resource::<Shop>().controller(controller)
}
