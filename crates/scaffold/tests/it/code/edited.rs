//! Files their users edited: what fits goes in, and where something does not, nothing is written at all.

use kubewright_scaffold::command::EditRequest;
use kubewright_scaffold::plan::Options;

use super::scene::{self, Scene, api, target, webhook};

const MARKER: &str = "    // kubewright:scaffold:operator\n";

/// Runs a command that must be refused, and checks that nothing changed.
fn refused(scene: &mut Scene, command: impl FnOnce(&mut Scene) -> super::scene::Done) -> String {
    let before = scene.clone();
    let error = command(scene).expect_err("the command was not refused").to_string();
    assert_eq!(*scene, before);
    error
}

#[test]
fn a_file_that_is_there_already_is_not_overwritten() {
    let mut scene = Scene::named("shop");
    scene
        .files
        .insert("src/controllers/order.rs".to_owned(), "// mine\n".to_owned());
    let error = refused(&mut scene, |scene| scene.create_api(&api("shop", "v1", "Order")));
    assert!(error.contains("src/controllers/order.rs is there already"), "{error}");
    assert!(error.contains("--force"), "{error}");

    let order = scene.project().create_api(&api("shop", "v1", "Order")).unwrap();
    let options = Options {
        force: true,
        ..Options::default()
    };
    scene.bring_about(&order, &options).unwrap();
    assert!(scene.files["src/controllers/order.rs"].contains("OrderReconciler"));
}

#[test]
fn a_header_of_the_users_own_stands_above_new_files() {
    let mut scene = Scene::named("shop");
    let main = scene.files["src/main.rs"].clone();
    let header = "hack/boilerplate.rs.txt";
    scene
        .files
        .insert(header.to_owned(), "Copyright of Shop Ltd.\n\nAll of it.\n".to_owned());
    scene.create_api(&api("shop", "v1", "Order")).unwrap();
    scene
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
        let text = &scene.files[path];
        assert!(
            text.starts_with("// Copyright of Shop Ltd.\n//\n// All of it.\n\n//! "),
            "{path}: {text}"
        );
    }
    assert_eq!(scene.files["src/main.rs"], main, "what is there keeps its own");
    scene
        .delete_webhook(&webhook(target("shop", "v1", "Order"), &[]))
        .unwrap();
    scene.delete_api(&target("shop", "v1", "Order")).unwrap();
    assert!(!scene.files.keys().any(|path| path.contains("order")));
}

#[test]
fn an_edited_file_is_not_removed() {
    let mut scene = scene::markdown_view();
    scene.append("src/api/v1/markdown_view.rs", "\npub struct Mine;\n");
    scene.replace("config/samples/view_v1_markdownview.yaml", "foo: bar", "foo: baz");
    let view = target("view", "v1", "MarkdownView");
    scene.delete_webhook(&webhook(view.clone(), &[])).unwrap();
    let error = refused(&mut scene, |scene| scene.delete_api(&view));
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
    let without = scene.project().delete_api(&view).unwrap();
    scene.bring_about(&without, &options).unwrap();
    assert!(
        !scene.files.keys().any(|path| path.contains("markdown_view")),
        "{:?}",
        scene.files.keys()
    );
}

#[test]
fn without_the_marker_the_lines_are_told_and_nothing_is_written() {
    let mut scene = Scene::named("shop");
    scene.replace("src/lib.rs", MARKER, "");
    let error = refused(&mut scene, |scene| scene.create_api(&api("shop", "v1", "Order")));
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
    let mut scene = Scene::named("shop");
    scene.replace(
        "src/lib.rs",
        MARKER,
        &format!("        .resource::<api::v1::Order>()\n{MARKER}"),
    );
    scene.create_api(&api("shop", "v1", "Order")).unwrap();
    assert_eq!(scene.files["src/lib.rs"].matches(".resource::<").count(), 1);
}

#[test]
fn a_webhook_goes_into_an_edited_file() {
    let mut scene = Scene::named("markdown-view");
    scene.create_api(&api("view", "v1", "MarkdownView")).unwrap();
    let view = || target("view", "v1", "MarkdownView");
    scene.create_webhook(&webhook(view(), &["defaulting"])).unwrap();
    let path = "src/webhooks/v1/markdown_view.rs";
    scene.replace(
        path,
        "        let _ = object;\n",
        "        object.spec.foo.get_or_insert_default();\n",
    );
    scene.create_webhook(&webhook(view(), &["validation"])).unwrap();
    let text = &scene.files[path];
    assert!(text.contains("object.spec.foo.get_or_insert_default()"), "{text}");
    assert!(
        text.contains("impl Validator<MarkdownView> for MarkdownViewValidator"),
        "{text}"
    );
    assert!(text.contains(".validator(MarkdownViewValidator)"), "{text}");
}

#[test]
fn a_conflict_names_the_lines_and_nothing_is_written() {
    let mut scene = Scene::named("markdown-view");
    scene.create_api(&api("view", "v1", "MarkdownView")).unwrap();
    let view = || target("view", "v1", "MarkdownView");
    scene.create_webhook(&webhook(view(), &["defaulting"])).unwrap();
    let path = "src/webhooks/v1/markdown_view.rs";
    scene.replace(path, ".defaulter(MarkdownViewDefaulter)", ".defaulter(Mine)");
    let error = refused(&mut scene, |scene| {
        scene.create_webhook(&webhook(view(), &["validation"]))
    });
    assert!(
        error.contains(&format!("{path} was edited where these lines have to go")),
        "{error}"
    );
    assert!(error.contains(".validator(MarkdownViewValidator)"), "{error}");
}

#[test]
fn files_move_into_the_folder_of_their_group_with_their_edits() {
    let mut scene = scene::markdown_view();
    scene.replace(
        "src/controllers/markdown_view.rs",
        "\"all is as it should be\"",
        "\"mine\"",
    );
    scene.append("src/api/v1/markdown_view.rs", "\npub struct Mine;\n");
    let multigroup = EditRequest {
        multigroup: Some(true),
        ..EditRequest::default()
    };
    scene.edit(&multigroup).unwrap();
    let controller = &scene.files["src/controllers/view/markdown_view.rs"];
    assert!(controller.contains("\"mine\"") && controller.contains("use crate::api::view::v1::MarkdownView;"));
    assert!(scene.files["src/api/view/v1/markdown_view.rs"].ends_with("pub struct Mine;\n"));
    assert_eq!(scene.files["src/api/mod.rs"].matches("mod ").count(), 1);
}

#[test]
fn a_folder_with_lines_of_its_user_stays_declared() {
    let mut scene = scene::markdown_view();
    scene.append("src/api/v1/mod.rs", "\npub const MINE: u8 = 1;\n");
    let view = target("view", "v1", "MarkdownView");
    scene.delete_webhook(&webhook(view.clone(), &[])).unwrap();
    scene.delete_api(&view).unwrap();
    assert!(scene.files["src/api/v1/mod.rs"].contains("MINE"));
    assert!(scene.files["src/api/mod.rs"].contains("pub mod v1;"));
    assert!(scene.files["src/lib.rs"].contains("pub mod api;"));
    assert!(!scene.files["src/lib.rs"].contains("pub mod controllers;"));
}

#[test]
fn a_readme_that_was_rewritten_stays_as_it_is() {
    let mut scene = Scene::named("shop");
    scene.files.insert("README.md".to_owned(), "# Mine\n".to_owned());
    scene.create_api(&api("shop", "v1", "Order")).unwrap();
    assert_eq!(scene.files["README.md"], "# Mine\n");
}

#[test]
fn a_library_that_is_gone_is_told() {
    let mut scene = Scene::named("shop");
    scene.files.remove("src/lib.rs");
    let error = refused(&mut scene, |scene| scene.create_api(&api("shop", "v1", "Order")));
    assert!(error.contains("src/lib.rs is gone"), "{error}");
}

#[test]
fn keys_of_others_in_project_are_kept() {
    let mut scene = Scene::named("shop");
    scene.append(
        "PROJECT",
        "plugins:\n  grafana.kubebuilder.io/v1-alpha: {}\nmine:\n  a: 1\n",
    );
    let text = scene.files["PROJECT"].replace(
        "plugins:\n  kubewright.dev/v1:\n    license: apache2\n    owner: The Ginoh Authors\n    templates: 2\n",
        "",
    );
    scene.files.insert("PROJECT".to_owned(), text);
    scene.create_api(&api("shop", "v1", "Order")).unwrap();
    let project = &scene.files["PROJECT"];
    assert!(
        project.contains("grafana.kubebuilder.io/v1-alpha: {}") && project.contains("mine:\n  a: 1\n"),
        "{project}"
    );
}

const SAMPLES: &str = "config/samples/kustomization.yaml";

#[test]
fn entries_that_users_add_to_lists_stay_and_are_in_nobodys_way() {
    let mut scene = Scene::named("shop");
    scene.create_api(&api("shop", "v1", "Order")).unwrap();
    scene.append(SAMPLES, "- mine.yaml # mine\n");
    let default = "config/default/kustomization.yaml";
    scene.replace(
        default,
        "- metrics_service.yaml\n",
        "- metrics_service.yaml\n- extra.yaml\n",
    );
    scene.create_api(&api("shop", "v1", "Cart")).unwrap();
    assert!(
        scene.files[SAMPLES].ends_with("- shop_v1_order.yaml\n- mine.yaml # mine\n- shop_v1_cart.yaml\n"),
        "{}",
        scene.files[SAMPLES]
    );
    let cart = target("shop", "v1", "Cart");
    scene.create_webhook(&webhook(cart.clone(), &["defaulting"])).unwrap();
    for entry in [
        "- extra.yaml\n",
        "- ../webhook\n",
        "- path: manager_webhook_patch.yaml\n",
    ] {
        assert!(scene.files[default].contains(entry), "{}", scene.files[default]);
    }
    scene.delete_webhook(&webhook(cart.clone(), &[])).unwrap();
    scene.delete_api(&cart).unwrap();
    scene.delete_api(&target("shop", "v1", "Order")).unwrap();
    assert!(
        scene.files[SAMPLES].contains("resources:\n- mine.yaml # mine\n"),
        "{}",
        scene.files[SAMPLES]
    );
    assert!(scene.files[default].contains("- extra.yaml\n") && !scene.files[default].contains("../webhook"));
    scene.create_api(&api("shop", "v1", "Order")).unwrap();
    assert!(scene.files[SAMPLES].ends_with("- mine.yaml # mine\n- shop_v1_order.yaml\n"));
}

#[test]
fn force_keeps_entries_of_users_too() {
    let mut scene = Scene::named("shop");
    scene.create_api(&api("shop", "v1", "Order")).unwrap();
    scene.append(SAMPLES, "- mine.yaml\n");
    let with = scene.project().create_api(&api("shop", "v1", "Cart")).unwrap();
    let options = Options {
        force: true,
        ..Options::default()
    };
    scene.bring_about(&with, &options).unwrap();
    assert!(scene.files[SAMPLES].ends_with("- mine.yaml\n- shop_v1_cart.yaml\n"));
}

#[test]
fn a_list_that_cannot_be_edited_is_told_with_what_it_has_to_list() {
    let mut scene = Scene::named("shop");
    scene.create_api(&api("shop", "v1", "Order")).unwrap();
    let one_line = "resources: [shop_v1_order.yaml, mine.yaml]\n";
    scene.files.insert(SAMPLES.to_owned(), one_line.to_owned());
    let error = refused(&mut scene, |scene| scene.create_api(&api("shop", "v1", "Cart")));
    assert!(
        error.contains(SAMPLES) && error.contains("- shop_v1_cart.yaml") && error.contains("--force"),
        "{error}"
    );
    // Whoever adds it by hand is done.
    scene.replace(SAMPLES, "mine.yaml", "mine.yaml, shop_v1_cart.yaml");
    scene.create_api(&api("shop", "v1", "Cart")).unwrap();
    assert!(scene.files[SAMPLES].starts_with("resources: [shop_v1_order.yaml, mine.yaml,"));
}
