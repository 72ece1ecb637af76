//! The commands on disk: what they write and say, what they refuse, and that a refusal leaves everything as it was.

use std::fs;
use std::process::{Command, Stdio};

use super::folder::{Folder, run_in};

const VIEW: &str = "--group view --version v1 --kind MarkdownView";

#[test]
fn the_commands_of_the_tutorial_work_in_a_script() {
    let folder = Folder::new("markdown-view");
    let said = folder.ok("init --domain ginoh.github.io --repo github.com/ginoh/markdown-view");
    assert!(
        said.contains("created  PROJECT\n") && said.contains("Next:\n  kubewright create api"),
        "{said}"
    );
    let said = folder.ok("create api --group view --version v1 --kind MarkdownView");
    assert!(
        said.contains("created  src/api/v1/markdown_view.rs\n") && said.contains("updated  src/lib.rs\n"),
        "{said}"
    );
    assert!(
        said.contains("edit src/controllers/markdown_view.rs") && said.contains("cargo test"),
        "{said}"
    );
    folder.ok(&format!("create webhook {VIEW} --programmatic-validation --defaulting"));
    assert!(
        folder
            .read("Cargo.toml")
            .contains("repository = \"https://github.com/ginoh/markdown-view\"")
    );
    assert!(folder.read("PROJECT").contains("repo: github.com/ginoh/markdown-view"));
    let library = folder.read("src/lib.rs");
    for call in [
        ".resource::<api::v1::MarkdownView>()",
        ".webhook(webhooks::v1::markdown_view::webhook())",
    ] {
        assert!(library.contains(call), "{library}");
    }
}

#[test]
fn a_checkout_is_used_while_it_is_there_and_else_what_was_said() {
    let folder = Folder::new("shop");
    folder.ok("init --domain example.com");
    let checkout = fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../kubewright")).unwrap();
    let manifest = folder.read("Cargo.toml");
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        manifest.contains(&format!("kubewright = {{ version = \"{version}\", features"))
            && manifest.contains("# This kubewright comes from a checkout"),
        "{manifest}"
    );
    let config = folder.read(".cargo/config.toml");
    assert!(
        config.contains(&format!("kubewright = {{ path = \"{}\" }}", checkout.display())),
        "{config}"
    );
    assert!(folder.read(".cargo/.gitignore").contains("\n/config.toml\n"));
    // No file that is committed has a path of this machine.
    for (path, text) in folder.files() {
        assert!(
            path == ".cargo/config.toml" || !text.contains(&*checkout.parent().unwrap().to_string_lossy()),
            "{path}: {text}"
        );
    }

    let git = "https://example.com/kubewright.git";
    for (source, written) in [
        ("0.1", "version = \"0.1\"".to_owned()),
        (git, format!("git = \"{git}\"")),
    ] {
        let folder = Folder::new("shop");
        folder.ok(&format!("init --kubewright-source {source}"));
        assert!(folder.read("Cargo.toml").contains(&written));
        assert!(!folder.files().contains_key(".cargo/config.toml"));
    }
    let root = checkout.join("../..");
    let folder = Folder::new("shop");
    folder.ok(&format!("init --kubewright-source {}", root.display()));
    assert_eq!(folder.read(".cargo/config.toml"), config);
    // What is there already stays.
    let folder = Folder::new("shop");
    folder.write(".cargo/config.toml", "[net]\noffline = true\n");
    folder.ok("init");
    assert_eq!(
        folder.read(".cargo/config.toml"),
        format!("[net]\noffline = true\n\n{config}")
    );
    let folder = Folder::new("shop");
    folder.write(".cargo/config.toml", "[patch.crates-io]\n");
    assert!(folder.refused("init").contains("[patch.crates-io]"));
    let said = Folder::new("shop").refused("init --kubewright-source ./nowhere");
    assert!(said.contains("no folder with the source of kubewright"), "{said}");
}

#[test]
fn without_a_terminal_what_has_a_default_is_not_asked_for() {
    let folder = Folder::new("Shop");
    folder.ok("init");
    let project = folder.read("PROJECT");
    assert!(
        project.contains("domain: my.domain") && project.contains("projectName: shop"),
        "{project}"
    );
    for (words, missing) in [
        ("create api --version v1 --kind Order", "--group is missing"),
        ("create api --group shop --kind Order", "--version is missing"),
        ("create api --group shop --version v1", "--kind is missing"),
        (
            "create webhook --group core --version v1 --kind Pod",
            "choose a webhook",
        ),
    ] {
        let said = folder.refused(words);
        assert!(said.contains(missing), "{said}");
    }
}

#[test]
fn a_folder_that_somebody_works_in_is_refused() {
    let folder = Folder::new("shop");
    folder.write("main.go", "package main\n");
    let said = folder.refused("init");
    assert!(said.contains("the folder is not empty (main.go)"), "{said}");
    let said = Folder::new("my shop").refused("init");
    assert!(said.contains("--project-name sets another"), "{said}");
}

#[test]
fn what_a_new_repository_has_stays_as_it_is() {
    let folder = Folder::new("shop");
    for (path, text) in [
        (".git/config", "[core]\n"),
        ("README.md", "# Mine\n"),
        ("LICENSE", "mine\n"),
        (".gitignore", "x\n"),
    ] {
        folder.write(path, text);
    }
    folder.ok("init");
    assert_eq!(
        (folder.read("README.md"), folder.read(".gitignore")),
        ("# Mine\n".to_owned(), "x\n".to_owned())
    );
    assert!(folder.read("src/main.rs").contains("shop::operator().main()"));
}

#[test]
fn init_is_repeated_without_effect_and_refused_where_it_differs() {
    let folder = Folder::project("shop");
    let before = folder.files();
    let said = folder.ok("init --domain ginoh.github.io");
    assert!(
        said.contains("nothing to do: this folder is the project shop already"),
        "{said}"
    );
    assert_eq!(folder.files(), before);
    for words in [
        "init --domain example.com",
        "init --project-name other",
        "init --multigroup",
    ] {
        let said = folder.refused(words);
        assert!(said.contains("this folder is the project shop already"), "{said}");
    }
}

#[test]
fn commands_are_repeated_without_effect_and_undone_without_a_trace() {
    let folder = Folder::project("markdown-view");
    let empty = folder.files();
    folder.ok(&format!("create api {VIEW}"));
    let with_api = folder.files();
    let said = folder.ok(&format!("create api {VIEW}"));
    assert!(
        said.contains("nothing to do: MarkdownView view/v1 is there already"),
        "{said}"
    );
    folder.ok(&format!("create webhook {VIEW} --defaulting"));
    folder.ok(&format!("create webhook {VIEW} --defaulting"));
    folder.ok("create api --group apps --version v1 --kind Deployment --resource=false");
    folder.ok("delete api --group apps --version v1 --kind Deployment");
    let said = folder.ok(&format!("delete webhook {VIEW} --defaulting"));
    assert!(said.contains("removed  src/webhooks/v1/markdown_view.rs\n"), "{said}");
    assert_eq!(folder.files(), with_api);
    folder.ok(&format!("delete api {VIEW}"));
    assert_eq!(folder.files(), empty);
}

#[test]
fn commands_work_from_a_folder_below() {
    let folder = Folder::project("shop");
    let ended = run_in(
        &folder.path.join("src"),
        "create api --group shop --version v1 --kind Order",
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(folder.read("src/api/v1/order.rs").contains("kind = \"Order\""));
    let ended = run_in(
        std::env::temp_dir().as_path(),
        "create api --group shop --version v1 --kind Order",
    );
    assert!(
        ended.code == Some(1) && ended.stderr.contains("PROJECT"),
        "{}",
        ended.stderr
    );
}

#[test]
fn what_was_edited_is_kept_and_force_is_force() {
    let folder = Folder::project("markdown-view");
    folder.ok(&format!("create api {VIEW}"));
    let types = "src/api/v1/markdown_view.rs";
    let written = folder.read(types);
    folder.write(types, &format!("{written}\npub struct Mine;\n"));
    let said = folder.refused(&format!("delete api {VIEW}"));
    assert!(said.contains("src/api/v1/markdown_view.rs was edited"), "{said}");
    folder.ok(&format!("create api {VIEW} --force"));
    assert_eq!(folder.read(types), written);
    folder.write(types, "mine\n");
    folder.ok(&format!("delete api {VIEW} --force"));
    assert!(!folder.path.join("src/api").exists());
}

#[test]
fn a_folder_where_a_file_should_go_leaves_everything_as_it_was() {
    let folder = Folder::project("shop");
    folder.write("src/controllers/order.rs/mine", "mine\n");
    let said = folder.refused("create api --group shop --version v1 --kind Order");
    assert!(said.contains("src/controllers/order.rs cannot be read"), "{said}");
    let folder = Folder::project("shop");
    folder.write("src/controllers", "no folder\n");
    let said = folder.refused("create api --group shop --version v1 --kind Order");
    assert!(said.contains("src/controllers"), "{said}");
}

#[test]
fn kinds_move_into_the_folder_of_their_group() {
    let folder = Folder::project("markdown-view");
    folder.ok(&format!("create api {VIEW}"));
    let before = folder.files();
    folder.ok("edit --multigroup");
    assert!(
        folder
            .read("src/api/view/v1/markdown_view.rs")
            .contains("MarkdownViewSpec")
    );
    assert!(!folder.path.join("src/api/v1").exists());
    folder.ok("create api --group shop --version v1 --kind Order");
    folder.ok("delete api --group shop --version v1 --kind Order");
    folder.ok("edit --multigroup=false");
    assert_eq!(folder.files(), before);
}

#[test]
fn switches_are_set_and_taken_back() {
    let folder = Folder::project("shop");
    let before = folder.files();
    let flags = [
        "--cert-manager",
        "--prometheus",
        "--grafana",
        "--network-policy",
        "--namespaced",
    ];
    folder.ok(&format!("edit {}", flags.join(" ")));
    let project = folder.read("PROJECT");
    for key in [
        "certManager: true",
        "prometheus: true",
        "grafana: true",
        "networkPolicy: true",
        "namespaced: true",
    ] {
        assert!(project.contains(key), "{project}");
    }
    let off: Vec<String> = flags.iter().map(|flag| format!("{flag}=false")).collect();
    folder.ok(&format!("edit {}", off.join(" ")));
    assert_eq!(folder.files(), before);
}

#[test]
fn a_reader_that_goes_away_and_a_full_disk_are_no_panic() {
    for words in [
        "completion bash",
        "version",
        "version -o json",
        "init --kubewright-source 0.1.0",
    ] {
        let run = |output: Stdio| {
            let folder = Folder::new("shop");
            let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
                .args(words.split_whitespace())
                .current_dir(&folder.path)
                .stdin(Stdio::null())
                .stdout(output)
                .stderr(Stdio::piped())
                .output()
                .unwrap();
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stderr).into_owned(),
            )
        };
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(run(writer.into()), (Some(0), String::new()), "{words}");
        let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
            continue;
        };
        let (code, said) = run(full.into());
        assert_eq!(code, Some(1), "{words}: {said}");
        assert!(
            said.starts_with("error: cannot write to standard output: "),
            "{words}: {said}"
        );
    }
}

#[test]
fn the_values_of_a_flag_are_told_with_a_wrong_one() {
    let folder = Folder::new("shop");
    let said = folder.refused("init --license gpl");
    for value in ["apache2", "copyright", "none"] {
        assert!(said.contains(value), "{said}");
    }
    let said = folder.refused("version -o xml");
    assert!(said.contains("choose text, json or yaml"), "{said}");
}

#[test]
fn what_was_said_of_a_kind_stays_and_entries_of_users_too() {
    let folder = Folder::project("shop");
    folder.ok("create api --group shop --version v1 --kind Cl --namespaced=false");
    let before = folder.files();
    folder.ok("create api --group shop --version v1 --kind Cl");
    assert_eq!(folder.files(), before);
    let said = folder.refused("create api --group shop --version v1 --kind Cl --namespaced");
    assert!(
        said.contains("--namespaced=false") && said.contains("--force"),
        "{said}"
    );
    let samples = "config/samples/kustomization.yaml";
    folder.write(samples, &format!("{}- mine.yaml\n", folder.read(samples)));
    folder.ok("create api --group shop --version v1 --kind Order");
    assert!(
        folder
            .read(samples)
            .ends_with("- shop_v1_cl.yaml\n- mine.yaml\n- shop_v1_order.yaml\n"),
        "{}",
        folder.read(samples)
    );
    let said = folder.refused("create api --group shop --version latest --kind Cart");
    assert!(said.contains("\"latest\"") && said.contains("v1alpha1"), "{said}");
}

#[test]
fn a_controller_that_is_there_is_neither_dropped_nor_lost_without_a_word() {
    let folder = Folder::project("shop");
    folder.ok("create api --group shop --version v1 --kind Order");
    let before = folder.files();
    let said = folder.refused("create api --group shop --version v1 --kind Order --controller=false");
    assert!(said.contains("--controller=true") && said.contains("--force"), "{said}");
    assert_eq!(folder.files(), before);
    folder.ok("create api --group shop --version v2 --kind Order");
    let said = folder.ok("delete api --group shop --version v1 --kind Order");
    assert!(
        said.contains("the controller of Order was written for version v1 and goes with it"),
        "{said}"
    );
    folder.ok("create api --group shop --version v2 --kind Order --resource=false --controller");
    let without = folder.ok("create api --group shop --version v2 --kind Order --controller=false --force");
    assert!(without.contains("removed"), "{without}");
    assert!(
        !folder.files().keys().any(|file| file == "src/controllers/order.rs"),
        "{without}"
    );
}

/// A project that was made before the templates of this version, as its user left it.
fn old_project() -> Folder {
    let folder = Folder::new("shop");
    let text = include_str!("../../../../scaffold/tests/testdata/upgrade/shop.txt");
    for file in text.split("===== ").skip(1) {
        let (path, content) = file.split_once('\n').unwrap();
        folder.write(path, content);
    }
    folder.write(
        "Makefile",
        &folder.read("Makefile").replace("controller:latest", "mine:v1"),
    );
    folder
}

#[test]
fn a_project_made_before_is_upgraded_without_losing_an_edit() {
    let folder = old_project();
    let before = folder.files();
    let said = folder.ok("edit --upgrade --dry-run");
    assert!(
        said.contains("--- a/Cargo.toml\n+++ b/Cargo.toml\n") && said.contains("would be updated  Makefile\n"),
        "{said}"
    );
    assert_eq!(folder.files(), before, "--dry-run changed something");

    let said = folder.ok("edit --upgrade");
    assert!(
        said.contains("updated  Cargo.toml\n")
            && said.contains("created  .cargo/config.toml\n")
            && said.contains("Next:"),
        "{said}"
    );
    let makefile = folder.read("Makefile");
    assert!(
        makefile.contains("IMG ?= mine:v1\n") && makefile.contains("install-kubewright"),
        "{makefile}"
    );
    let said = folder.ok("edit --upgrade");
    assert!(said.contains("nothing to do: shop is at kubewright"), "{said}");
}

#[test]
fn an_upgrade_with_conflicts_lists_them_and_ends_with_one() {
    let folder = old_project();
    let workflow = folder.read(".github/workflows/test.yml");
    folder.write(
        ".github/workflows/test.yml",
        &workflow.replace("run: cargo test\n", "run: cargo test --release\n"),
    );
    let ended = folder.run("edit --upgrade");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended
            .stdout
            .contains("note: .github/workflows/test.yml was edited where it changed"),
        "{ended:?}"
    );
    let workflow = folder.read(".github/workflows/test.yml");
    assert!(
        workflow.contains("run: cargo test --release\n") && workflow.contains(">>>>>>> kubewright"),
        "{workflow}"
    );
    let said = folder.refused("edit --upgrade --multigroup");
    assert!(said.contains("cannot be used with"), "{said}");
    assert!(!folder.refused("edit --dry-run").is_empty());
}
