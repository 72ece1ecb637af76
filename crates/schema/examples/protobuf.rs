//! Translates an object of a built-in kind: JSON on standard input to protobuf on standard output, and back.
//!
//! `cargo run -p kubewright-schema --example protobuf < pod.json | curl --data-binary @- …`

use std::{
    error::Error,
    io::{self, Read as _, Write as _},
};

use kubewright_schema::{
    Types,
    protobuf::{self, Envelope},
};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input)?;
    let output = if input.starts_with(b"k8s\0") {
        let envelope = Envelope::open(&input)?;
        let (group, version) = envelope
            .api_version
            .split_once('/')
            .unwrap_or(("", &envelope.api_version));
        let ty = Types::builtin()
            .kind(group, version, &envelope.kind)
            .ok_or_else(|| format!("{} {} is no built-in kind", envelope.api_version, envelope.kind))?;
        let mut object = protobuf::decode(ty, envelope.raw)?;
        object["kind"] = envelope.kind.into();
        object["apiVersion"] = envelope.api_version.into();
        serde_json::to_vec(&object)?
    } else {
        let object: Value = serde_json::from_slice(&input)?;
        protobuf::encode_object(Types::builtin(), &object)?
    };
    io::stdout().write_all(&output)?;
    Ok(())
}
