//! `Telescope`: what its users write, and what is observed of it.

/// What a `Telescope` asks for.
#[kubewright::resource(
    group = "sky.example.com",
    version = "v1alpha1",
    kind = "Telescope",
    namespaced,
    status = "TelescopeStatus"
)]
#[derive(Default)]
pub struct TelescopeSpec {
    // Add fields here: `#[schema(…)]` says which values they take. Then run `make manifests`.
    /// An example. Edit `telescope.rs` to remove or change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// What is observed of a `Telescope`.
#[kubewright::schema]
#[derive(Default)]
pub struct TelescopeStatus {
    // Add what your controller finds out; it must be able to find it out again.
    /// How it stands: `Available`, and what else you add.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<kubewright::prelude::Condition>,
}
