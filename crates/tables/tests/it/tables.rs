//! Tables as text, for gets, lists and watches.

use std::sync::Arc;

use jiff::Timestamp;
use kubewright_tables::{IncludeObject, ListMeta, Printer, Table, TableVersion, custom::Columns};
use serde_json::{Value, json};

fn table(group: &str, plural: &str, include: IncludeObject) -> Table {
    Table {
        printer: Printer::builtin(group, plural, "").expect("a printer"),
        version: TableVersion::V1,
        include,
    }
}

fn list(table: &Table, meta: &ListMeta<'_>, objects: &[Value]) -> Value {
    let mut out = Vec::new();
    table
        .write_list(&mut out, meta, objects.iter().cloned(), Timestamp::UNIX_EPOCH)
        .expect("printable");
    serde_json::from_slice(&out).expect("JSON")
}

fn one(table: &Table, object: &Value, with_columns: bool) -> String {
    let mut out = Vec::new();
    table
        .write_object(&mut out, object, with_columns, Timestamp::UNIX_EPOCH)
        .expect("printable");
    String::from_utf8(out).expect("text")
}

fn config_map(name: &str) -> Value {
    json!({
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": name, "resourceVersion": "7", "creationTimestamp": "1970-01-01T00:00:00Z"},
        "data": {"k": "v"},
    })
}

#[test]
fn a_list_keeps_its_metadata_and_names_its_columns() {
    let table = table("", "configmaps", IncludeObject::None);
    let meta = ListMeta {
        resource_version: "9",
        continue_token: "token",
        remaining_item_count: Some(3),
    };
    let written = list(&table, &meta, &[config_map("a"), config_map("b")]);
    assert_eq!(written["kind"], "Table");
    assert_eq!(written["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(
        written["metadata"],
        json!({"resourceVersion": "9", "continue": "token", "remainingItemCount": 3})
    );
    assert_eq!(written["columnDefinitions"][0]["format"], "name");
    assert_eq!(
        written["rows"],
        json!([{"cells": ["a", 1, "0s"], "object": null}, {"cells": ["b", 1, "0s"], "object": null}])
    );
}

#[test]
fn an_empty_list_has_no_rows_and_the_default_printer_says_null() {
    let meta = ListMeta::default();
    let written = list(&table("", "configmaps", IncludeObject::None), &meta, &[]);
    assert_eq!(written["rows"], json!([]));
    assert_eq!(written["metadata"], json!({}));
    let written = list(&table("", "limitranges", IncludeObject::None), &meta, &[]);
    assert_eq!(written["rows"], Value::Null);
}

#[test]
fn a_later_watch_frame_is_written_to_the_letter() {
    let table = table("", "configmaps", IncludeObject::Metadata);
    assert_eq!(
        one(&table, &config_map("a"), false),
        concat!(
            r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":null,"#,
            r#""rows":[{"cells":["a",1,"0s"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","#,
            r#""metadata":{"name":"a","resourceVersion":"7","creationTimestamp":"1970-01-01T00:00:00Z"}}}]}"#,
            "\n"
        )
    );
}

#[test]
fn a_finished_pod_has_a_condition_on_its_row() {
    let table = table("", "pods", IncludeObject::None);
    let pod = json!({"metadata": {"name": "p"}, "status": {"phase": "Succeeded"}});
    let written: Value = serde_json::from_str(&one(&table, &pod, true)).expect("JSON");
    assert_eq!(
        written["rows"][0]["conditions"],
        json!([{
            "type": "Completed",
            "status": "True",
            "reason": "Succeeded",
            "message": "The pod has completed successfully.",
        }])
    );
}

#[test]
fn the_end_of_the_initial_events_is_marked_even_where_rows_carry_nothing() {
    let table = table("", "configmaps", IncludeObject::None);
    let mut bookmark =
        json!({"metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}});
    let written: Value = serde_json::from_str(&one(&table, &bookmark, false)).expect("JSON");
    assert_eq!(written["rows"][0]["object"]["metadata"], bookmark["metadata"]);
    bookmark["metadata"]["annotations"] = json!({});
    let written: Value = serde_json::from_str(&one(&table, &bookmark, false)).expect("JSON");
    assert_eq!(written["rows"][0]["object"], Value::Null);
}

#[test]
fn flow_schemas_are_sorted_by_precedence_and_name() {
    let schema =
        |name: &str, precedence: i64| json!({"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}});
    let table = table("flowcontrol.apiserver.k8s.io", "flowschemas", IncludeObject::None);
    let objects = [schema("a", 9), schema("c", 5), schema("b", 5)];
    let written = list(&table, &ListMeta::default(), &objects);
    let names: Vec<&Value> = (0..3).map(|at| &written["rows"][at]["cells"][0]).collect();
    assert_eq!(names, ["b", "c", "a"]);
}

#[test]
fn an_unknown_include_object_is_refused_in_upstreams_words() {
    assert_eq!(IncludeObject::parse(""), Ok(IncludeObject::Metadata));
    assert_eq!(IncludeObject::parse("None"), Ok(IncludeObject::None));
    assert_eq!(
        IncludeObject::parse("a\"b").expect_err("refused").to_string(),
        r#"Unable to convert to Table as requested: includeObject: Invalid value: "a\"b": must be 'Metadata', 'Object', 'None', or empty"#
    );
}

#[test]
fn an_owner_with_a_strange_version_cannot_be_printed() {
    let printer = Printer::builtin("apps", "controllerrevisions", "").expect("a printer");
    let owner = json!({"apiVersion": "a/b/c", "kind": "K", "name": "n", "controller": true});
    let revision = json!({"metadata": {"name": "r", "ownerReferences": [owner]}});
    let error = printer
        .row(&revision, Timestamp::UNIX_EPOCH)
        .expect_err("not printable");
    assert_eq!(error.to_string(), "unexpected GroupVersion string: a/b/c");
}

#[test]
fn custom_cells_have_the_type_of_their_column_or_are_null() {
    let columns = json!([
        {"name": "Text", "type": "string", "jsonPath": ".spec.v"},
        {"name": "Integer", "type": "integer", "jsonPath": ".spec.v", "priority": 1, "description": "whole"},
        {"name": "Number", "type": "number", "jsonPath": ".spec.v"},
        {"name": "Truth", "type": "boolean", "jsonPath": ".spec.v"},
        {"name": "Date", "type": "date", "jsonPath": ".spec.v"},
    ]);
    let printer = Printer::Custom(Arc::new(Columns::new(&columns)));
    let print = |value: Value| {
        let object = json!({"metadata": {"name": "n"}, "spec": {"v": value}});
        Value::from(printer.row(&object, Timestamp::UNIX_EPOCH).expect("printable").cells)
    };
    assert_eq!(
        print(json!("text")),
        json!(["n", "text", null, null, null, "<invalid>"])
    );
    assert_eq!(print(json!(7)), json!(["n", "7", 7, 7.0, null, null]));
    assert_eq!(print(json!(2.9)), json!(["n", "2.9", 2, 2.9, null, null]));
    assert_eq!(print(json!(1e300)), json!(["n", "1e+300", i64::MIN, 1e300, null, null]));
    assert_eq!(print(json!(true)), json!(["n", "true", null, null, true, null]));
    assert_eq!(
        print(json!(["<"])),
        json!(["n", "[\"\\u003c\"]", null, null, null, null])
    );
    assert_eq!(print(json!("")), json!(["n", "", null, null, null, "<unknown>"]));
    assert_eq!(
        print(json!("1969-12-31T23:00:00Z")),
        json!(["n", "1969-12-31T23:00:00Z", null, null, null, "60m"])
    );
    let described = &printer.columns()[1];
    assert_eq!(
        described.description,
        "Custom resource definition column (in JSONPath format): .spec.v"
    );
    assert_eq!(
        (&*printer.columns()[2].description, printer.columns()[2].priority),
        ("whole", 1)
    );
}

#[test]
fn columns_end_before_the_first_path_that_cannot_be_parsed() {
    let columns = json!([
        {"name": "A", "type": "string", "jsonPath": ".a"},
        {"name": "B", "type": "string", "jsonPath": ".b["},
        {"name": "C", "type": "string", "jsonPath": ".c"},
    ]);
    let columns = Columns::new(&columns);
    let names: Vec<&str> = columns.columns().iter().map(|column| &*column.name).collect();
    assert_eq!(names, ["Name", "A"]);
}

#[test]
fn without_columns_a_custom_resource_shows_its_age() {
    for none in [Value::Null, json!([])] {
        let columns = Columns::new(&none);
        let names: Vec<&str> = columns.columns().iter().map(|column| &*column.name).collect();
        assert_eq!(names, ["Name", "Age"]);
        assert!(
            columns.columns()[1]
                .description
                .starts_with("CreationTimestamp is a timestamp")
        );
    }
    let scale = Columns::of_scale();
    let names: Vec<&str> = scale.columns().iter().map(|column| &*column.name).collect();
    assert_eq!(names, ["Name", "Desired", "Available", "Age"]);
}
