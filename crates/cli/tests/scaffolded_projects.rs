//! Fresh projects build without a warning, their tests pass on the embedded server, and it takes what they are rendered to.
//! A program of its own, because it compiles those projects, which takes minutes: `cargo test --test it` leaves it out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The projects, each with the commands that make it.
const PROJECTS: [(&str, &[&str]); 3] = [
    (
        "markdown-view",
        &[
            "init --domain ginoh.github.io --repo github.com/ginoh/markdown-view",
            "create api --group view --version v1 --kind MarkdownView",
            "create webhook --group view --version v1 --kind MarkdownView --programmatic-validation --defaulting",
        ],
    ),
    (
        "fleet",
        &[
            "init --domain example.com --multigroup --license none",
            "create api --group ship --version v1 --kind Frigate",
            "create api --group ship --version v1beta1 --kind Frigate",
            "create api --group ship --version v2 --kind Frigate",
            "create webhook --group ship --version v1 --kind Frigate --conversion --spoke v1beta1,v2",
            "create webhook --group ship --version v1 --kind Frigate --programmatic-validation",
            "create webhook --group ship --version v2 --kind Frigate --defaulting",
            "create api --group sea-creatures --version v1alpha1 --kind Kraken --namespaced=false --plural krakenes",
            "create api --group ship --version v1 --kind Type --controller=false",
            "create api --group apps --version v1 --kind Deployment --resource=false",
            "create webhook --group core --version v1 --kind Pod --defaulting --programmatic-validation",
        ],
    ),
    (
        "cache",
        &[
            "init --domain example.com",
            "create api --group cache --version v1alpha1 --kind Memcached --image memcached:1.6.26-alpine3.19 \
             --image-container-port 11211 --run-as-user 1001 \
             --image-container-command memcached,--memory-limit=64,-o,modern,-v",
            "create api --group cache --version v1alpha1 --kind Busybox --image busybox:1.36.1",
        ],
    ),
];

/// The root of this workspace.
fn workspace() -> PathBuf {
    fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap()
}

/// Runs the command, which must succeed.
fn kubewright(folder: &Path, words: &str, variables: &[(&str, &Path)]) {
    let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args(words.split_whitespace())
        .envs(variables.iter().copied())
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (folder, stdout, stderr) = (folder.display(), text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{folder}: {words}: {stdout}{stderr}");
}

/// Makes the projects anew, as members of one workspace with the versions this one is locked to.
fn make_projects(root: &Path) {
    let _ = fs::remove_dir_all(root);
    for (name, commands) in PROJECTS {
        let folder = root.join(name);
        fs::create_dir_all(&folder).unwrap();
        for words in commands {
            kubewright(&folder, words, &[]);
        }
    }
    // Cargo reads its configuration where it is started, which is not in the projects.
    let checkout = workspace().join("crates/kubewright");
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\n[patch.crates-io]\nkubewright = {{ path = \"{}\" }}\n",
        checkout.display()
    );
    fs::write(root.join("Cargo.toml"), manifest).unwrap();
    fs::copy(workspace().join("Cargo.lock"), root.join("Cargo.lock")).unwrap();
}

#[test]
fn fresh_projects_build_pass_their_tests_and_are_rendered() {
    let scaffolds = workspace().join("target/scaffolds");
    let (root, target) = (scaffolds.join("projects"), scaffolds.join("target"));
    make_projects(&root);
    test(&root, &target);
    for (name, _) in PROJECTS {
        render(&root.join(name), &target.join("debug").join(name));
    }
    with_another_status(&root.join("markdown-view"));
    let (stdout, stderr) = cargo_test(&root, &target, &["--package", "markdown-view"]);
    assert!(
        stdout.contains("test a_sample_is_accepted_and_reconciled ... ok"),
        "{stdout}\n{stderr}"
    );
}

/// Gives the kind a status of its user's own, as the first thing that users do: the tests that came with it still hold, and no import
/// is left over.
fn with_another_status(project: &Path) {
    let edit = |path: &str, from: &str, to: &str, by: &str| {
        let path = project.join(path);
        let text = fs::read_to_string(&path).unwrap();
        let (before, rest) = text.split_once(from).unwrap_or_else(|| panic!("{from}: {text}"));
        let (_, after) = rest.split_once(to).unwrap_or_else(|| panic!("{to}: {text}"));
        fs::write(&path, format!("{before}{by}{after}")).unwrap();
    };
    edit(
        "src/api/v1/markdown_view.rs",
        "    /// How it stands",
        "Condition>,\n",
        "    /// Whether it was seen.\n    #[schema(optional)]\n    pub seen: bool,\n",
    );
    edit(
        "src/controllers/markdown_view.rs",
        "        let ready = ConditionUpdate",
        "        Ok(Action::done())",
        "        let status = object.status.get_or_insert_default();\n        if !status.seen {\n            status.seen = true;\n            \
         self.client.update_status(&object).await?;\n        }\n        Ok(Action::done())",
    );
}

/// One build of all projects, and all their tests.
fn test(root: &Path, target: &Path) {
    let (stdout, _) = cargo_test(root, target, &["--workspace"]);
    for test in [
        "test a_sample_is_accepted_and_reconciled ... ok",
        "test a_sample_is_admitted ... ok",
        "test v2_and_v1_hold_the_same ... ok",
        "test it_is_available_when_its_pods_run ... ok",
        "test the_operator_starts_with_the_role_it_asks_for ... ok",
        "test an_object_is_admitted ... ok",
    ] {
        assert!(stdout.contains(test), "{test} is missing:\n{stdout}");
    }
}

/// `cargo test`, in which a warning is an error; what it said.
fn cargo_test(root: &Path, target: &Path, arguments: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline"])
        .args(arguments)
        .current_dir(root)
        .env("CARGO_TARGET_DIR", target)
        .env("RUSTFLAGS", "-Dwarnings")
        // Nobody debugs what is thrown away.
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .output()
        .unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(output.status.success(), "{stdout}\n{stderr}");
    (stdout, stderr)
}

/// `manifests` refuses what an API server would refuse; once written, there is nothing left to write.
fn render(project: &Path, program: &Path) {
    let variables = [("KUBEWRIGHT_OPERATOR_BINARY", program)];
    // What `create` wrote without compiling anything is what follows from the code.
    for words in ["manifests --check", "manifests", "manifests --check", "build-installer"] {
        kubewright(project, words, &variables);
    }
    let installer = fs::read_to_string(project.join("dist/install.yaml")).unwrap();
    for kind in ["CustomResourceDefinition", "ClusterRole", "Deployment"] {
        assert!(
            installer.contains(&format!("\nkind: {kind}\n")),
            "{}: no {kind}",
            project.display()
        );
    }
}
