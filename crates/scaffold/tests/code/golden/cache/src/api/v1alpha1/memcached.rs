//! `Memcached`: what its users write, and what is observed of it.

/// What a `Memcached` asks for.
#[kubewright::resource(
    group = "cache.example.com",
    version = "v1alpha1",
    kind = "Memcached",
    namespaced,
    status = "MemcachedStatus"
)]
pub struct MemcachedSpec {
    /// How many pods run the image.
    #[schema(default = 1, minimum = 0, maximum = 3)]
    pub size: i32,

    /// Where the container listens.
    #[schema(default = 11211, minimum = 1, maximum = 65535)]
    pub container_port: i32,
}

/// What is observed of a `Memcached`.
#[kubewright::schema]
#[derive(Default)]
pub struct MemcachedStatus {
    /// `Available`: as many pods run as were asked for.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<kubewright::prelude::Condition>,
}
