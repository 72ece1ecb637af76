//! What the server warns of when a definition is written: formats it does not know and therefore ignores (C8).

use kubewright_apimachinery::go::quote;
use serde_json::Value;

use super::validate;

/// The formats of texts that are checked, without their dashes.
const TEXT_FORMATS: [&str; 26] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8slongname",
    "k8sshortname",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// Warns of every unknown format of a new definition.
pub fn warnings_on_create(object: &Value) -> Vec<String> {
    warnings(unknown_formats(object).into_iter())
}

/// Warns of the unknown formats that the old definition did not have.
pub fn warnings_on_update(object: &Value, old: &Value) -> Vec<String> {
    let known = unknown_formats(old);
    warnings(
        unknown_formats(object)
            .into_iter()
            .filter(|format| !known.contains(format)),
    )
}

fn warnings<'a>(formats: impl Iterator<Item = &'a str>) -> Vec<String> {
    formats
        .map(|format| format!("unrecognized format {}", quote(format)))
        .collect()
}

fn unknown_formats(object: &Value) -> Vec<&str> {
    validate::formats(object)
        .into_iter()
        .filter(|(kind, format)| !is_known(kind, format))
        .map(|(_, format)| format)
        .collect()
}

fn is_known(kind: &str, format: &str) -> bool {
    match kind {
        "" | "string" => TEXT_FORMATS.contains(&format.replace('-', "").as_str()),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}
