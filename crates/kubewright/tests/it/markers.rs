//! Every marker, the keyword it becomes, and a server that takes them all.

use kubewright::client::Client;
use kubewright::informer::Cache;
use kubewright::k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kubewright::prelude::*;
use kubewright::schemars::{JsonSchema, SchemaGenerator};
use kubewright::serde_json::{self, Value, from_value, json, to_value};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_manifests::definitions::{DefinitionOptions, render};

const MOST: i64 = 7;

#[kubewright::resource(group = "example.com", version = "v1", kind = "Zoo", namespaced)]
pub struct ZooSpec {
    #[schema(minimum = -1, maximum = MOST, multiple_of = 2)]
    pub numbers: i64,
    #[schema(minimum = 0.5, exclusive_minimum, maximum = 9, exclusive_maximum = true)]
    pub exclusive: f64,
    #[schema(min_length = 1, max_length = 9, pattern = "^[a-z]*$", format = "hostname")]
    pub text: String,
    #[schema(min_items = 1, max_items = 9, unique)]
    pub list: Vec<String>,
    #[schema(min_properties = 1, max_properties = 9, map_type = atomic)]
    pub map: BTreeMap<String, String>,
    #[schema(
        enum("a", "b"),
        title = "A letter",
        example = "a",
        external_docs = "https://example.com"
    )]
    pub letter: String,
    #[schema(external_docs(url = "https://example.com", description = "more"), example = { "a": [1] }, preserve_unknown)]
    pub docs: Cage,
    #[schema(nullable, description = "Said here.")]
    pub nothing: Option<String>,
    #[schema(list_map_keys("name", "size"), items(struct_type = "atomic"))]
    pub cages: Vec<Cage>,
    #[schema(list_type = atomic, items(items(minimum = 1)))]
    pub rows: Vec<Vec<i32>>,
    #[schema(schemaless, preserve_unknown)]
    pub anything: Cage,
    #[schema(int_or_string, pattern = "^[0-9]+%?$")]
    pub share: String,
    #[schema(embedded_resource)]
    pub template: Value,
    #[schema(type = "string", format = "int64")]
    pub big: Big,
    #[schema(
        rule("self > 0", message = "positive", reason = "FieldValueForbidden"),
        rule = "self < 10"
    )]
    pub ruled: i32,
    #[schema(required, non_empty)]
    pub filled: Option<String>,
    #[schema(required, default = "x")]
    pub both: String,
    #[schema(immutable)]
    pub fixed: Option<String>,
    #[schema(default)]
    pub switched: bool,
    #[schema(default = Animal::Cat)]
    pub animal: Animal,
    #[schema(default = 3)]
    pub maybe: Option<i32>,
    #[schema(default = ["a", "b"])]
    pub letters: Vec<String>,
    #[schema(default = 2)]
    pub ratio: f64,
}

#[kubewright::schema]
pub struct Cage {
    pub name: String,
    pub size: u8,
}

/// A number that JSON has as a text.
#[kubewright::schema]
#[serde(from = "String", into = "String")]
pub struct Big(i64);

impl From<String> for Big {
    fn from(text: String) -> Self {
        Big(text.parse().unwrap_or_default())
    }
}

impl From<Big> for String {
    fn from(big: Big) -> Self {
        big.0.to_string()
    }
}

#[kubewright::schema]
pub enum Animal {
    /// It purrs.
    Cat,
    #[schema(description = "It barks.")]
    Dog,
}

/// The schema of a type, as far as users wrote it.
fn schema<T: JsonSchema>() -> Value {
    let mut schema: Value = SchemaGenerator::default().into_root_schema_for::<T>().into();
    without_sources(&mut schema);
    schema
}

fn without_sources(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("x-kubewright-source");
            members.values_mut().for_each(without_sources);
        }
        Value::Array(items) => items.iter_mut().for_each(without_sources),
        _ => {}
    }
}

#[test]
fn each_marker_becomes_its_keyword() {
    let schema = schema::<ZooSpec>();
    let expected = json!({
        "numbers": { "type": "integer", "format": "int64", "minimum": -1, "maximum": 7, "multipleOf": 2 },
        "exclusive": {
            "type": "number", "format": "double",
            "minimum": 0.5, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": true,
        },
        "text": { "type": "string", "minLength": 1, "maxLength": 9, "pattern": "^[a-z]*$", "format": "hostname" },
        "list": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 9, "uniqueItems": true },
        "map": {
            "type": "object", "additionalProperties": { "type": "string" },
            "minProperties": 1, "maxProperties": 9, "x-kubernetes-map-type": "atomic",
        },
        "letter": {
            "type": "string", "enum": ["a", "b"], "title": "A letter", "example": "a",
            "externalDocs": { "url": "https://example.com" },
        },
        "docs": {
            "$ref": "#/$defs/Cage",
            "externalDocs": { "url": "https://example.com", "description": "more" },
            "example": { "a": [1] },
            "x-kubernetes-preserve-unknown-fields": true,
        },
        "nothing": { "type": "string", "nullable": true, "description": "Said here." },
        "cages": {
            "type": "array", "items": { "$ref": "#/$defs/Cage", "x-kubernetes-map-type": "atomic" },
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "size"],
        },
        "rows": {
            "type": "array",
            "items": { "type": "array", "items": { "type": "integer", "format": "int32", "minimum": 1 } },
            "x-kubernetes-list-type": "atomic",
        },
        "anything": { "x-kubernetes-preserve-unknown-fields": true },
        "share": { "x-kubernetes-int-or-string": true, "pattern": "^[0-9]+%?$" },
        "template": {
            "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true,
        },
        "big": { "type": "string", "format": "int64" },
        "ruled": {
            "type": "integer", "format": "int32",
            "x-kubernetes-validations": [
                { "rule": "self > 0", "message": "positive", "reason": "FieldValueForbidden" },
                { "rule": "self < 10" },
            ],
        },
        "filled": { "type": "string", "minLength": 1 },
        "both": { "type": "string", "default": "x" },
        "fixed": {
            "type": "string",
            "x-kubernetes-validations": [{ "rule": "self == oldSelf", "message": "field is immutable" }],
        },
        "switched": { "type": "boolean", "default": false },
        "animal": { "$ref": "#/$defs/Animal", "default": "Cat" },
        "maybe": { "type": "integer", "format": "int32", "default": 3 },
        "letters": { "type": "array", "items": { "type": "string" }, "default": ["a", "b"] },
        "ratio": { "type": "number", "format": "double", "default": 2.0 },
    });
    for (name, expected) in expected.as_object().unwrap() {
        assert_eq!(&schema["properties"][name], expected, "{name}");
    }
    assert_eq!(
        schema["properties"].as_object().unwrap().len(),
        expected.as_object().unwrap().len()
    );
    let optional = ["nothing", "fixed", "switched", "animal", "maybe", "letters", "ratio"];
    let required = schema["required"].as_array().unwrap();
    for name in expected.as_object().unwrap().keys() {
        assert_eq!(
            required.contains(&json!(name)),
            !optional.contains(&name.as_str()),
            "{name}"
        );
    }
    assert_eq!(
        schema["x-kubernetes-validations"],
        json!([{ "rule": "!has(oldSelf.fixed) || has(self.fixed)", "message": "field fixed is immutable once set" }])
    );
}

#[test]
fn variants_are_described_where_they_are_written() {
    let schema = schema::<Animal>();
    assert_eq!(schema["oneOf"][0]["description"], "It purrs.");
    assert_eq!(schema["oneOf"][1]["description"], "It barks.");
}

#[test]
fn rust_agrees_with_the_server_about_what_is_left_out() {
    let mut zoo = least();
    zoo.as_object_mut().unwrap().remove("both");
    let read: ZooSpec = from_value(zoo).unwrap();
    assert_eq!((read.both.as_str(), read.maybe, read.ratio), ("x", Some(3), 2.0));
    assert_eq!(
        (read.animal.clone(), read.letters.clone()),
        (Animal::Cat, vec!["a".to_owned(), "b".to_owned()])
    );
    let written = to_value(&read).unwrap();
    assert_eq!(written.get("fixed"), None);
    assert_eq!(written.get("nothing"), None);
}

#[test]
fn a_spec_may_have_a_default_and_an_object_no_spec() {
    #[kubewright::resource(group = "example.com", version = "v1", kind = "Nest", default = NestSpec { eggs: 2 })]
    struct NestSpec {
        eggs: u8,
    }
    #[kubewright::resource(group = "example.com", version = "v1", kind = "Egg", no_spec, rule("self.size > 0"))]
    struct EggSpec {
        size: u8,
    }
    let nest = schema::<Nest>();
    assert_eq!(nest.get("required"), None);
    assert_eq!(
        nest["properties"]["spec"],
        json!({ "$ref": "#/$defs/NestSpec", "default": { "eggs": 2 } })
    );
    assert_eq!(nest["description"], "Nest is the schema of the nests API.");
    let egg = schema::<Egg>();
    assert_eq!(egg["required"], json!(["size"]));
    assert_eq!(egg["properties"]["metadata"], json!({ "type": "object" }));
    assert_eq!(egg["x-kubernetes-validations"], json!([{ "rule": "self.size > 0" }]));
}

#[tokio::test(start_paused = true)]
async fn a_server_takes_what_the_markers_say() {
    let server = ApiServer::new(Options::new());
    let user = Client::new(server.client(), Cache::default())
        .live()
        .field_owner("owner");
    let operator = Operator::new("zoo").resource::<Zoo>().describe();
    let definitions = render(&operator, &DefinitionOptions::default()).unwrap();
    for definition in definitions {
        let definition: CustomResourceDefinition = serde_json::from_value(definition).unwrap();
        user.create(&definition).await.unwrap();
    }
    let mut zoo = Zoo::new("a", from_value(least()).unwrap());
    zoo.metadata.namespace = Some("default".to_owned());
    let created = user.create(&zoo).await.unwrap();
    assert_eq!(created.spec, zoo.spec);

    // What is left out, the server fills in as Rust does.
    let applied = user
        .apply(&ZooApply::namespaced("default", "b").set("spec", least()))
        .await
        .unwrap();
    assert_eq!(applied.object.object().unwrap().spec, zoo.spec);

    for (field, value, said) in [
        ("numbers", json!(9), "should be less than or equal to 7"),
        ("exclusive", json!(0.5), "should be greater than 0.5"),
        ("text", json!("A"), "should match '^[a-z]*$'"),
        ("list", json!(["a", "a"]), "duplicate entries"),
        ("letter", json!("c"), "supported values: \"a\", \"b\""),
        ("rows", json!([[0]]), "should be greater than or equal to 1"),
        ("share", json!("x"), "should match '^[0-9]+%?$'"),
        ("template", json!({}), "spec.template.apiVersion: Required value"),
        ("ruled", json!(0), "positive"),
        ("filled", json!(""), "should be at least 1 chars long"),
        ("animal", json!("Cow"), "supported values: \"Cat\", \"Dog\""),
    ] {
        let mut spec = least();
        spec[field] = value;
        let wrong = ZooApply::namespaced("default", "c").set("spec", spec);
        let error = user.apply(&wrong).await.unwrap_err().to_string();
        assert!(error.contains(said), "{field}: {error}");
    }
}

/// The fields that must be there.
fn least() -> Value {
    json!({
        "numbers": 2, "exclusive": 1.0, "text": "a", "list": ["a"], "map": { "a": "b" }, "letter": "a",
        "docs": { "name": "a", "size": 1 }, "cages": [], "rows": [], "anything": { "name": "a", "size": 1 },
        "share": "1", "template": { "apiVersion": "v1", "kind": "Pod", "metadata": {} }, "big": "1", "ruled": 1, "filled": "x",
        "both": "x",
    })
}
