//! The chapters for users of other tools name only items that exist, and the chapter for kubebuilder covers all of kubebuilder.
//! The names of the other side were recorded from controller-runtime v0.25.2, controller-gen v0.23.0 and kubebuilder v4.15, and
//! taken from the documentation of operator-sdk v1.42.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const KUBEBUILDER: &str = include_str!("../../src/coming-from-kubebuilder.md");
const OPERATOR_SDK: &str = include_str!("../../src/coming-from-operator-sdk.md");
const EXTENDING: &str = include_str!("../../src/extending-the-api.md");
const CLIENT_GO: &str = include_str!("../../src/coming-from-client-go.md");
const KUBE_RS: &str = include_str!("../../src/coming-from-kube-rs.md");
const MARKERS: &str = include_str!("../../../crates/kubewright/src/markers.md");
const MAKEFILE: &str = include_str!("../../../crates/scaffold/src/config/templates/Makefile");

const COMMANDS: [&str; 9] = [
    "init",
    "create api",
    "create webhook",
    "edit",
    "alpha generate",
    "alpha update",
    "completion",
    "version",
    "help",
];

const TARGETS: &str = "all help manifests generate fmt vet test setup-test-e2e test-e2e cleanup-test-e2e lint lint-fix \
    lint-config build run docker-build docker-push docker-buildx build-installer install uninstall deploy undeploy kustomize \
    controller-gen setup-envtest envtest golangci-lint install-helm helm-deploy helm-uninstall helm-status helm-history \
    helm-rollback";

#[test]
fn every_command_of_kubebuilder_has_its_row() {
    let rows = rows(KUBEBUILDER, "## Commands");
    let named: Vec<&str> = rows.iter().flat_map(|row| quoted(row[0])).collect();
    let missing: Vec<_> = COMMANDS.iter().filter(|command| !named.contains(command)).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
}

#[test]
fn every_command_and_target_of_operator_sdk_has_its_row() {
    let commands = include_str!("../recorded/operator-sdk-commands.txt").lines();
    let rows_of_commands = rows(OPERATOR_SDK, "## Commands");
    let named: Vec<&str> = rows_of_commands.iter().flat_map(|row| quoted(row[0])).collect();
    assert_eq!(named, commands.collect::<Vec<_>>());
    let rows_of_targets = rows(OPERATOR_SDK, "## Makefile targets");
    let named: Vec<&str> = rows_of_targets.iter().flat_map(|row| quoted(row[0])).collect();
    for target in "bundle bundle-build bundle-push catalog-build catalog-push operator-sdk opm".split(' ') {
        assert!(named.contains(&target), "no row for {target}");
    }
    for twin in rows_of_targets.iter().flat_map(|row| quoted(row[1])) {
        assert!(MAKEFILE.contains(&format!("\n{twin}:")), "the Makefile has no {twin}");
    }
}

#[test]
fn every_command_that_is_named_exists_with_its_flags() {
    let commands = include_str!("../../../crates/cli/src/main.rs");
    let below = source("crates/cli/src");
    let tables = [
        (KUBEBUILDER, "## Commands"),
        (OPERATOR_SDK, "## Commands"),
        (EXTENDING, "## Coming from apiserver-builder"),
    ];
    for row in tables.iter().flat_map(|(chapter, heading)| rows(chapter, heading)) {
        for command in quoted(row[1]) {
            let mut words = command.split(' ').skip(1).filter(|word| !word.starts_with("--"));
            let Some(first) = words.next() else { continue };
            assert!(
                commands.contains(&format!("    {}(", camel(first))),
                "kubewright {first}"
            );
            for word in words {
                assert!(
                    below.contains(&format!("    {}(", camel(word))),
                    "kubewright {first} {word}"
                );
            }
        }
        let flags = quoted(row[2]).into_iter().filter(|code| code.starts_with("--"));
        for flag in flags {
            assert!(below.contains(&format!("{}: ", field(flag))), "{flag} of {}", row[1]);
        }
    }
}

/// The text of every chapter, in every language.
fn all_chapters() -> Vec<String> {
    let folders = ["book/src", "book/src/ja"];
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let texts: Vec<String> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert!(texts.len() > 25, "{}", texts.len());
    texts
}

/// The texts between backticks in the prose of a chapter. Code blocks are left out.
fn quoted_in_prose(chapter: &str) -> impl Iterator<Item = &str> {
    chapter.split("```").step_by(2).flat_map(str::lines).flat_map(quoted)
}

#[test]
fn no_chapter_names_a_command_or_a_flag_that_there_is_not() {
    let commands = include_str!("../../../crates/cli/src/main.rs");
    let arguments = source("crates/cli/src") + &source("crates/demo/src");
    let (mut named, mut flags) = (0, 0);
    for chapter in all_chapters() {
        for command in quoted_in_prose(&chapter).filter_map(|code| code.strip_prefix("kubewright ")) {
            let mut words = command.split(' ').take_while(|word| *word != "--");
            let first = words.next().unwrap_or_default();
            if !first.starts_with("--") {
                assert!(
                    commands.contains(&format!("    {}(", camel(first))),
                    "kubewright {command}"
                );
                named += 1;
            }
            for flag in words.filter(|word| word.starts_with("--")) {
                let field = field(flag);
                let is_defined = |visible: &str| arguments.contains(&format!("    {visible}{field}: "));
                assert!(
                    ["", "pub(super) ", "pub(crate) "].into_iter().any(is_defined),
                    "kubewright {command}: there is no {flag}"
                );
                flags += 1;
            }
        }
    }
    assert!(named > 100 && flags > 30, "{named} commands, {flags} flags");
}

#[test]
fn no_chapter_calls_a_method_that_there_is_not() {
    let owners = [
        ("env.", source("crates/testing/src"), 50),
        ("client.", source("crates/runtime/src/client"), 20),
        ("manager.", source("crates/runtime/src/manager"), 2),
    ];
    for (prefix, source, least) in owners {
        let mut checked = 0;
        for chapter in all_chapters() {
            for call in quoted_in_prose(&chapter).filter_map(|code| code.strip_prefix(prefix)) {
                let end = call.find(|c: char| !c.is_alphanumeric() && c != '_');
                let name = &call[..end.unwrap_or(call.len())];
                assert!(defines(&source, name), "`{prefix}{call}`: there is no {name}");
                checked += 1;
            }
        }
        assert!(checked >= least, "{prefix}: only {checked} calls were looked at");
    }
}

#[test]
fn the_flags_of_the_manager_that_are_named_are_those_that_there_are() {
    let flags = include_str!("../../../crates/runtime/src/flags/parse.rs");
    let section = section(KUBEBUILDER, "## Flags of the manager");
    let named: BTreeSet<String> = quoted(section)
        .into_iter()
        .filter(|code| code.starts_with("--") && *code != "--zap-")
        .map(field)
        .collect();
    let declared = between(flags, "pub struct Flags {", "\n}");
    let there: BTreeSet<String> = declared
        .lines()
        .filter_map(|line| Some(line.strip_prefix("    pub ")?.split_once(':')?.0.to_owned()))
        .collect();
    assert!(there.len() > 15, "{there:?}");
    assert_eq!(named, there);
}

#[test]
fn every_make_target_has_its_row_and_its_twins_exist() {
    let rows = rows(KUBEBUILDER, "## Makefile targets");
    let named: Vec<&str> = rows.iter().flat_map(|row| quoted(row[0])).collect();
    for target in TARGETS.split_whitespace() {
        assert!(named.contains(&target), "no row for {target}");
    }
    for twin in rows.iter().flat_map(|row| quoted(row[1])) {
        assert!(MAKEFILE.contains(&format!("\n{twin}:")), "the Makefile has no {twin}");
    }
}

#[test]
fn every_workflow_that_init_writes_is_in_the_table_of_files() {
    let files = include_str!("../../../crates/scaffold/src/config/mod.rs");
    let written: Vec<&str> = files.split('"').filter(|text| text.starts_with(".github/")).collect();
    assert!(!written.is_empty());
    let table = section(KUBEBUILDER, "## Files");
    for line in table.lines().filter(|line| line.ends_with("| nothing |")) {
        for path in quoted(line) {
            let path = path.trim_end_matches('/');
            let is_written = written.iter().any(|written| written.starts_with(path));
            assert!(!is_written, "{path} is not nothing");
        }
    }
    for path in written {
        assert!(table.contains(&format!("`{path}`")), "{path} has no row");
    }
}

#[test]
fn every_package_of_controller_runtime_has_its_row() {
    let rows = rows(KUBEBUILDER, "## Packages of controller-runtime");
    let named: Vec<&str> = rows.iter().flat_map(|row| quoted(row[0])).collect();
    let packages = include_str!("../recorded/controller-runtime-packages.txt").lines();
    let missing: Vec<&str> = packages
        .filter(|package| *package != "pkg" && !named.contains(package))
        .collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
}

#[test]
fn every_twin_is_in_the_sources() {
    let tables = [
        (KUBEBUILDER, "## Packages of controller-runtime", 60),
        (CLIENT_GO, "## The pieces", 40),
        (KUBE_RS, "## What is what", 30),
    ];
    for (chapter, heading, least) in tables {
        let mut checked = 0;
        for row in rows(chapter, heading) {
            let mut place = String::new();
            for name in quoted(row[1]).into_iter().filter(|name| is_path(name)) {
                // A name without a path belongs to the type named before it, as in `controller::Watch`: `owned`, `mapped`.
                let item = match name.rsplit_once("::") {
                    Some((path, item)) => {
                        path.clone_into(&mut place);
                        item
                    }
                    None if place.is_empty() => continue,
                    None => name,
                };
                if place == "kube" || place.starts_with("kube::") {
                    continue;
                }
                let folder = folder(&place, item);
                assert!(
                    defines(&source(&folder), item),
                    "{heading}: {name}: {folder} has no {item}"
                );
                checked += 1;
            }
        }
        assert!(checked >= least, "{heading}: only {checked} names were looked at");
    }
}

#[test]
fn every_marker_of_controller_gen_is_in_the_table() {
    let table = between(MARKERS, "ANCHOR: table", "ANCHOR_END: table");
    let keys: Vec<&str> = table.lines().filter(|line| line.starts_with("| `+")).collect();
    let names = include_str!("../recorded/controller-gen-markers.txt").lines();
    let missing: Vec<&str> = names
        .filter(|name| {
            let whole = format!("`+{name}");
            let last = name.rsplit(':').next().unwrap_or(name);
            let short = [format!("`{last}`"), format!("`{last}=")];
            let is_known = |key: &&str| {
                let cell = key.split('|').nth(1).unwrap_or_default();
                // A cell may have several markers, of which only the first has the prefix: `+kubebuilder:validation:MinItems=1`,
                // `MaxItems=9`. The row of a field's marker also covers the same marker of items.
                cell.contains(&whole)
                    || name.starts_with("kubebuilder:validation:") && {
                        let of_field = format!("`+kubebuilder:validation:{last}");
                        cell.contains(&of_field) || short.iter().any(|short| cell.contains(short))
                    }
            };
            !keys.iter().any(is_known)
        })
        .collect();
    assert!(missing.is_empty(), "the table has no {missing:?}");
}

#[test]
fn the_chapter_shows_the_table_of_markers() {
    assert!(KUBEBUILDER.contains("{{#include ../../crates/kubewright/src/markers.md:table}}"));
    assert!(MARKERS.contains("ANCHOR: table -->") && MARKERS.contains("<!-- ANCHOR_END: table -->"));
}

/// The text below a heading, up to the next of the same rank.
fn section<'a>(chapter: &'a str, heading: &str) -> &'a str {
    let (_, rest) = chapter.split_once(&format!("\n{heading}\n")).unwrap();
    rest.split_once("\n## ").map_or(rest, |(section, _)| section)
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap();
    rest.split_once(to).unwrap().0
}

/// The rows of the first table below a heading, as their three cells.
fn rows<'a>(chapter: &'a str, heading: &str) -> Vec<[&'a str; 3]> {
    let lines = section(chapter, heading)
        .lines()
        .skip_while(|line| !line.starts_with('|'));
    let rows: Vec<_> = lines
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            cells
                .try_into()
                .unwrap_or_else(|cells| panic!("not three cells: {cells:?}"))
        })
        .collect();
    assert!(rows.len() > 5, "{heading}");
    rows
}

/// Whether a text is the path of an item, and not a call or a flag.
fn is_path(code: &str) -> bool {
    code.split("::")
        .all(|word| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// The texts between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// `build-installer` as the variant `BuildInstaller`.
fn camel(word: &str) -> String {
    let parts = word.split('-').map(|part| part[..1].to_uppercase() + &part[1..]);
    parts.collect()
}

/// `--project-name` as the field `project_name`.
fn field(flag: &str) -> String {
    let name = flag.trim_start_matches('-');
    name.split(['=', ' ']).next().unwrap_or(name).replace('-', "_")
}

/// The folder or file that defines a name of the chapter. `Client::create_or_update` is written without its module, as in the prelude.
fn folder(module: &str, item: &str) -> String {
    let first = module.split("::").next().unwrap_or_default();
    let folder = match first {
        "testing" => "crates/testing/src".to_owned(),
        "apply" => "crates/apply/src".to_owned(),
        "kubewright_apiserver" => "crates/apiserver/src".to_owned(),
        "conversion" if item == "Convert" => "crates/macros/src".to_owned(),
        "" => panic!("where is {item}?"),
        first if first.starts_with(char::is_uppercase) => "crates/runtime/src".to_owned(),
        first => format!("crates/runtime/src/{first}"),
    };
    if root().join(&folder).exists() {
        folder
    } else {
        format!("{folder}.rs")
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All Rust of a folder, or of one file.
fn source(path: &str) -> String {
    fn read(path: &Path, text: &mut String) {
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                read(&entry.unwrap().path(), text);
            }
        } else if path.extension().is_some_and(|end| end == "rs") {
            text.push_str(&fs::read_to_string(path).unwrap());
            text.push('\n');
        }
    }
    let mut text = String::new();
    read(&root().join(path), &mut text);
    text
}

/// Whether there is a public item of that name, or a module.
fn defines(text: &str, item: &str) -> bool {
    let heads = ["fn", "async fn", "const fn", "struct", "enum", "trait", "mod", "type"];
    heads.iter().any(|head| {
        text.match_indices(&format!("pub {head} {item}")).any(|(at, found)| {
            let after = text[at + found.len()..].chars().next();
            after.is_none_or(|after| !after.is_alphanumeric() && after != '_')
        })
    }) || text.contains(&format!("proc_macro_derive({item}"))
}
