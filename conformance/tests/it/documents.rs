//! Documents of `OpenAPI` and aggregated discovery are the real server's, byte by byte (`upstream/documents` records their digests).

use std::fmt::Write as _;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::BodyExt as _;
use kubewright_conformance::embedded::Embedded;
use kubewright_conformance::target::Target;
use ring::digest::{SHA512, digest};
use serde_json::Value;

const RECORDED: &str = include_str!("../../documents.recorded.json");
const DEFINITION: &str = include_str!("../../documents.definition.yaml");

async fn body_of(server: &dyn Target, request: Request<Bytes>) -> Bytes {
    let response = server.send(request).await.expect("an answer");
    assert!(response.status().is_success(), "{}", response.status());
    response.into_body().collect().await.expect("a whole body").to_bytes()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes all");
        text
    })
}

#[tokio::test]
async fn documents_are_the_real_servers_to_the_byte() {
    let recorded: Vec<Value> = serde_json::from_str(RECORDED).expect("the recording is a list");
    assert!(recorded.len() > 50, "the recording holds {} documents", recorded.len());
    let server = Embedded::start();
    let mut different = Vec::new();
    for defined in [false, true] {
        if defined {
            let request = Request::post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
                .header(header::CONTENT_TYPE, "application/yaml")
                .body(Bytes::from_static(DEFINITION.as_bytes()))
                .expect("a request");
            body_of(&*server, request).await;
        }
        for document in recorded.iter().filter(|document| document["defined"] == defined) {
            let text = |key: &str| document[key].as_str().expect("a text");
            let request = Request::get(text("path"))
                .header(header::ACCEPT, text("accept"))
                .body(Bytes::new())
                .expect("a request");
            let body = body_of(&*server, request).await;
            if hexadecimal(digest(&SHA512, &body).as_ref()) != text("sha512") {
                different.push((defined, text("accept"), text("path")));
            }
        }
    }
    assert!(different.is_empty(), "{} differ: {different:?}", different.len());
}
