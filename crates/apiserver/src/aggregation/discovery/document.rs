//! Reads discovery documents of another server. What is no discovery is `None`; fields that discovery does not know are left out.

use serde_json::{Map, Value, json};

/// The resources of a version in an aggregated document; none if it does not mention the version.
pub(super) fn resources_of(document: &[u8], group: &str, version: &str) -> Option<Vec<Value>> {
    let document: Value = serde_json::from_slice(document).ok()?;
    if document["kind"] != "APIGroupDiscoveryList" {
        return None;
    }
    let mut found = Vec::new();
    for item in list(&document, "items")? {
        for one in list(item, "versions")? {
            let resources = list(one, "resources")?
                .iter()
                .map(resource)
                .collect::<Option<Vec<_>>>()?;
            if item["metadata"]["name"].as_str().unwrap_or_default() == group && one["version"] == version {
                found = resources;
            }
        }
    }
    Some(found)
}

/// The resources of an `APIResourceList`, in the form of the aggregated document.
pub(super) fn from_legacy(document: &[u8]) -> Option<Vec<Value>> {
    let document: Value = serde_json::from_slice(document).ok()?;
    if document["kind"] != "APIResourceList" {
        return None;
    }
    let mut resources: Vec<Value> = Vec::new();
    let listed = list(&document, "resources")?;
    let scope = |one: &Value| {
        if one["namespaced"] == true {
            "Namespaced"
        } else {
            "Cluster"
        }
    };
    for one in listed {
        let name = one["name"].as_str()?;
        if name.contains('/') {
            continue;
        }
        let mut entry = json!({
            "resource": name,
            "responseKind": kind(one),
            "scope": scope(one),
            "singularResource": one["singularName"].as_str().unwrap_or_default(),
            "verbs": texts(one, "verbs")?,
        });
        put_names(&mut entry, one)?;
        resources.push(entry);
    }
    for one in listed {
        let Some((parent, part)) = one["name"].as_str()?.split_once('/') else {
            continue;
        };
        let known = resources.iter().position(|resource| resource["resource"] == parent);
        let at = known.unwrap_or_else(|| {
            let empty = json!({ "group": "", "version": "", "kind": "" });
            resources.push(json!({
                "resource": parent, "responseKind": empty, "scope": scope(one), "singularResource": "", "verbs": null,
            }));
            resources.len() - 1
        });
        if resources[at]["scope"] != scope(one) {
            return None;
        }
        let subresource = json!({ "subresource": part, "responseKind": kind(one), "verbs": texts(one, "verbs")? });
        match resources[at].get_mut("subresources").and_then(Value::as_array_mut) {
            Some(subresources) => subresources.push(subresource),
            None => resources[at]["subresources"] = json!([subresource]),
        }
    }
    Some(resources)
}

fn resource(from: &Value) -> Option<Value> {
    let mut entry = json!({
        "resource": from["resource"].as_str().unwrap_or_default(),
        "responseKind": kind(&from["responseKind"]),
        "scope": from["scope"].as_str().unwrap_or_default(),
        "singularResource": from["singularResource"].as_str().unwrap_or_default(),
        "verbs": texts(from, "verbs")?,
    });
    put_names(&mut entry, from)?;
    let parts = list(from, "subresources")?;
    if !parts.is_empty() {
        let parts = parts.iter().map(subresource).collect::<Option<Vec<_>>>()?;
        entry["subresources"] = parts.into();
    }
    Some(entry)
}

fn subresource(from: &Value) -> Option<Value> {
    let mut entry = Map::new();
    entry.insert(
        "subresource".into(),
        from["subresource"].as_str().unwrap_or_default().into(),
    );
    entry.insert("responseKind".into(), kind(&from["responseKind"]));
    let accepted = list(from, "acceptedTypes")?;
    if !accepted.is_empty() {
        entry.insert("acceptedTypes".into(), accepted.iter().map(kind).collect());
    }
    entry.insert("verbs".into(), texts(from, "verbs")?);
    Some(entry.into())
}

fn put_names(entry: &mut Value, from: &Value) -> Option<()> {
    for key in ["shortNames", "categories"] {
        let names = texts(from, key)?;
        if names.as_array().is_some_and(|names| !names.is_empty()) {
            entry[key] = names;
        }
    }
    Some(())
}

fn kind(from: &Value) -> Value {
    let text = |key: &str| from[key].as_str().unwrap_or_default();
    json!({ "group": text("group"), "version": text("version"), "kind": text("kind") })
}

/// A list; none of it is an empty one, anything else is a mistake.
fn list<'v>(of: &'v Value, key: &str) -> Option<&'v [Value]> {
    match of.get(key) {
        None | Some(Value::Null) => Some(&[]),
        Some(Value::Array(items)) => Some(items),
        Some(_) => None,
    }
}

/// A list of texts, or null.
fn texts(of: &Value, key: &str) -> Option<Value> {
    let items = list(of, key)?;
    if items.iter().any(|item| !item.is_string()) {
        return None;
    }
    Some(of.get(key).cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_discovery_is_nothing() {
        for lie in [
            "",
            "[]",
            "{}",
            r#"{"kind":"APIGroupDiscoveryList","items":7}"#,
            r#"{"kind":"APIGroupDiscoveryList","items":[{"versions":[{"version":"v1","resources":"all"}]}]}"#,
            r#"{"kind":"APIGroupDiscoveryList","items":[{"versions":[{"version":"v1","resources":[{"verbs":[1]}]}]}]}"#,
        ] {
            assert_eq!(resources_of(lie.as_bytes(), "g", "v1"), None, "{lie}");
            assert_eq!(from_legacy(lie.as_bytes()), None, "{lie}");
        }
    }

    #[test]
    fn resources_of_another_version_are_left_out() {
        let document = json!({
            "kind": "APIGroupDiscoveryList",
            "items": [{"metadata": {"name": "g"}, "versions": [
                {"version": "v1", "resources": [{"resource": "as", "scope": "Namespaced", "verbs": ["get"], "unknown": 1}]},
                {"version": "v2", "resources": [{"resource": "bs", "scope": "Cluster", "verbs": []}]},
            ]}],
        });
        let text = document.to_string();
        let found = resources_of(text.as_bytes(), "g", "v1").unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["resource"], "as");
        assert_eq!(found[0].get("unknown"), None);
        assert_eq!(resources_of(text.as_bytes(), "g", "v9"), Some(Vec::new()));
    }

    #[test]
    fn a_legacy_list_gives_resources_with_their_subresources() {
        let list = json!({"kind": "APIResourceList", "groupVersion": "g/v1", "resources": [
            {"name": "as", "singularName": "a", "namespaced": true, "kind": "A", "verbs": ["get"], "shortNames": ["x"]},
            {"name": "as/status", "singularName": "", "namespaced": true, "kind": "A", "verbs": ["get"]},
            {"name": "bs/scale", "singularName": "", "namespaced": false, "kind": "Scale", "group": "autoscaling", "version": "v1", "verbs": []},
        ]});
        let resources = from_legacy(list.to_string().as_bytes()).unwrap();
        assert_eq!(resources[0]["subresources"][0]["subresource"], "status");
        assert_eq!(resources[0]["shortNames"], json!(["x"]));
        assert_eq!(resources[1]["resource"], "bs");
        assert_eq!(resources[1]["subresources"][0]["responseKind"]["group"], "autoscaling");
    }
}
