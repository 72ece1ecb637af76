//! Files their users edited: what fits goes in, and where something does not, nothing is written at all.

use kubewright_scaffold::command::EditRequest;
use kubewright_scaffold::plan::Options;

use super::test_project::{self, TestProject, api, target, webhook};

const MARKER: &str = "    // kubewright:scaffold:operator\n";

/// Runs a command that must be refused, and checks that nothing changed.
fn refused(project: &mut TestProject, command: impl FnOnce(&mut TestProject) -> super::test_project::Done) -> String {
    let before = project.clone();
    let error = command(project).expect_err("the command was not refused").to_string();
    assert_eq!(*project, before);
    error
}

#[test]
fn a_file_that_is_there_already_is_not_overwritten() {
    let mut project = TestProject::named("shop");
    project
        .files
        .insert("src/controllers/order.rs".to_owned(), "// mine\n".to_owned());
    let error = refused(&mut project, |project| project.create_api(&api("shop", "v1", "Order")));
    assert!(error.contains("src/controllers/order.rs is there already"), "{error}");
    assert!(error.contains("--force"), "{error}");

    let order = project.project().create_api(&api("shop", "v1", "Order")).unwrap();
    let options = Options {
        force: true,
        ..Options::default()
    };
    project.bring_about(&order, &options).unwrap();
    assert!(project.files["src/controllers/order.rs"].contains("OrderReconciler"));
}

#[test]
fn a_header_of_the_users_own_stands_above_new_files() {
    let mut project = TestProject::named("shop");
    let main = project.files["src/main.rs"].clone();
    let header = "hack/boilerplate.rs.txt";
    project
        .files
        .insert(header.to_owned(), "Copyright of Shop Ltd.\n\nAll of it.\n".to_owned());
    project.create_api(&api("shop", "v1", "Order")).unwrap();
    project
        .create_webhook(&webhook(target("shop", "v1", "Order"), &["defaulting"]))
        .unwrap();
    for path in [
        "src/api/mod.rs",
        "src/api/v1/order.rs",
        "src/controllers/order.rs",
        "src/webhooks/v1/order.rs",
        "tests/order.rs",
        "tests/order_v1_webhook.rs",
    ] {
        let text = &project.files[path];
        assert!(
            text.starts_with("// Copyright of Shop Ltd.\n//\n// All of it.\n\n//! "),
            "{path}: {text}"
        );
    }
    assert_eq!(project.files["src/main.rs"], main, "what is there keeps its own");
    project
        .delete_webhook(&webhook(target("shop", "v1", "Order"), &[]))
        .unwrap();
    project.delete_api(&target("shop", "v1", "Order")).unwrap();
    assert!(!project.files.keys().any(|path| path.contains("order")));
}

#[test]
fn an_edited_file_is_not_removed() {
    let mut project = test_project::markdown_view();
    project.append("src/api/v1/markdown_view.rs", "\npub struct Mine;\n");
    project.replace("config/samples/view_v1_markdownview.yaml", "foo: bar", "foo: baz");
    let view = target("view", "v1", "MarkdownView");
    project.delete_webhook(&webhook(view.clone(), &[])).unwrap();
    let error = refused(&mut project, |project| project.delete_api(&view));
    for path in [
        "src/api/v1/markdown_view.rs",
        "config/samples/view_v1_markdownview.yaml",
    ] {
        assert!(error.contains(&format!("{path} was edited")), "{error}");
    }
    let options = Options {
        force: true,
        ..Options::default()
    };
    let without = project.project().delete_api(&view).unwrap();
    project.bring_about(&without, &options).unwrap();
    assert!(
        !project.files.keys().any(|path| path.contains("markdown_view")),
        "{:?}",
        project.files.keys()
    );
}

#[test]
fn without_the_marker_the_lines_are_told_and_nothing_is_written() {
    let mut project = TestProject::named("shop");
    project.replace("src/lib.rs", MARKER, "");
    let error = refused(&mut project, |project| project.create_api(&api("shop", "v1", "Order")));
    assert!(
        error.contains("src/lib.rs has no line `// kubewright:scaffold:operator`"),
        "{error}"
    );
    assert!(error.contains("    .resource::<api::v1::Order>()"), "{error}");
    assert!(
        error.contains("    .controller(controllers::order::OrderReconciler::controller())"),
        "{error}"
    );
}

#[test]
fn lines_that_were_added_by_hand_are_not_added_again() {
    let mut project = TestProject::named("shop");
    project.replace(
        "src/lib.rs",
        MARKER,
        &format!("        .resource::<api::v1::Order>()\n{MARKER}"),
    );
    project.create_api(&api("shop", "v1", "Order")).unwrap();
    assert_eq!(project.files["src/lib.rs"].matches(".resource::<").count(), 1);
}

#[test]
fn a_webhook_goes_into_an_edited_file() {
    let mut project = TestProject::named("markdown-view");
    project.create_api(&api("view", "v1", "MarkdownView")).unwrap();
    let view = || target("view", "v1", "MarkdownView");
    project.create_webhook(&webhook(view(), &["defaulting"])).unwrap();
    let path = "src/webhooks/v1/markdown_view.rs";
    project.replace(
        path,
        "        let _ = object;\n",
        "        object.spec.foo.get_or_insert_default();\n",
    );
    project.create_webhook(&webhook(view(), &["validation"])).unwrap();
    let text = &project.files[path];
    assert!(text.contains("object.spec.foo.get_or_insert_default()"), "{text}");
    assert!(
        text.contains("impl Validator<MarkdownView> for MarkdownViewValidator"),
        "{text}"
    );
    assert!(text.contains(".validator(MarkdownViewValidator)"), "{text}");
}

#[test]
fn a_conflict_names_the_lines_and_nothing_is_written() {
    let mut project = TestProject::named("markdown-view");
    project.create_api(&api("view", "v1", "MarkdownView")).unwrap();
    let view = || target("view", "v1", "MarkdownView");
    project.create_webhook(&webhook(view(), &["defaulting"])).unwrap();
    let path = "src/webhooks/v1/markdown_view.rs";
    project.replace(path, ".defaulter(MarkdownViewDefaulter)", ".defaulter(Mine)");
    let error = refused(&mut project, |project| {
        project.create_webhook(&webhook(view(), &["validation"]))
    });
    assert!(
        error.contains(&format!("{path} was edited where these lines have to go")),
        "{error}"
    );
    assert!(error.contains(".validator(MarkdownViewValidator)"), "{error}");
}

#[test]
fn files_move_into_the_folder_of_their_group_with_their_edits() {
    let mut project = test_project::markdown_view();
    project.replace(
        "src/controllers/markdown_view.rs",
        "\"all is as it should be\"",
        "\"mine\"",
    );
    project.append("src/api/v1/markdown_view.rs", "\npub struct Mine;\n");
    let multigroup = EditRequest {
        multigroup: Some(true),
        ..EditRequest::default()
    };
    project.edit(&multigroup).unwrap();
    let controller = &project.files["src/controllers/view/markdown_view.rs"];
    assert!(controller.contains("\"mine\"") && controller.contains("use crate::api::view::v1::MarkdownView;"));
    assert!(project.files["src/api/view/v1/markdown_view.rs"].ends_with("pub struct Mine;\n"));
    assert_eq!(project.files["src/api/mod.rs"].matches("mod ").count(), 1);
}

#[test]
fn a_folder_with_lines_of_its_user_stays_declared() {
    let mut project = test_project::markdown_view();
    project.append("src/api/v1/mod.rs", "\npub const MINE: u8 = 1;\n");
    let view = target("view", "v1", "MarkdownView");
    project.delete_webhook(&webhook(view.clone(), &[])).unwrap();
    project.delete_api(&view).unwrap();
    assert!(project.files["src/api/v1/mod.rs"].contains("MINE"));
    assert!(project.files["src/api/mod.rs"].contains("pub mod v1;"));
    assert!(project.files["src/lib.rs"].contains("pub mod api;"));
    assert!(!project.files["src/lib.rs"].contains("pub mod controllers;"));
}

#[test]
fn a_readme_that_was_rewritten_stays_as_it_is() {
    let mut project = TestProject::named("shop");
    project.files.insert("README.md".to_owned(), "# Mine\n".to_owned());
    project.create_api(&api("shop", "v1", "Order")).unwrap();
    assert_eq!(project.files["README.md"], "# Mine\n");
}

#[test]
fn a_library_that_is_gone_is_told() {
    let mut project = TestProject::named("shop");
    project.files.remove("src/lib.rs");
    let error = refused(&mut project, |project| project.create_api(&api("shop", "v1", "Order")));
    assert!(error.contains("src/lib.rs is gone"), "{error}");
}

#[test]
fn keys_of_others_in_project_are_kept() {
    let mut project = TestProject::named("shop");
    project.append(
        "PROJECT",
        "plugins:\n  grafana.kubebuilder.io/v1-alpha: {}\nmine:\n  a: 1\n",
    );
    let text = project.files["PROJECT"].replace(
        "plugins:\n  kubewright.dev/v1:\n    license: apache2\n    owner: The Ginoh Authors\n    templates: 2\n",
        "",
    );
    project.files.insert("PROJECT".to_owned(), text);
    project.create_api(&api("shop", "v1", "Order")).unwrap();
    let project = &project.files["PROJECT"];
    assert!(
        project.contains("grafana.kubebuilder.io/v1-alpha: {}") && project.contains("mine:\n  a: 1\n"),
        "{project}"
    );
}

const SAMPLES: &str = "config/samples/kustomization.yaml";

#[test]
fn entries_that_users_add_to_lists_stay_and_are_in_nobodys_way() {
    let mut project = TestProject::named("shop");
    project.create_api(&api("shop", "v1", "Order")).unwrap();
    project.append(SAMPLES, "- mine.yaml # mine\n");
    let default = "config/default/kustomization.yaml";
    project.replace(
        default,
        "- metrics_service.yaml\n",
        "- metrics_service.yaml\n- extra.yaml\n",
    );
    project.create_api(&api("shop", "v1", "Cart")).unwrap();
    assert!(
        project.files[SAMPLES].ends_with("- shop_v1_order.yaml\n- mine.yaml # mine\n- shop_v1_cart.yaml\n"),
        "{}",
        project.files[SAMPLES]
    );
    let cart = target("shop", "v1", "Cart");
    project.create_webhook(&webhook(cart.clone(), &["defaulting"])).unwrap();
    for entry in [
        "- extra.yaml\n",
        "- ../webhook\n",
        "- path: manager_webhook_patch.yaml\n",
    ] {
        assert!(project.files[default].contains(entry), "{}", project.files[default]);
    }
    project.delete_webhook(&webhook(cart.clone(), &[])).unwrap();
    project.delete_api(&cart).unwrap();
    project.delete_api(&target("shop", "v1", "Order")).unwrap();
    assert!(
        project.files[SAMPLES].contains("resources:\n- mine.yaml # mine\n"),
        "{}",
        project.files[SAMPLES]
    );
    assert!(project.files[default].contains("- extra.yaml\n") && !project.files[default].contains("../webhook"));
    project.create_api(&api("shop", "v1", "Order")).unwrap();
    assert!(project.files[SAMPLES].ends_with("- mine.yaml # mine\n- shop_v1_order.yaml\n"));
}

#[test]
fn force_keeps_entries_of_users_too() {
    let mut project = TestProject::named("shop");
    project.create_api(&api("shop", "v1", "Order")).unwrap();
    project.append(SAMPLES, "- mine.yaml\n");
    let with = project.project().create_api(&api("shop", "v1", "Cart")).unwrap();
    let options = Options {
        force: true,
        ..Options::default()
    };
    project.bring_about(&with, &options).unwrap();
    assert!(project.files[SAMPLES].ends_with("- mine.yaml\n- shop_v1_cart.yaml\n"));
}

#[test]
fn a_list_that_cannot_be_edited_is_told_with_what_it_has_to_list() {
    let mut project = TestProject::named("shop");
    project.create_api(&api("shop", "v1", "Order")).unwrap();
    let one_line = "resources: [shop_v1_order.yaml, mine.yaml]\n";
    project.files.insert(SAMPLES.to_owned(), one_line.to_owned());
    let error = refused(&mut project, |project| project.create_api(&api("shop", "v1", "Cart")));
    assert!(
        error.contains(SAMPLES) && error.contains("- shop_v1_cart.yaml") && error.contains("--force"),
        "{error}"
    );
    // Whoever adds it by hand is done.
    project.replace(SAMPLES, "mine.yaml", "mine.yaml, shop_v1_cart.yaml");
    project.create_api(&api("shop", "v1", "Cart")).unwrap();
    assert!(project.files[SAMPLES].starts_with("resources: [shop_v1_order.yaml, mine.yaml,"));
}
