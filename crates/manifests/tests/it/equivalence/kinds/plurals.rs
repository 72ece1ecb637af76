//! Kinds whose names have a plural that is more than an s.

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Policy",
    namespaced,
    doc = "Policy is a kind."
)]
pub struct PolicySpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Box",
    namespaced,
    doc = "Box is a kind."
)]
pub struct BoxSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Gateway",
    namespaced,
    doc = "Gateway is a kind."
)]
pub struct GatewaySpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Index",
    namespaced,
    doc = "Index is a kind."
)]
pub struct IndexSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Analysis",
    namespaced,
    doc = "Analysis is a kind."
)]
pub struct AnalysisSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Status",
    namespaced,
    doc = "Status is a kind."
)]
pub struct StatusSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Child",
    namespaced,
    doc = "Child is a kind."
)]
pub struct ChildSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Quiz",
    namespaced,
    doc = "Quiz is a kind."
)]
pub struct QuizSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Leaf",
    namespaced,
    doc = "Leaf is a kind."
)]
pub struct LeafSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Bus",
    namespaced,
    doc = "Bus is a kind."
)]
pub struct BusSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Proxy",
    namespaced,
    doc = "Proxy is a kind."
)]
pub struct ProxySpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Dish",
    namespaced,
    doc = "Dish is a kind."
)]
pub struct DishSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Hero",
    namespaced,
    doc = "Hero is a kind."
)]
pub struct HeroSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Mouse",
    namespaced,
    doc = "Mouse is a kind."
)]
pub struct MouseSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Endpoints",
    namespaced,
    doc = "Endpoints is a kind."
)]
pub struct EndpointsSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Data",
    namespaced,
    doc = "Data is a kind."
)]
pub struct DataSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Ingress",
    namespaced,
    doc = "Ingress is a kind."
)]
pub struct IngressSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Kafka",
    namespaced,
    doc = "Kafka is a kind."
)]
pub struct KafkaSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Series",
    namespaced,
    doc = "Series is a kind."
)]
pub struct SeriesSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Sheep",
    namespaced,
    doc = "Sheep is a kind."
)]
pub struct SheepSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "DNS",
    namespaced,
    doc = "DNS is a kind."
)]
pub struct DnsSpec {}

/// Nothing has no fields.
#[kubewright::resource(
    group = "plurals.example.com",
    version = "v1",
    kind = "Photo",
    namespaced,
    doc = "Photo is a kind."
)]
pub struct PhotoSpec {}
