//! Fresh projects build without a warning, their tests pass on the embedded server, and it takes what they are rendered to.
//! So does the Rust code of the book, in a project that has nothing but what `init` wrote.
//! A program of its own, because it compiles those projects, which takes minutes: `cargo test --test it` leaves it out.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kubewright_test_support::book::{Block, Chapter, chapters};

/// The projects, each with the commands that make it.
const PROJECTS: [(&str, &[&str]); 5] = [
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
    (
        "observatory",
        &[
            "init --domain example.com",
            "create api --group sky --version v1 --kind Moon --aggregated --namespaced=false",
            "create api --group sky --version v1 --kind Sighting --aggregated",
            "create api --group sky --version v1alpha1 --kind Telescope",
        ],
    ),
    // Its test is the code of the book.
    (
        "reader",
        &[
            "init --domain example.com",
            "create api --group web --version v1 --kind Website",
            "create api --group web --version v1alpha1 --kind Visit --aggregated",
        ],
    ),
];

/// The chapters whose code is not tried here: whole files of a project, which the readers of the test `walkthroughs` write.
const ELSEWHERE: [&str; 3] = ["getting-started.md", "cronjob.md", "cronjob-versions.md"];

/// The chapter whose code is tried in a project that has more crates.
const BESIDE_KUBE: &str = "coming-from-kube-rs.md";

/// The crates that it names, as a project has them that comes from kube.
const CRATES_OF_KUBE: &str = r#"futures-util = "0.3"
k8s-openapi = { version = "0.29", default-features = false }
kube = { version = "5", features = ["derive", "runtime"] }
schemars = "1"
serde = { version = "1", features = ["derive"] }
serde_json = "1"
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
"#;

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
    let code = code_of_the_book(|chapter| chapter != BESIDE_KUBE && !ELSEWHERE.contains(&chapter), 40);
    fs::write(root.join("reader/tests/book.rs"), code).unwrap();
    // Cargo reads its configuration where it is started, which is not in the projects.
    let checkout = workspace().join("crates/kubewright");
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\n[patch.crates-io]\nkubewright = {{ path = \"{}\" }}\n",
        checkout.display()
    );
    fs::write(root.join("Cargo.toml"), manifest).unwrap();
    fs::copy(workspace().join("Cargo.lock"), root.join("Cargo.lock")).unwrap();
}

/// It is no member of the workspace of the others: with the features of kube that it alone asks for, what is built upon kube would be
/// compiled twice for each of them.
#[test]
fn the_chapter_for_users_of_kube_works_in_a_project_that_has_kube() {
    let scaffolds = workspace().join("target/scaffolds");
    let (project, target) = (scaffolds.join("beside-kube"), scaffolds.join("target"));
    let _ = fs::remove_dir_all(&project);
    fs::create_dir_all(&project).unwrap();
    kubewright(&project, "init --domain example.com --project-name lamps", &[]);
    let manifest = fs::read_to_string(project.join("Cargo.toml")).unwrap();
    let (before, behind) = manifest.split_once("[dependencies]\n").unwrap();
    let manifest = format!("{before}[dependencies]\n{CRATES_OF_KUBE}{behind}\n[workspace]\n");
    fs::write(project.join("Cargo.toml"), manifest).unwrap();
    fs::copy(workspace().join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    fs::create_dir_all(project.join("tests")).unwrap();
    let code = code_of_the_book(|chapter| chapter == BESIDE_KUBE, 2);
    fs::write(project.join("tests/book.rs"), code).unwrap();
    let (stdout, stderr) = cargo_test(&project, &target, &["--test", "book"]);
    assert!(stdout.contains("test result: ok. 2 passed"), "{stdout}\n{stderr}");
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
    explore(&root.join("cache"), &target);
    with_another_status(&root.join("markdown-view"));
    let (stdout, stderr) = cargo_test(&root, &target, &["--package", "markdown-view"]);
    assert!(
        stdout.contains("test a_sample_is_accepted_and_reconciled ... ok"),
        "{stdout}\n{stderr}"
    );
}

/// Gives the kind a status of its user's own, as the first thing that users do: the tests that came with it still hold, and no import
/// is left over, to which clippy would object.
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
        "test crashes_and_restarts_do_no_harm ... ok",
        "test v2_and_v1_hold_the_same ... ok",
        "test it_is_available_when_its_pods_run ... ok",
        "test the_operator_starts_with_the_role_it_asks_for ... ok",
        "test an_object_is_admitted ... ok",
        "::websites_are_filled_in_and_checked ... ok",
        "::pods_move_when_their_node_fails ... ok",
    ] {
        assert!(stdout.contains(test), "{test} is missing:\n{stdout}");
    }
}

/// What compiles the projects, and those alone: the compiler with clippy's lints, so that one build says what `make lint` would.
const COMPILER: &str = "clippy-driver";

/// `cargo test`, in which a warning is an error, clippy's as well; what it said.
fn cargo_test(root: &Path, target: &Path, arguments: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline"])
        .args(arguments)
        .current_dir(root)
        .env("CARGO_TARGET_DIR", target)
        .env("RUSTFLAGS", "-Dwarnings")
        .env("RUSTC_WORKSPACE_WRAPPER", COMPILER)
        .env("KUBEWRIGHT_TEST_DEADLINE", "60")
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

/// The command explores a project as `create api` left it: nothing is found, and a page tells what was tried. Then its user makes a
/// mistake, and the command finds it.
fn explore(project: &Path, target: &Path) {
    let words = ["--class", "restart,crash,edits", "--jobs", "2"];
    let (code, stdout) = explored(project, target, &words);
    assert_eq!(code, Some(0), "{stdout}");
    let page = target.join("explore/explore-crashes_and_restarts_do_no_harm.html");
    let page = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    assert!(page.contains("/spec/size = 2"), "no edit of the schema: {page}");
    report_only_what_is_new(project);
    let (code, stdout) = explored(project, target, &["--class", "crash"]);
    assert_eq!(code, Some(1), "{stdout}");
    let difference = "different busyboxes.cache.example.com/busybox-sample";
    assert!(stdout.contains(difference), "{stdout}");
    let again = "again: kubewright explore --replay '";
    let plan = stdout.split(again).nth(1).and_then(|rest| rest.split('\'').next());
    let plan = plan.unwrap_or_else(|| panic!("no {again:?} in {stdout}"));
    // The smallest plan: the other samples are not needed.
    assert_eq!(
        plan,
        "crash after patch deployments.apps/busybox-sample #1 in step create cache_v1alpha1_busybox of create cache_v1alpha1_busybox"
    );
    let (code, stdout) = explored(project, target, &["--replay", plan]);
    assert_eq!(code, Some(1), "{stdout}");
    assert!(stdout.contains(difference), "{stdout}");
}

/// The exit code of `kubewright explore` in a project, and what it says.
fn explored(project: &Path, target: &Path, words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .arg("explore")
        .args(words)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_NET_OFFLINE", "true")
        // As in the build before, of which most is used again.
        .env("RUSTFLAGS", "-Dwarnings")
        .env("RUSTC_WORKSPACE_WRAPPER", COMPILER)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .current_dir(project)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    let stdout = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), stdout)
}

/// Writes a status only when the Deployment was made: after a crash in between, none is ever written.
fn report_only_what_is_new(project: &Path) {
    let path = project.join("src/controllers/busybox.rs");
    let text = fs::read_to_string(&path).unwrap();
    let report = "self.report(object, &applied.object.object()?).await";
    assert!(text.contains(report), "{text}");
    let if_new = format!(
        "if applied.outcome == Outcome::Created {{\n            return {report};\n        }}\n        Ok(Action::done())"
    );
    fs::write(&path, text.replace(report, &if_new)).unwrap();
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

/// The Rust blocks of the book as one program of tests: each is a module, as a reader would paste it, with the lines that the book
/// hides. A translation has the same blocks. There are at least so many in the chapters that are wanted.
fn code_of_the_book(is_wanted: impl Fn(&str) -> bool, least: usize) -> String {
    let mut code = "#![allow(warnings, clippy::all)]\n".to_owned();
    let mut blocks = 0;
    let chapters = chapters();
    let is_tried = |chapter: &&Chapter| !chapter.name.starts_with("ja/") && is_wanted(&chapter.name);
    for chapter in chapters.iter().filter(is_tried) {
        for block in chapter.blocks().filter(|block| block.language() == "rust") {
            let name = chapter.name.trim_end_matches(".md").replace('-', "_");
            let (line, place) = (block.line, chapter.place(block.line));
            writeln!(code, "\n// {place}\nmod {name}_{line} {{\n{}}}", module(&block)).unwrap();
            blocks += 1;
        }
    }
    assert!(blocks >= least, "{blocks} blocks");
    code
}

/// A block as a module. In the book's own crate a block is a program: tests that it shows are called by a hidden `main`. Here they are
/// tests, and so is the `main` of a block that has one for another reason.
fn module(block: &Block<'_>) -> String {
    let shown_or_hidden = |line: &&str| -> String {
        let hidden = line.trim_start().strip_prefix("# ");
        hidden
            .unwrap_or_else(|| if line.trim() == "#" { "" } else { line })
            .to_owned()
    };
    let lines: Vec<String> = block.lines.iter().map(shown_or_hidden).collect();
    let shows_tests = lines.iter().any(|line| line.starts_with("kubewright_book::tests!"));
    let has_main = lines.iter().any(|line| line.contains("fn main()"));
    let mut text = String::new();
    if shows_tests {
        // What surrounds the tests goes: `kubewright_book::tests! {`, the brace that ends it, and `main`.
        let mut lines = block.lines.iter().zip(lines);
        for (_, line) in lines
            .by_ref()
            .take_while(|(_, line)| !line.starts_with("kubewright_book::tests!"))
        {
            writeln!(text, "{line}").unwrap();
        }
        for (_, line) in lines.by_ref().take_while(|(written, _)| **written != "# }") {
            writeln!(text, "{line}").unwrap();
        }
        let rest: Vec<String> = lines.map(|(_, line)| line).collect();
        assert!(rest[0].starts_with("fn main() {"), "{}: {rest:?}", block.line);
        return text;
    }
    if !has_main {
        return format!("#[test]\nfn main() {{\n{}\n}}\n", lines.join("\n"));
    }
    for line in lines {
        match line.as_str() {
            "#[tokio::main(flavor = \"current_thread\")]" => text.push_str("#[kubewright::test]\n"),
            "#[tokio::main(flavor = \"current_thread\", start_paused = true)]" => {
                text.push_str("#[kubewright::test(virtual_time)]\n");
            }
            line if line.starts_with("fn main() {") => writeln!(text, "#[test]\n{line}").unwrap(),
            line => writeln!(text, "{line}").unwrap(),
        }
    }
    text
}
