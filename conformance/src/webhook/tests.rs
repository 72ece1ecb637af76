use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::*;

fn review() -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u-1"}})
}

fn body(form: &Value, review: &Value) -> Value {
    let mut scripts = Script::all(&json!({"a": form})).unwrap();
    serde_json::from_str(&scripts.get_mut("a").unwrap().next().body(review)).unwrap()
}

#[test]
fn a_script_without_words_allows() {
    let answer = body(&json!({}), &review());
    assert_eq!(answer["response"], json!({"uid": "u-1", "allowed": true}));
    assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
}

#[test]
fn what_a_script_says_stands_over_what_allows() {
    let form =
        json!({"response": {"uid": null, "allowed": false, "status": {"message": "no"}}, "review": {"kind": "Other"}});
    let answer = body(&form, &review());
    assert_eq!(
        answer["response"],
        json!({"allowed": false, "status": {"message": "no"}})
    );
    assert_eq!(answer["kind"], "Other");
}

#[test]
fn a_patch_is_encoded() {
    let answer = body(&json!({"patch": [{"op": "remove", "path": "/a"}]}), &review());
    assert_eq!(answer["response"]["patchType"], "JSONPatch");
    assert_eq!(answer["response"]["patch"], "W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2EifV0=");
}

#[test]
fn objects_are_converted_in_their_order() {
    let review = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {
        "uid": "u", "desiredAPIVersion": "g/v2",
        "objects": [{"apiVersion": "g/v1", "spec": {"a": 1}}, {"apiVersion": "g/v1", "spec": {}}],
    }});
    let answer = body(
        &json!({"convert": [{"to": "v2", "move": {"/spec/a": "/spec/b"}}]}),
        &review,
    );
    assert_eq!(
        answer["response"]["convertedObjects"],
        json!([{"apiVersion": "g/v2", "spec": {"b": 1}}, {"apiVersion": "g/v2", "spec": {}}])
    );
    assert_eq!(answer["response"]["result"], json!({"status": "Success"}));
}

#[test]
fn the_last_of_several_answers_goes_on() {
    let mut scripts = Script::all(&json!({"a": [{"status": 500}, {"status": 404}]})).unwrap();
    let script = scripts.get_mut("a").unwrap();
    let statuses: Vec<_> = (0..3).map(|_| script.next().status).collect();
    assert_eq!(statuses, [Some(500), Some(404), Some(404)]);
}

#[test]
fn a_script_that_makes_no_sense_is_named() {
    let error = Script::all(&json!({"a": {"alow": true}})).unwrap_err().to_string();
    assert!(error.starts_with("the webhook a makes no sense"), "{error}");
}

#[test]
fn calls_made_all_at_once_are_ordered_by_name() {
    let state = State::default();
    let scripts = json!({"validate-a": {}, "validate-b": {}, "z": {}, "quiet": {"noted": false}});
    state.cases().insert(
        "case".to_owned(),
        CaseState {
            scripts: Script::all(&scripts).unwrap(),
            calls: Vec::new(),
        },
    );
    for webhook in ["z", "validate-b", "validate-a", "quiet"] {
        let note = json!({"call": webhook, "body": review()});
        assert!(state.called("case", webhook, note).is_some());
    }
    let conversion = json!({"call": "z", "body": {"kind": "ConversionReview"}});
    assert!(state.called("case", "z", conversion).is_some());
    assert!(state.called("case", "other", json!(null)).is_none());
    let webhooks = WebhookServer {
        listening: Vec::new(),
        certificates: Arc::new(Certificates::generate().unwrap()),
        state: Arc::new(state),
    };
    let calls: Vec<_> = webhooks.calls("case").iter().map(|call| call["call"].clone()).collect();
    assert_eq!(calls, ["z", "validate-a", "validate-b"]);
    assert!(webhooks.calls("case").is_empty());
}

/// Calls a webhook of a running process as an API server does, with the process' CA bundle.
async fn called(served: &str, name: &str, path: &str) -> Result<(u16, String), String> {
    let variables = server().map_err(ToString::to_string)?.variables("served");
    let bundle = BASE64.decode(variables["webhook.ca"].as_str().unwrap()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&bundle).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let port = variables[&format!("{served}.port")].as_u64().unwrap();
    let tcp = TcpStream::connect(("127.0.0.1", u16::try_from(port).unwrap())).await;
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, tcp.unwrap()).await;
    let stream = stream.map_err(|error| error.to_string())?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let request = Request::post(path).header("Content-Type", "application/json");
    let request = request.body(Full::new(Bytes::from(review().to_string()))).unwrap();
    let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

#[tokio::test]
async fn the_process_answers_over_tls_and_notes_what_it_was_asked() {
    let webhooks = server().unwrap();
    let scripts = json!({"allow": {}, "fail": {"status": 500, "text": "no"}, "gone": {"close": true}});
    webhooks.open("served", Script::all(&scripts).unwrap());
    let (status, body) = called("webhook", "127.0.0.1", "/served/allow?timeout=1s")
        .await
        .unwrap();
    assert_eq!(status, 200);
    assert!(body.contains(r#""allowed":true"#) && body.contains("u-1"), "{body}");
    let failed = called("webhook", "hooks.ns.svc", "/served/fail/deeper").await;
    assert_eq!(failed, Ok((500, "no".to_owned())));
    assert!(called("webhook", "127.0.0.1", "/served/gone").await.is_err());
    assert_eq!(called("webhook", "127.0.0.1", "/served/unknown").await.unwrap().0, 404);
    assert_eq!(called("webhook", "127.0.0.1", "/another/allow").await.unwrap().0, 404);
    let calls: Vec<_> = webhooks
        .calls("served")
        .iter()
        .map(|call| call["call"].clone())
        .collect();
    assert_eq!(calls, ["POST /allow?timeout=1s", "POST /fail/deeper", "POST /gone"]);
    webhooks.close("served");
}

#[tokio::test]
async fn its_other_faces_are_refused_for_what_they_are() {
    for (served, why) in [
        ("webhook.expired", "expired"),
        ("webhook.stranger", "UnknownIssuer"),
        ("webhook.misnamed", "not valid for name"),
    ] {
        let refusal = called(served, "127.0.0.1", "/served/allow").await.unwrap_err();
        assert!(refusal.contains(why), "{served}: {refusal}");
    }
}
