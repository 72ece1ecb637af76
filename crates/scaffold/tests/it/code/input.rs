//! Bad input: every refusal says what is wrong and what to do, and changes nothing.

use kubewright_scaffold::command::{ApiRequest, EditRequest, ImageRequest, WebhookRequest};
use kubewright_scaffold::{Project, names};

use super::test_project::{self, api, image, project, target, webhook};

fn refusal(request: &ApiRequest) -> String {
    let project = test_project::markdown_view().project();
    project
        .create_api(request)
        .expect_err("this was not refused")
        .to_string()
}

#[test]
fn names_that_kubernetes_or_rust_refuses() {
    let bad = [
        (
            api("View", "v1", "Foo"),
            "the group \"View\" must consist of lower case letters",
        ),
        (api("view..x", "v1", "Foo"), "the group \"view..x\" has an empty part"),
        (api("view", "1", "Foo"), "the version \"1\" must start with a letter"),
        (
            api("view", "v1.1", "Foo"),
            "the version \"v1.1\" must consist of lower case letters",
        ),
        (
            api("view", "latest", "Foo"),
            "the version \"latest\" must be v and a number, and may end in alpha or beta and a number (for example \"v1alpha1\")",
        ),
        (api("view", "mod", "Foo"), "the version \"mod\" must be v and a number"),
        (
            api("view", "v1gamma1", "Foo"),
            "the version \"v1gamma1\" must be v and a number",
        ),
        (
            api("view", "v1beta", "Foo"),
            "the version \"v1beta\" must be v and a number",
        ),
        (api("view", "", "Foo"), "the version \"\" is empty"),
        (api("view", "v1", ""), "the kind \"\" is empty"),
        (
            api("view", "v1", "foo"),
            "the kind \"foo\" must start with an upper case letter (for example \"Foo\")",
        ),
        (
            api("view", "v1", "My-Kind"),
            "must consist of letters and digits (for example \"MyKind\")",
        ),
        (api("view", "v1", "1Foo"), "the kind \"1Foo\" must start with a letter"),
        (api("view", "v1", "Ünicode"), "must consist of letters and digits"),
        (
            api("view", "v1", "Result"),
            "is a name that Rust or kubewright uses (for example \"MyResult\")",
        ),
        (api("view", "v1", &"A".repeat(64)), "is longer than 63 characters"),
    ];
    for (request, message) in bad {
        let error = refusal(&request);
        assert!(error.contains(message), "{error}");
        assert!(error.contains("for example"), "{error}");
    }
}

#[test]
fn names_of_projects_and_domains() {
    for name in [
        "",
        "Shop",
        "my shop",
        "-shop",
        "shop-",
        "1shop",
        "kubewright",
        "test",
        "async",
        &"s".repeat(29),
    ] {
        assert!(names::check_project(name).is_err(), "{name}");
    }
    for domain in [
        "",
        "Example.com",
        "example..com",
        ".com",
        "exa_mple.com",
        &"a.".repeat(130),
    ] {
        assert!(names::check_domain(domain).is_err(), "{domain}");
    }
    assert!(project("shop").with_repo("not a repo").is_err());
    assert!(
        project("shop")
            .with_license("gpl", "")
            .unwrap_err()
            .to_string()
            .contains("apache2")
    );
    assert!(project("shop").with_license("apache2", "a\nfn main() {}").is_err());
}

#[test]
fn kinds_that_cannot_stand_beside_those_there_are() {
    let error = refusal(&api("other", "v1", "Foo"));
    assert!(error.contains("kubewright edit --multigroup"), "{error}");
    let error = refusal(&api("view", "v1", "Markdownview"));
    assert!(error.contains("the same name in lower case as MarkdownView"), "{error}");
    let plural = ApiRequest {
        plural: "markdownviews".to_owned(),
        ..api("view", "v1", "Other")
    };
    assert!(refusal(&plural).contains("the same plural as MarkdownView"));
    let plural = ApiRequest {
        plural: "Others".to_owned(),
        ..api("view", "v1", "Other")
    };
    assert!(refusal(&plural).contains("the plural \"Others\""));
    let cluster = ApiRequest {
        namespaced: Some(false),
        ..api("view", "v2", "MarkdownView")
    };
    assert!(refusal(&cluster).contains("is in namespaces in version v1"));
    let second = ApiRequest {
        controller: Some(true),
        ..api("view", "v2", "MarkdownView")
    };
    assert!(refusal(&second).contains("has its controller for version v1; pass --controller=false"));
}

#[test]
fn controllers_for_what_is_not_there() {
    let without_types = |group: &str, version: &str, kind: &str| ApiRequest {
        resource: Some(false),
        ..api(group, version, kind)
    };
    let error = refusal(&without_types("view", "v1", "Other"));
    assert!(error.contains("--external-api-path"), "{error}");
    let error = refusal(&without_types("apps", "v1", "Deploymnt"));
    assert!(
        error.contains("Kubernetes has no Deploymnt apps/v1; it has v1: ") && error.contains("Deployment"),
        "{error}"
    );
    let error = refusal(&api("apps", "v1", "Mine"));
    assert!(
        error.contains("is a group of Kubernetes itself: pass --resource"),
        "{error}"
    );
    let nothing = ApiRequest {
        controller: Some(false),
        ..without_types("view", "v1", "MarkdownView")
    };
    assert!(refusal(&nothing).contains("nothing to create"));
    let path = ApiRequest {
        external_path: "cert manager".to_owned(),
        ..without_types("cert-manager", "v1", "Certificate")
    };
    assert!(refusal(&path).contains("is not the path of a Rust module"));
}

/// Kubebuilder's tutorial has a `CronJob` in a group `batch` of its own.
#[test]
fn a_kind_of_ones_own_may_be_in_a_group_that_is_called_like_one_of_kubernetes() {
    let request = ApiRequest {
        resource: Some(true),
        ..api("batch", "v1", "CronJob")
    };
    let project = project("cronjob").create_api(&request).unwrap();
    assert_eq!(project.resources[0].api_version(), "batch.ginoh.github.io/v1");
    assert!(project.resources[0].api.is_some() && !project.resources[0].core);
    // The next version is taken for the project's without a word, and so are webhooks.
    let project = project.create_api(&api("batch", "v2", "CronJob")).unwrap();
    let webhook = webhook(target("batch", "v1", "CronJob"), &["defaulting"]);
    let project = project.create_webhook(&webhook).unwrap();
    assert_eq!(project.resources.len(), 2);
    assert!(project.resources[0].defaults() && project.resources[0].api.is_some());
}

#[test]
fn images_and_their_options() {
    let with = |image: &str, change: &dyn Fn(&mut ImageRequest)| {
        let mut request = ImageRequest {
            image: image.to_owned(),
            ..ImageRequest::default()
        };
        change(&mut request);
        refusal(&ApiRequest {
            image: Some(request),
            ..api("view", "v1", "Cache")
        })
    };
    for bad in ["", "my image", "-x", "a\"b", "a\\b"] {
        assert!(with(bad, &|_| {}).contains("is not a container image"), "{bad}");
    }
    assert!(with("a:1", &|request| request.port = Some(0)).contains("--image-container-port 0"));
    assert!(with("a:1", &|request| request.run_as_user = Some(0)).contains("--run-as-user must be above 0"));
    assert!(with("a:1", &|request| request.command = vec!["a\nb".to_owned()]).contains("--image-container-command"));
    let cluster = ApiRequest {
        image: Some(image("a:1")),
        namespaced: Some(false),
        ..api("view", "v1", "Cache")
    };
    assert!(refusal(&cluster).contains("--namespaced=false"));
    let half = ApiRequest {
        image: Some(image("a:1")),
        controller: Some(false),
        ..api("view", "v1", "Cache")
    };
    assert!(refusal(&half).contains("--controller=false"));
}

#[test]
fn webhooks_that_cannot_be() {
    let mut project = test_project::markdown_view();
    project.create_api(&api("view", "v2", "MarkdownView")).unwrap();
    project.create_api(&api("view", "v3", "MarkdownView")).unwrap();
    let view = |version: &str| target("view", version, "MarkdownView");
    let conversion = WebhookRequest {
        target: view("v1"),
        conversion: true,
        ..WebhookRequest::default()
    };
    let spoke_alone = WebhookRequest {
        target: view("v1"),
        defaulting: true,
        spokes: vec!["v2".to_owned()],
        ..WebhookRequest::default()
    };
    let bad = [
        (webhook(view("v1"), &[]), "choose a webhook"),
        (
            webhook(view("v9"), &["defaulting"]),
            "there is no MarkdownView view/v9 in this project",
        ),
        (
            webhook(target("core", "v1", "Pood"), &["defaulting"]),
            "Kubernetes has no Pood core/v1",
        ),
        (
            conversion,
            "--conversion needs --spoke: the version that is converted to MarkdownView view/v1 (there is v2, v3)",
        ),
        (spoke_alone, "--spoke goes with --conversion"),
        (webhook(view("v1"), &["v9"]), "there is no version v9 of MarkdownView"),
        (webhook(view("v1"), &["v1"]), "cannot be its own --spoke"),
        (
            webhook(target("core", "v1", "Pod"), &["v2"]),
            "is not defined by this project",
        ),
    ];
    for (request, message) in bad {
        let error = project
            .create_webhook(&request)
            .expect_err("this was not refused")
            .to_string();
        assert!(error.contains(message), "{error}");
    }
    project.create_webhook(&webhook(view("v1"), &["v2"])).unwrap();
    let error = project
        .create_webhook(&webhook(view("v3"), &["v2"]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("has its hub in version v1"), "{error}");
}

#[test]
fn deleting_what_is_not_there_or_still_needed() {
    let mut project = test_project::markdown_view();
    project.create_api(&api("view", "v2", "MarkdownView")).unwrap();
    let view = |version: &str| target("view", version, "MarkdownView");
    project.create_webhook(&webhook(view("v1"), &["v2"])).unwrap();
    let before = project.clone();
    let errors = [
        (
            project.delete_api(&view("v9")),
            "there is no API of MarkdownView view/v9",
        ),
        (
            project.delete_api(&view("v1")),
            "has webhooks; `kubewright delete webhook`",
        ),
        (project.delete_api(&view("v2")), "is converted to v1"),
        (
            project.delete_webhook(&webhook(view("v2"), &[])),
            "there is no webhook of MarkdownView view/v2",
        ),
        (
            project.delete_webhook(&webhook(view("v1"), &["v9"])),
            "there is no version v9",
        ),
    ];
    for (done, message) in errors {
        let error = done.expect_err("this was not refused").to_string();
        assert!(error.contains(message), "{error}");
    }
    assert_eq!(project, before);
}

#[test]
fn edits_that_cannot_be() {
    let mut project = test_project::fleet();
    let error = project.edit(&EditRequest::default()).unwrap_err().to_string();
    assert!(error.contains("say what to change: --multigroup"), "{error}");
    let single = EditRequest {
        multigroup: Some(false),
        ..EditRequest::default()
    };
    let error = project.edit(&single).unwrap_err().to_string();
    assert!(error.contains("several groups (sea-creatures, ship)"), "{error}");
}

#[test]
fn project_files_that_cannot_be_used() {
    let whole = test_project::markdown_view().files["PROJECT"].clone();
    let bad = [
        ("", "PROJECT cannot be read"),
        ("[", "PROJECT is not YAML"),
        ("version: \"2\"\nprojectName: shop\n", "PROJECT has version \"2\""),
        (
            "version: \"3\"\nprojectName: My Shop\n",
            "PROJECT has a bad projectName",
        ),
        (
            &whole.replace("kind: MarkdownView", "kind: ../../etc"),
            "PROJECT has a bad resources[0].kind",
        ),
        (
            &whole.replace("group: view", "group: ../view"),
            "PROJECT has a bad resources[0].group",
        ),
        (
            &whole.replace("version: v1", "version: v1/.."),
            "PROJECT has a bad resources[0].version",
        ),
    ];
    for (text, message) in bad {
        let error = Project::parse(text).expect_err(text).to_string();
        assert!(error.contains(message), "{error}");
    }
    assert_eq!(Project::parse(&whole).unwrap().render(), whole);
}

#[test]
fn a_version_of_a_group_is_served_by_the_program_or_by_the_cluster() {
    let mut project = test_project::observatory();
    let aggregated = |version: &str, kind: &str| ApiRequest {
        aggregated: Some(true),
        ..api("sky", version, kind)
    };
    for request in [api("sky", "v1", "Comet"), aggregated("v1alpha1", "Comet")] {
        let error = project.create_api(&request).unwrap_err().to_string();
        assert!(error.contains("choose another --version or --group"), "{error}");
    }
    project.create_api(&aggregated("v1", "Comet")).unwrap();
}
