//! Version 2 says a parameter that many operations have once, under a name made from its text.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::parameter::{Parameter, ParameterLocation};

/// The parameters put aside so far.
#[derive(Default)]
pub(super) struct Shared {
    by_text: BTreeMap<String, String>,
    /// What was found out about a parameter, by its name, place and type, and then by its description.
    known: HashMap<(&'static str, ParameterLocation, &'static str), Vec<SharedParameter>>,
    pub parameters: Map<String, Value>,
}

/// A parameter seen before, and how it is written where it is used.
struct SharedParameter {
    description: Option<String>,
    written: Value,
}

impl Shared {
    pub(super) fn parameter(&mut self, parameter: &Parameter, description: Option<&str>) -> Value {
        let key = (parameter.name, parameter.place, parameter.kind);
        // Every name's description is another one.
        if parameter.name == "name" {
            return written(parameter, description).0;
        }
        let seen = self.known.get(&key).map(Vec::as_slice).unwrap_or_default();
        if let Some(known) = seen.iter().find(|known| known.description.as_deref() == description) {
            return known.written.clone();
        }
        let (mut written, text) = written(parameter, description);
        // Old clients look for these two where they are used.
        if !matches!(parameter.name, "fieldValidation" | "dryRun") {
            written = self.put(parameter.name, text, written);
        }
        self.known.entry(key).or_default().push(SharedParameter {
            description: description.map(str::to_owned),
            written: written.clone(),
        });
        written
    }

    /// The body of a request; those of the API machinery's own types are shared.
    pub(super) fn body(&mut self, schema: Value, required: bool) -> Value {
        let mut text = r#"{"name":"body","in":"body""#.to_owned();
        let mut written = json!({"name": "body", "in": "body"});
        if required {
            written["required"] = json!(true);
            text += r#","required":true"#;
        }
        let _ = write!(text, r#","schema":{schema}}}"#);
        let is_common = schema["$ref"]
            .as_str()
            .is_some_and(|target| target.starts_with("#/definitions/io.k8s.apimachinery"));
        written["schema"] = schema;
        if is_common {
            self.put("body", text, written)
        } else {
            written
        }
    }

    fn put(&mut self, name: &str, text: String, written: Value) -> Value {
        let parameters = &mut self.parameters;
        let named = self.by_text.entry(text).or_insert_with_key(|text| {
            let named = format!("{name}-{}", digest(text));
            parameters.insert(named.clone(), written);
            named
        });
        json!({"$ref": format!("#/parameters/{named}")})
    }
}

/// A parameter as it is written, and the text its name is made from: in the order of the API machinery's members.
fn written(parameter: &Parameter, description: Option<&str>) -> (Value, String) {
    let Parameter { name, place, kind, .. } = parameter;
    let mut text = format!(r#"{{"uniqueItems":true,"type":"{kind}""#);
    let mut written = json!({"name": name, "in": place.word(), "type": kind, "uniqueItems": true});
    if let Some(description) = description {
        written["description"] = json!(description);
        let _ = write!(text, r#","description":{}"#, written["description"]);
    }
    let _ = write!(text, r#","name":"{name}","in":"{}""#, place.word());
    if *place == ParameterLocation::Path {
        written["required"] = json!(true);
        text += r#","required":true"#;
    }
    text.push('}');
    (written, text)
}

/// Eight letters of base64 for the first six bytes of the 64-bit FNV-1 hash.
fn digest(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte)
    });
    (0..8)
        .map(|at| char::from(LETTERS[(hash >> (58 - 6 * at)) as usize % 64]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::parameter::{namespace, pretty};
    use crate::openapi::{NoTypeDocs, TypeDocs};

    /// Names in the document of kube-apiserver 1.36.
    #[test]
    fn a_shared_parameter_has_the_name_the_real_server_gives_it() {
        let mut shared = Shared::default();
        for parameter in [pretty(), namespace()] {
            let docs: &dyn TypeDocs = &NoTypeDocs;
            shared.parameter(&parameter, parameter.description(docs));
        }
        let patch = json!({"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Patch"});
        let options = json!({"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"});
        shared.body(patch, true);
        shared.body(options, false);
        let names: Vec<&String> = shared.parameters.keys().collect();
        assert_eq!(
            names,
            [
                "body-2Y1dVQaQ",
                "body-78PwaGsr",
                "namespace-vgWSWtn3",
                "pretty-tJGM1-ng"
            ]
        );
    }
}
