//! `Moon`: what its users write, and what is observed of it.

/// What a `Moon` asks for.
#[kubewright::resource(
    group = "sky.example.com",
    version = "v1",
    kind = "Moon",
    status = "MoonStatus"
)]
#[derive(Default)]
pub struct MoonSpec {
    // Add fields here: `#[schema(…)]` says which values they take. Then run `make manifests`.
    /// An example. Edit `moon.rs` to remove or change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// What is observed of a `Moon`.
#[kubewright::schema]
#[derive(Default)]
pub struct MoonStatus {
    // Add what your controller finds out; it must be able to find it out again.
    /// How it stands: `Available`, and what else you add.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<kubewright::prelude::Condition>,
}
