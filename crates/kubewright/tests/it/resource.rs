//! A kind written with the attributes, and nothing but `kubewright` in sight: what its schema and its definition say.

use kubewright::prelude::*;
use kubewright::serde_json::{Value, json};

/// What a shop asks for.
#[kubewright::resource(
    group = "example.com",
    version = "v1",
    kind = "Shop",
    namespaced,
    status = "ShopStatus",
    shortnames("sh", "shp"),
    categories("all"),
    printcolumn(name = "Replicas", type = "integer", json_path = ".spec.replicas", priority = 1),
    scale(label_selector = ".status.selector"),
    selectable(".spec.colour"),
    labels("team" = "a"),
    annotations("note" = "b"),
    deprecated = "use v2",
    rule("self.metadata.name != 'x'", message = "not x"),
    doc = "A Shop sells."
)]
#[schema(at_most_one_of(colour, theme))]
pub struct ShopSpec {
    /// How many.
    #[schema(minimum = 0, maximum = 10, default = 1)]
    pub replicas: i32,
    #[schema(immutable, max_length = 20)]
    pub colour: Option<String>,
    pub theme: Option<Theme>,
    #[schema(
        list_map_keys("name"),
        max_items = 4,
        rule("self.size() != 3", message = "not three")
    )]
    pub doors: Vec<Door>,
    #[schema(optional, items(pattern = "^[a-z]+$"))]
    pub tags: Vec<String>,
    #[schema(default = [("a", 1)], values(maximum = 3))]
    pub limits: BTreeMap<String, u8>,
    #[schema(nullable, required)]
    pub note: Option<String>,
    #[schema(embedded_resource)]
    pub template: Option<Value>,
    #[schema(int_or_string)]
    pub port: Option<String>,
}

#[kubewright::schema]
pub struct Door {
    pub name: String,
    pub kind: Kind,
}

/// What a door is like.
#[kubewright::schema]
#[derive(Default)]
pub enum Kind {
    #[default]
    Wide,
    Narrow,
}

#[kubewright::schema]
pub enum Theme {
    Plain {
        back_ground: String,
    },
    Image {
        url: String,
        #[schema(default = 2)]
        depth: u8,
    },
}

#[kubewright::schema]
#[derive(Default)]
pub struct ShopStatus {
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<Condition>,
    #[schema(optional)]
    pub replicas: i32,
    pub selector: Option<String>,
}

fn described() -> Value {
    let operator = Operator::new("shops").resource::<Shop>();
    json!(operator.describe().definitions[0])
}

#[test]
fn the_definition_says_what_the_keys_say() {
    let definition = &described()["definition"];
    let version = &definition["spec"]["versions"][0];
    assert_eq!(definition["spec"]["names"]["shortNames"], json!(["sh", "shp"]));
    assert_eq!(definition["spec"]["names"]["categories"], json!(["all"]));
    assert_eq!(definition["metadata"]["labels"], json!({ "team": "a" }));
    assert_eq!(definition["metadata"]["annotations"], json!({ "note": "b" }));
    assert_eq!(version["deprecationWarning"], "use v2");
    assert_eq!(version["selectableFields"], json!([{ "jsonPath": ".spec.colour" }]));
    assert_eq!(
        version["additionalPrinterColumns"],
        json!([{ "name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas", "priority": 1 }])
    );
    assert_eq!(
        version["subresources"],
        json!({
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        })
    );
}

#[test]
fn the_schema_says_what_the_markers_say() {
    let schema = &described()["schema"];
    let spec = &schema["$defs"]["ShopSpec"];
    assert_eq!(spec["required"], json!(["doors", "note"]));
    assert_eq!(spec["properties"]["replicas"]["default"], 1);
    assert_eq!(spec["properties"]["replicas"]["maximum"], 10);
}
