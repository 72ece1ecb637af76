//! What `/version` answers: the Kubernetes level that is served, and what serves it.

use kubewright_codec::json;

/// The level that is served, in the order of upstream's type. Clients parse these fields to learn what a server can do.
pub(crate) fn info() -> [(&'static str, String); 13] {
    [
        ("major", "1"),
        ("minor", "36"),
        ("emulationMajor", "1"),
        ("emulationMinor", "36"),
        ("minCompatibilityMajor", "1"),
        ("minCompatibilityMinor", "35"),
        ("gitVersion", "v1.36.3"),
        ("gitCommit", concat!("kubewright-", env!("CARGO_PKG_VERSION"))),
        ("gitTreeState", "clean"),
        ("buildDate", "1970-01-01T00:00:00Z"),
        ("goVersion", "none"),
        ("compiler", "rustc"),
        ("platform", &format!("{}/{}", std::env::consts::OS, architecture())),
    ]
    .map(|(field, value)| (field, value.to_owned()))
}

/// The same as text.
pub(crate) fn text() -> Vec<u8> {
    let mut text = Vec::new();
    for (at, (field, value)) in info().iter().enumerate() {
        text.push(if at == 0 { b'{' } else { b',' });
        json::write_string(field, &mut text);
        text.push(b':');
        json::write_string(value, &mut text);
    }
    text.push(b'}');
    text
}

/// The processor under the name that Go, and with it every image registry, has for it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        other => other,
    }
}
