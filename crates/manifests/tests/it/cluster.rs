//! A server to ask, and golden files to compare with.

use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Options};
use serde_json::Value;

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) warnings: Vec<String>,
    pub(crate) body: Value,
}

pub(crate) struct Cluster(ApiServer);

impl Cluster {
    pub(crate) fn new() -> Self {
        Cluster(ApiServer::new(Options::new()))
    }

    /// Creates an object, fields and all.
    pub(crate) async fn create(&self, collection: &str, object: &Value) -> Answer {
        let request = http::Request::post(format!("{collection}?fieldValidation=Strict"))
            .header("content-type", "application/json")
            .body(object.to_string().into())
            .unwrap();
        let answer = self.0.handle(request).await;
        let code = answer.status().as_u16();
        let warnings = answer.headers().get_all("warning");
        let warnings = warnings
            .iter()
            .filter_map(|warning| warning.to_str().ok())
            .map(str::to_owned)
            .collect();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        Answer {
            code,
            warnings,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        }
    }

    /// Creates a definition that nobody finds fault with.
    pub(crate) async fn define(&self, definition: &Value) {
        let answer = self
            .create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
            .await;
        let name = &definition["metadata"]["name"];
        assert_eq!(answer.code, 201, "{name}: {:#}\n{definition:#}", answer.body);
        assert_eq!(answer.warnings, Vec::<String>::new(), "{name}");
        let conditions = answer.body["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let odd = conditions
            .iter()
            .find(|condition| condition["type"] == "NonStructuralSchema");
        assert_eq!(odd, None, "{name}");
    }
}

/// Compares a text with the file of that name, or writes the file where that is asked for.
pub(crate) fn golden(name: &str, rendered: &str) {
    let path = format!("{}/tests/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, rendered).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(rendered, expected, "{name}: run with UPDATE_GOLDEN=1 if this is meant");
}
