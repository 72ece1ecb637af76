//! What stands in a definition beside its schema.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// ObservedSpec is what is asked for.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Observed",
    namespaced,
    status = "ObservedStatus",
    doc = "Observed has a status of its own."
)]
pub struct ObservedSpec {
    /// Size is a number.
    pub size: Option<i32>,
}

/// ObservedStatus is what is there.
#[kubewright::schema]
pub struct ObservedStatus {
    /// Ready is how many are there.
    pub ready: Option<i32>,
    /// Conditions are what is known of it.
    #[schema(list_map_keys("type"))]
    pub conditions: Option<Vec<Condition>>,
}

/// ScalableSpec is how many are wanted.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Scalable",
    namespaced,
    status = "ScalableStatus",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    doc = "Scalable can be scaled."
)]
pub struct ScalableSpec {
    /// Replicas is how many.
    pub replicas: Option<i32>,
}

/// ScalableStatus is how many are there.
#[kubewright::schema]
pub struct ScalableStatus {
    /// Replicas is how many.
    pub replicas: Option<i32>,
    /// Selector finds them.
    pub selector: Option<String>,
}

/// TabularSpec has something to show.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Tabular",
    namespaced,
    printcolumn(
        name = "Size",
        type_ = "integer",
        json_path = ".spec.size",
        description = "How many",
        format = "int32"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#,
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    doc = "Tabular is shown in columns."
)]
pub struct TabularSpec {
    /// Size is a number.
    pub size: i32,
}

/// ChristenedSpec has nothing special.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Christened",
    plural = "names",
    singular = "name",
    shortname = "nm",
    shortname = "nms",
    category = "all",
    category = "namings",
    doc = "Christened has names of its own."
)]
pub struct ChristenedSpec {
    /// Size is a number.
    pub size: i32,
}

/// LabelledSpec has nothing special.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Labelled",
    namespaced,
    annotation("example.com/team", "shop"),
    annotation("example.com/note", "a=b"),
    label("tier", "back"),
    label("app", "shop"),
    doc = "Labelled has labels and annotations on its definition."
)]
pub struct LabelledSpec {
    /// Size is a number.
    pub size: i32,
}

/// SearchableSpec has fields to be found by.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Searchable",
    namespaced,
    selectable = ".spec.colour",
    selectable = ".spec.size",
    doc = "Searchable can be found by its fields."
)]
pub struct SearchableSpec {
    /// Colour is a text.
    pub colour: String,
    /// Size is a number.
    pub size: i32,
}

/// ReferencedSpec has documents for a field and a type.
#[kubewright::resource(
    group = "capabilities.example.com",
    version = "v1",
    kind = "Referenced",
    namespaced,
    doc = "Referenced has documents elsewhere."
)]
pub struct ReferencedSpec {
    /// Field has documents where it stands.
    #[schema(external_docs(url = "https://example.com/field", description = "all about it"))]
    pub field: String,
    /// Named has the documents of its type.
    pub named: DocumentedText,
}

/// DocumentedText is a text.
#[kubewright::schema]
#[schema(external_docs(url = "https://example.com/text"))]
pub struct DocumentedText(pub String);
