//! Commands that are repeated change nothing; commands that undo each other leave nothing behind.

use kubewright_scaffold::command::{ApiRequest, EditRequest};
use kubewright_scaffold::plan::{Change, Options};

use super::test_project::{self, TestProject, api, image, target, webhook};

#[test]
fn a_command_that_is_repeated_changes_nothing() {
    let mut project = test_project::fleet();
    let before = project.clone();
    assert_eq!(project.create_api(&api("ship", "v1", "Frigate")).unwrap(), []);
    assert_eq!(
        project
            .create_webhook(&webhook(target("ship", "v1", "Frigate"), &["v2"]))
            .unwrap(),
        []
    );
    assert_eq!(
        project
            .create_webhook(&webhook(target("core", "v1", "Pod"), &["defaulting"]))
            .unwrap(),
        []
    );
    let multigroup = EditRequest {
        multigroup: Some(true),
        ..EditRequest::default()
    };
    assert_eq!(project.edit(&multigroup).unwrap(), []);
    assert_eq!(project, before);
}

#[test]
fn edits_do_not_make_a_repeated_command_do_anything() {
    let mut project = test_project::markdown_view();
    project.append("src/api/v1/markdown_view.rs", "\npub struct Mine;\n");
    project.append("README.md", "\nMine.\n");
    assert_eq!(project.create_api(&api("view", "v1", "MarkdownView")).unwrap(), []);
}

#[test]
fn deleting_undoes_creating_exactly() {
    let empty = TestProject::named("markdown-view");
    let mut project = empty.clone();
    project.create_api(&api("view", "v1", "MarkdownView")).unwrap();
    let with_api = project.clone();
    let view = || target("view", "v1", "MarkdownView");
    project.create_webhook(&webhook(view(), &["defaulting"])).unwrap();
    let with_defaults = project.clone();
    project.create_webhook(&webhook(view(), &["validation"])).unwrap();
    project.create_api(&api("view", "v2", "MarkdownView")).unwrap();
    let with_versions = project.clone();
    project.create_webhook(&webhook(view(), &["v2"])).unwrap();

    project.delete_webhook(&webhook(view(), &["v2"])).unwrap();
    assert_eq!(project, with_versions);
    project.delete_api(&target("view", "v2", "MarkdownView")).unwrap();
    project.delete_webhook(&webhook(view(), &["validation"])).unwrap();
    assert_eq!(project, with_defaults);
    project.delete_webhook(&webhook(view(), &[])).unwrap();
    assert_eq!(project, with_api);
    project.delete_api(&view()).unwrap();
    assert_eq!(project, empty);
}

#[test]
fn deleting_foreign_kinds_and_images_undoes_creating_them() {
    let empty = TestProject::named("fleet");
    let mut project = empty.clone();
    let deployments = ApiRequest {
        resource: Some(false),
        ..api("apps", "v1", "Deployment")
    };
    project.create_api(&deployments).unwrap();
    project
        .create_webhook(&webhook(target("core", "v1", "Pod"), &["validation"]))
        .unwrap();
    let memcached = ApiRequest {
        image: Some(image("memcached:1.6")),
        ..api("cache", "v1", "Memcached")
    };
    project.create_api(&memcached).unwrap();
    project.delete_api(&target("cache", "v1", "Memcached")).unwrap();
    project
        .delete_webhook(&webhook(target("core", "v1", "Pod"), &[]))
        .unwrap();
    project.delete_api(&target("apps", "v1", "Deployment")).unwrap();
    assert_eq!(project, empty);
}

#[test]
fn webhooks_come_one_by_one_to_the_same_as_at_once() {
    let mut project = TestProject::named("markdown-view");
    project.create_api(&api("view", "v1", "MarkdownView")).unwrap();
    let view = || target("view", "v1", "MarkdownView");
    project.create_webhook(&webhook(view(), &["validation"])).unwrap();
    project.create_webhook(&webhook(view(), &["defaulting"])).unwrap();
    assert_eq!(project, test_project::markdown_view());
}

#[test]
fn types_and_controller_come_one_by_one_to_the_same_as_at_once() {
    let mut at_once = TestProject::named("shop");
    at_once.create_api(&api("shop", "v1", "Order")).unwrap();
    let mut project = TestProject::named("shop");
    let types = ApiRequest {
        controller: Some(false),
        ..api("shop", "v1", "Order")
    };
    project.create_api(&types).unwrap();
    assert!(!project.files.contains_key("src/controllers/order.rs"));
    let controller = ApiRequest {
        resource: Some(false),
        ..api("shop", "v1", "Order")
    };
    project.create_api(&controller).unwrap();
    assert_eq!(project, at_once);
}

#[test]
fn several_groups_and_back_is_as_it_was() {
    let mut project = test_project::markdown_view();
    let before = project.clone();
    let edit = |multigroup| EditRequest {
        multigroup: Some(multigroup),
        ..EditRequest::default()
    };
    project.edit(&edit(true)).unwrap();
    assert!(project.files.contains_key("src/api/view/v1/markdown_view.rs"));
    assert!(!project.files.keys().any(|path| path.starts_with("src/api/v1/")));
    assert!(project.files["src/lib.rs"].contains(".resource::<api::view::v1::MarkdownView>()"));
    project.edit(&edit(false)).unwrap();
    assert_eq!(project, before);
}

#[test]
fn force_writes_the_files_of_a_kind_anew_and_no_others() {
    let mut project = test_project::markdown_view();
    let before = project.clone();
    project.append("src/api/v1/markdown_view.rs", "\npub struct Mine;\n");
    project.files.remove("tests/markdown_view.rs");
    project.append("src/main.rs", "\n// mine\n");
    let wanted = project.project();
    let options = Options {
        force: true,
        anew: Some(wanted.resources[0].clone()),
    };
    let changes = project.bring_about(&wanted, &options).unwrap();
    let paths: Vec<&str> = changes.iter().map(Change::path).collect();
    assert_eq!(paths, ["src/api/v1/markdown_view.rs", "tests/markdown_view.rs"]);
    assert_eq!(
        project.files["src/api/v1/markdown_view.rs"],
        before.files["src/api/v1/markdown_view.rs"]
    );
}

#[test]
fn what_is_not_said_again_stays_and_what_is_said_otherwise_needs_force() {
    let mut project = TestProject::named("shop");
    let cluster = ApiRequest {
        namespaced: Some(false),
        plural: "foxen".to_owned(),
        controller: Some(false),
        ..api("shop", "v1", "Fox")
    };
    project.create_api(&cluster).unwrap();
    project.replace(
        "PROJECT",
        "    crdVersion: v1\n",
        "    crdVersion: v1\n    theirs: kept\n",
    );
    let before = project.clone();
    assert!(project.create_api(&api("shop", "v1", "Fox")).unwrap().is_empty());
    assert!(project.create_api(&cluster).unwrap().is_empty());
    assert_eq!(project, before);
    for (mut request, flag) in [
        (api("shop", "v1", "Fox"), "--namespaced=false"),
        (api("shop", "v1", "Fox"), "--plural=foxen"),
    ] {
        if flag.starts_with("--plural") {
            request.plural = "foxes".to_owned();
        } else {
            request.namespaced = Some(true);
        }
        let error = project.create_api(&request).unwrap_err().to_string();
        assert!(error.contains(flag) && error.contains("--force"), "{error}");
        request.force = true;
        let changed = project.project().create_api(&request).unwrap();
        assert_ne!(changed, project.project());
        assert!(changed.render().contains("theirs: kept"), "{}", changed.render());
    }
    let controller = ApiRequest {
        controller: Some(true),
        ..api("shop", "v1", "Fox")
    };
    project.create_api(&controller).unwrap();
    assert!(project.files.contains_key("src/controllers/fox.rs"));
}

#[test]
fn an_image_is_kept_with_its_options_until_force_changes_it() {
    let mut project = test_project::cache();
    let before = project.clone();
    let again = |name: &str| ApiRequest {
        image: Some(image(name)),
        ..api("cache", "v1alpha1", "Memcached")
    };
    assert!(
        project
            .create_api(&again("memcached:1.6.26-alpine3.19"))
            .unwrap()
            .is_empty()
    );
    assert_eq!(project, before);
    let error = project.create_api(&again("memcached:2")).unwrap_err().to_string();
    assert!(
        error.contains("--image=memcached:1.6.26-alpine3.19") && error.contains("--force"),
        "{error}"
    );
    let forced = ApiRequest {
        force: true,
        ..again("memcached:2")
    };
    let project = project.project().create_api(&forced).unwrap();
    let images = &project.settings().images;
    assert_eq!((images[0].image.as_str(), images[0].port), ("memcached:2", Some(11211)));
}

#[test]
fn another_version_is_like_the_first() {
    let mut project = TestProject::named("shop");
    let first = ApiRequest {
        namespaced: Some(false),
        plural: "foxen".to_owned(),
        ..api("shop", "v1", "Fox")
    };
    project.create_api(&first).unwrap();
    project.create_api(&api("shop", "v2", "Fox")).unwrap();
    let kind = project.project().resources[1].clone();
    assert_eq!(kind.plural(), "foxen");
    assert!(!kind.namespaced());
    assert!(project.files["src/api/v2/fox.rs"].contains("foxen"));
    let other = ApiRequest {
        plural: "foxes".to_owned(),
        ..api("shop", "v3", "Fox")
    };
    let error = project.create_api(&other).unwrap_err().to_string();
    assert!(error.contains("the plural of Fox is foxen in version v1"), "{error}");
}
