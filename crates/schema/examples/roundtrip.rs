//! Decodes every JSON object in a directory and says which come back changed or incomplete; where the same object
//! stands beside it in protobuf (`.pb`), that must decode to the same value and be what the value encodes to.
//!
//! Meant for `k8s.io/api/testdata/HEAD`, where each served kind has an object with every field set:
//! `cargo run -p kubewright-schema --example roundtrip -- "$(go list -m -f '{{.Dir}}' k8s.io/api)/testdata/HEAD"`

use std::{env, error::Error, fs};

use kubewright_schema::{
    Types, decode,
    protobuf::{self, Envelope},
};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = env::args().nth(1).ok_or("usage: roundtrip DIRECTORY")?;
    let (mut same, mut different, mut skipped) = (0, 0, 0);
    let (mut decoded_same, mut encoded_same, mut in_protobuf) = (0, 0, 0);
    let mut files: Vec<_> = fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::path);
    for file in files
        .iter()
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "json"))
    {
        let value: Value = serde_json::from_slice(&fs::read(file.path())?)?;
        let api_version = value["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let Some(ty) = Types::builtin().kind(group, version, value["kind"].as_str().unwrap_or_default()) else {
            skipped += 1;
            continue;
        };
        let name = file.file_name();
        if let Ok(bytes) = fs::read(file.path().with_extension("pb")) {
            in_protobuf += 1;
            let envelope = Envelope::open(&bytes)?;
            match protobuf::decode(ty, envelope.raw) {
                Ok(mut object) => {
                    object["kind"] = envelope.kind.into();
                    object["apiVersion"] = envelope.api_version.into();
                    decoded_same += i32::from(object == value);
                    report(&format!("{} from protobuf: ", name.display()), &value, &object);
                }
                Err(error) => println!("{} from protobuf: {error}", name.display()),
            }
            match protobuf::encode_object(Types::builtin(), &value) {
                Ok(encoded) if encoded == bytes => encoded_same += 1,
                Ok(_) => println!("{}: other bytes in protobuf", name.display()),
                Err(error) => println!("{} to protobuf: {error}", name.display()),
            }
        }
        match decode(ty, value.clone(), None) {
            Ok(decoded) if decoded.value == value && decoded.unknown.is_empty() => same += 1,
            Ok(decoded) => {
                different += 1;
                println!("{}: unknown {:?}", name.display(), decoded.unknown);
                report("", &value, &decoded.value);
            }
            Err(error) => {
                different += 1;
                println!("{}: {error}", name.display());
            }
        }
    }
    println!("{same} the same, {different} different, {skipped} of kinds that are not served");
    println!(
        "{in_protobuf} in protobuf: {decoded_same} decode to the same value, {encoded_same} encode to the same bytes"
    );
    Ok(())
}

fn report(path: &str, before: &Value, after: &Value) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for key in before
                .keys()
                .chain(after.keys().filter(|key| !before.contains_key(*key)))
            {
                let null = Value::Null;
                report(
                    &format!("{path}.{key}"),
                    before.get(key).unwrap_or(&null),
                    after.get(key).unwrap_or(&null),
                );
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            before
                .iter()
                .zip(after)
                .for_each(|(before, after)| report(&format!("{path}[]"), before, after));
        }
        _ if before != after => println!("  {path}: {before} -> {after}"),
        _ => {}
    }
}
