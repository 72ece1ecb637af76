//! `Busybox`: what its users write, and what is observed of it.

/// What a `Busybox` asks for.
#[kubewright::resource(
    group = "cache.example.com",
    version = "v1alpha1",
    kind = "Busybox",
    namespaced,
    status = "BusyboxStatus"
)]
pub struct BusyboxSpec {
    /// How many pods run the image.
    #[schema(default = 1, minimum = 0, maximum = 3)]
    pub size: i32,
}

/// What is observed of a `Busybox`.
#[kubewright::schema]
#[derive(Default)]
pub struct BusyboxStatus {
    /// `Available`: as many pods run as were asked for.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<kubewright::prelude::Condition>,
}
