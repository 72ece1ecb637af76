//! The webhooks of markdown-view, called by the embedded server.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::client::Client;
use kubewright_runtime::informer::{Cache, Declarations};
use kubewright_runtime::webhook::ClientConfig;
use serde_json::json;

use super::markdown_view::{MarkdownView, MarkdownViewSpec, operator};
use super::support::{create, install};

/// A server that knows the kind and calls its webhooks in this process.
async fn server() -> ApiServer {
    let server = ApiServer::new(Options::new());
    install(&server).await;
    let operator = operator();
    let client = Client::new(server.client(), Cache::new(Declarations::default()).unwrap());
    let webhooks = operator.webhook_server(&client).unwrap();
    let (namespace, name) = ("markdown-view-system", "markdown-view-webhook-service");
    server.handle_service(namespace, name, 443, webhooks.service());
    let configurations = operator.webhook_configurations(&ClientConfig::service(namespace, name));
    create(&server, &configurations.mutating.unwrap()).await;
    create(&server, &configurations.validating.unwrap()).await;
    server
}

fn views(server: &ApiServer) -> Api<MarkdownView> {
    Api::default_namespaced(server.client())
}

fn view(name: &str, file: &str, replicas: i32) -> MarkdownView {
    let spec = MarkdownViewSpec {
        markdowns: [(file.to_owned(), "# Summary".to_owned())].into(),
        replicas: Some(replicas),
        viewer_image: String::new(),
    };
    MarkdownView::new(name, spec)
}

#[tokio::test]
async fn a_view_without_a_viewer_gets_one() {
    let server = server().await;
    let made = views(&server)
        .create(&PostParams::default(), &view("docs", "SUMMARY.md", 1))
        .await
        .unwrap();
    assert_eq!(made.spec.viewer_image, "peaceiris/mdbook:latest");
    let mut own = view("own", "SUMMARY.md", 1);
    "mine".clone_into(&mut own.spec.viewer_image);
    let made = views(&server).create(&PostParams::default(), &own).await.unwrap();
    assert_eq!(made.spec.viewer_image, "mine");
}

#[tokio::test]
async fn a_wrong_view_is_refused_in_the_words_of_the_tutorial() {
    let server = server().await;
    let refused = |view: MarkdownView| {
        let views = views(&server);
        async move {
            match views.create(&PostParams::default(), &view).await {
                Err(kube::Error::Api(status)) => status,
                other => panic!("{other:?}"),
            }
        }
    };
    let status = refused(view("docs", "SUMMARY.md", 100)).await;
    assert_eq!(
        status.message,
        "admission webhook \"vmarkdownview.kb.io\" denied the request: MarkdownView.view.zoetrope.github.io \"docs\" is \
         invalid: spec.replicas: Invalid value: 100: replicas must be in the range of 1 to 5."
    );
    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    let causes = status.details.unwrap().causes;
    assert_eq!(
        (causes[0].reason.as_str(), causes[0].field.as_str()),
        ("FieldValueInvalid", "spec.replicas")
    );

    let status = refused(view("docs", "README.md", 0)).await;
    assert_eq!(
        status.message,
        "admission webhook \"vmarkdownview.kb.io\" denied the request: MarkdownView.view.zoetrope.github.io \"docs\" is \
         invalid: [spec.replicas: Invalid value: 0: replicas must be in the range of 1 to 5., spec.markdowns: Required value: \
         markdowns must have SUMMARY.md.]"
    );
}

#[tokio::test]
async fn an_update_is_judged_and_a_deletion_is_not() {
    let server = server().await;
    let views = views(&server);
    views
        .create(&PostParams::default(), &view("docs", "SUMMARY.md", 1))
        .await
        .unwrap();
    let patch = |replicas: i32| Patch::Merge(json!({ "spec": { "replicas": replicas } }));
    let error = views
        .patch("docs", &PatchParams::default(), &patch(6))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("spec.replicas: Invalid value: 6: replicas must be"),
        "{error}"
    );
    views.patch("docs", &PatchParams::default(), &patch(5)).await.unwrap();
    views.delete("docs", &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn fields_the_type_does_not_know_survive_the_defaulter() {
    let server = server().await;
    // The definition in the cluster is newer than the type in the webhook.
    let definitions: Api<CustomResourceDefinition> = Api::all(server.client());
    let mut definition = definitions.get("markdownviews.view.zoetrope.github.io").await.unwrap();
    let schema = definition.spec.versions[0].schema.as_mut().unwrap();
    let properties = schema.open_api_v3_schema.as_mut().unwrap().properties.as_mut().unwrap();
    properties.get_mut("spec").unwrap().x_kubernetes_preserve_unknown_fields = Some(true);
    let name = "markdownviews.view.zoetrope.github.io";
    definitions
        .replace(name, &PostParams::default(), &definition)
        .await
        .unwrap();

    let new: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "view.zoetrope.github.io/v1", "kind": "MarkdownView", "metadata": { "name": "docs" },
        "spec": { "markdowns": { "SUMMARY.md": "" }, "replicas": 2, "theme": { "colour": "dark", "sizes": [1, 2] } },
    }))
    .unwrap();
    let resource = ApiResource::erase::<MarkdownView>(&());
    let views: Api<DynamicObject> = Api::default_namespaced_with(server.client(), &resource);
    let made = views.create(&PostParams::default(), &new).await.unwrap();
    assert_eq!(
        made.data["spec"],
        json!({
            "markdowns": { "SUMMARY.md": "" }, "replicas": 2, "theme": { "colour": "dark", "sizes": [1, 2] },
            "viewerImage": "peaceiris/mdbook:latest",
        })
    );
}
