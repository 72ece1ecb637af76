//! A project that was written from the first templates comes to the current ones, and nothing that its user wrote is lost.

use std::collections::BTreeMap;

use kubewright_scaffold::plan::{self, Change, Options, Upgrade};
use kubewright_scaffold::project::TEMPLATES;
use kubewright_scaffold::{Project, Source, manifest};

/// The files of a project that `kubewright init`, `create api` and `create webhook` wrote before templates had generations.
fn before() -> BTreeMap<String, String> {
    let text = include_str!("../../testdata/upgrade/shop.txt");
    let files = text.split("===== ").skip(1).map(|file| {
        let (path, content) = file.split_once('\n').unwrap();
        (path.to_owned(), content.to_owned())
    });
    files.collect()
}

fn project(files: &BTreeMap<String, String>) -> Project {
    Project::parse(&files["PROJECT"]).unwrap()
}

/// Upgrades the files to a version.
fn upgrade(files: &mut BTreeMap<String, String>, version: &str) -> Upgrade {
    let before = project(files);
    let upgrade = plan::upgrade(&before, &before.upgrade(version).unwrap(), files).unwrap();
    for change in &upgrade.changes {
        match change {
            Change::Create(file) => assert_eq!(files.insert(file.path.clone(), file.content.clone()), None),
            Change::Update(file) => {
                let there = files.insert(file.path.clone(), file.content.clone());
                assert!(there.is_some_and(|there| there != file.content), "{}", file.path);
            }
            Change::Remove(path) => assert!(files.remove(path).is_some()),
        }
    }
    upgrade
}

fn edit(files: &mut BTreeMap<String, String>, path: &str, from: &str, to: &str) {
    let text = files.get_mut(path).unwrap();
    assert!(text.contains(from), "{path} has no {from:?}");
    *text = text.replacen(from, to, 1);
}

#[test]
fn the_first_templates_are_kept_as_they_were() {
    let fixture = before();
    let project = project(&fixture);
    assert_eq!(project.templates(), 1);
    let made = plan::plan(None, &project, Vec::new(), &BTreeMap::new(), &Options::default()).unwrap();
    for change in made {
        let Change::Create(file) = change else {
            panic!("{change:?}")
        };
        assert_eq!(fixture.get(&file.path), Some(&file.content), "{}", file.path);
    }
}

#[test]
fn an_untouched_project_becomes_what_it_would_be_if_it_were_made_now() {
    let mut files = before();
    let done = upgrade(&mut files, "0.3.0");
    assert_eq!((done.conflicts, done.kept), (Vec::new(), Vec::new()));
    let project = project(&files);
    assert_eq!(
        (project.templates(), project.cli_version.as_str()),
        (TEMPLATES, "0.3.0")
    );
    let made = plan::plan(None, &project, Vec::new(), &BTreeMap::new(), &Options::default()).unwrap();
    for change in made {
        let Change::Create(file) = change else {
            panic!("{change:?}")
        };
        assert_eq!(files.get(&file.path), Some(&file.content), "{}", file.path);
    }
    let path = "/home/dev/kubewright/crates/kubewright".to_owned();
    let fresh = manifest(&project, &Source::Path(path)).content;
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        files["Cargo.toml"],
        fresh.replace(&format!("{{ version = \"{version}\""), "{ version = \"0.3.0\"")
    );
    let (config, ignored) = (&files[".cargo/config.toml"], &files[".cargo/.gitignore"]);
    assert!(config.contains("kubewright = { path = \"/home/dev/kubewright/crates/kubewright\" }"));
    assert!(ignored.contains("/config.toml"));

    let again = upgrade(&mut files, "0.3.0");
    assert_eq!(again.changes, []);
}

#[test]
fn no_edit_is_lost() {
    let mut files = before();
    // A dependency, a target, a variable, code, a file that is gone, a README of one's own.
    edit(
        &mut files,
        "Cargo.toml",
        "features = [\"v1_36\"] }\n",
        "features = [\"v1_36\"] }\nserde = \"1\"\n",
    );
    edit(
        &mut files,
        "Makefile",
        "IMG ?= controller:latest",
        "IMG ?= example.com/shop:v7",
    );
    files
        .get_mut("Makefile")
        .unwrap()
        .push_str("\n.PHONY: mine\nmine:\n\techo mine\n");
    edit(&mut files, "src/controllers/order.rs", "Ok(", "/* mine */ Ok(");
    edit(&mut files, ".gitignore", "/target\n", "/target\n/mine\n");
    files.remove(".github/workflows/lint.yml");
    files.insert("README.md".to_owned(), "# Shop\n\nMine, all of it.\n".to_owned());
    let user = files.clone();

    let done = upgrade(&mut files, "0.3.0");
    assert_eq!(done.conflicts, Vec::<String>::new());
    let kept: Vec<&str> = done.kept.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(kept, [".github/workflows/lint.yml", "README.md"]);
    assert!(!files.contains_key(".github/workflows/lint.yml"));
    for path in ["README.md", "src/controllers/order.rs"] {
        assert_eq!(files[path], user[path], "{path}");
    }
    for line in ["/mine\n", "/cover.out\n"] {
        assert!(files[".gitignore"].contains(line), "{line}");
    }
    let makefile = &files["Makefile"];
    for line in [
        "IMG ?= example.com/shop:v7\n",
        "\nmine:\n\techo mine\n",
        "\nuse-checkout: ",
        "KUBEWRIGHT_VERSION ?= 0.3.0\n",
    ] {
        assert!(makefile.contains(line), "{line}: {makefile}");
    }
    let manifest = &files["Cargo.toml"];
    assert!(
        manifest.contains("kubewright = { version = \"0.3.0\", features = [\"v1_36\"] }\nserde = \"1\"\n"),
        "{manifest}"
    );
}

#[test]
fn code_that_its_user_has_written_is_never_merged() {
    let mut files = before();
    // The import that the template no longer has may be what the user's own fields need.
    edit(
        &mut files,
        "src/api/v1/order.rs",
        "    pub foo: Option<String>,",
        "    pub foo: BTreeMap<String, String>,",
    );
    let mine = files["src/api/v1/order.rs"].clone();
    let done = upgrade(&mut files, "0.3.0");
    assert_eq!((done.conflicts, done.kept), (Vec::new(), Vec::new()));
    assert_eq!(files["src/api/v1/order.rs"], mine);
}

#[test]
fn lines_that_both_sides_changed_are_both_there() {
    let mut files = before();
    edit(
        &mut files,
        ".github/workflows/test.yml",
        "run: cargo test\n",
        "run: cargo test --release\n",
    );
    edit(
        &mut files,
        "Cargo.toml",
        "[dependencies]\n",
        "[dependencies]\nserde = \"1\"\n",
    );
    let done = upgrade(&mut files, "0.3.0");
    assert_eq!(done.conflicts, [".github/workflows/test.yml"]);
    let workflow = &files[".github/workflows/test.yml"];
    for lines in [
        "<<<<<<< yours\n        run: cargo test --release\n",
        "        run: cargo test --locked\n",
        ">>>>>>> kubewright 0.3.0\n",
        "runs-on: ubuntu-24.04\n",
    ] {
        assert!(workflow.contains(lines), "{lines}: {workflow}");
    }
    // Cargo has to go on reading its manifest.
    let manifest = &files["Cargo.toml"];
    assert!(
        !manifest.contains("<<<<<<<") && manifest.contains("[dependencies]\nserde = \"1\"\n"),
        "{manifest}"
    );
    assert!(
        manifest.contains("kubewright = { version = \"0.3.0\", features"),
        "{manifest}"
    );
    assert_eq!(done.kept[0].0, "Cargo.toml");
}

#[test]
fn a_project_of_a_newer_command_is_left_alone() {
    let files = before();
    let mut newer = project(&files);
    newer.cli_version = "0.10.0".to_owned();
    let error = newer.upgrade("0.9.1").unwrap_err().to_string();
    assert!(error.contains("written by kubewright 0.10.0"), "{error}");
    newer.cli_version = "0.1.0".to_owned();
    newer.plugins.settings.templates = Some(TEMPLATES + 1);
    assert!(newer.upgrade("0.9.1").is_err());
}
