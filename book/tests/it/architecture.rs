//! ARCHITECTURE.md lists every crate and what it depends on. These tests compare that with Cargo's own graph, and hold the graph
//! to the rules that the page states. Only normal dependencies count: what a crate's tests use is its own business. The page of the
//! runtime does the same for its modules, whose graph is read from the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The packages that bring I/O with them.
const IO_PACKAGES: [&str; 5] = ["hyper", "hyper-util", "kube", "tokio", "tokio-rustls"];

/// Crates below the line that use one of [`IO_PACKAGES`] all the same.
/// `store` uses tokio's `sync` to wake watchers; it starts no task and opens nothing.
const IO_EXCEPTIONS: [(&str, &str); 1] = [("store", "tokio")];

/// Crates that depend on no other crate of the workspace, so that every crate may depend on them.
const LEAVES: [&str; 2] = ["apimachinery", "x509"];

/// One crate of `crates/`, as Cargo sees it.
#[derive(Debug, Default, PartialEq)]
struct Dependencies {
    /// Packages of the workspace: `codec` for `crates/codec`, otherwise the folder, as in `examples/markdown-view`.
    workspace: BTreeSet<String>,
    /// Packages from elsewhere.
    external: BTreeSet<String>,
}

type Graph = BTreeMap<String, Dependencies>;

/// The graph that Cargo has read from the manifests of `crates/`.
fn graph_of_cargo() -> Graph {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let root = Path::new(metadata["workspace_root"].as_str().unwrap());
    let name = |folder: &Path| {
        let folder = folder.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        folder.strip_prefix("crates/").map_or(folder.clone(), str::to_owned)
    };
    let mut graph = Graph::new();
    for package in metadata["packages"].as_array().unwrap() {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        if !folder.starts_with(root.join("crates")) {
            continue;
        }
        let dependencies = graph.entry(name(folder)).or_default();
        for dependency in package["dependencies"].as_array().unwrap() {
            if !dependency["kind"].is_null() {
                continue;
            }
            match dependency["path"].as_str() {
                Some(path) => dependencies.workspace.insert(name(Path::new(path))),
                None => dependencies
                    .external
                    .insert(dependency["name"].as_str().unwrap().to_owned()),
            };
        }
    }
    graph
}

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md")).unwrap()
}

/// The lines of the first code block behind a heading or sentence.
fn block_after<'a>(page: &'a str, text: &str) -> Vec<&'a str> {
    let (_, rest) = page
        .split_once(text)
        .unwrap_or_else(|| panic!("ARCHITECTURE.md lacks {text:?}"));
    rest.lines()
        .skip_while(|line| !line.starts_with("```"))
        .skip(1)
        .take_while(|line| !line.starts_with("```"))
        .collect()
}

/// The crates of the list on top of the page: those above its line, and those below.
fn listed(page: &str) -> (Vec<&str>, Vec<&str>) {
    let lines = block_after(page, "# Architecture");
    let mut parts = lines.split(|line| line.starts_with('─')).map(|part| {
        let crates = part.iter().filter_map(|line| line.strip_prefix("crates/"));
        crates
            .map(|line| line.split(' ').next().unwrap_or_default())
            .collect::<Vec<_>>()
    });
    let (above, below) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    assert!(
        parts.next().is_none(),
        "the list of crates in ARCHITECTURE.md has one line"
    );
    (above, below)
}

/// How the page writes a crate and its dependencies.
fn line_of(name: &str, dependencies: &Dependencies) -> String {
    let mut line = name.to_owned();
    for (index, dependency) in dependencies.workspace.iter().enumerate() {
        line.push_str(if index == 0 { " -> " } else { " " });
        line.push_str(dependency);
    }
    line
}

/// The changes that would make the page's lines equal to the graph.
fn corrections(written: &[&str], graph: &Graph) -> Vec<String> {
    let mut corrections = Vec::new();
    let name = |line: &str| line.split(" ->").next().unwrap_or_default().to_owned();
    for (krate, dependencies) in graph {
        let expected = line_of(krate, dependencies);
        let found: Vec<&str> = written.iter().copied().filter(|line| name(line) == *krate).collect();
        match found.as_slice() {
            [] => corrections.push(format!("add the line\n  {expected}")),
            [line] if *line == expected => {}
            [line] => corrections.push(format!("replace the line\n  {line}\nby\n  {expected}")),
            _ => corrections.push(format!("write only once\n  {expected}")),
        }
    }
    let gone = written.iter().filter(|line| !graph.contains_key(&name(line)));
    corrections.extend(gone.map(|line| format!("remove the line\n  {line}")));
    corrections
}

#[test]
fn the_page_lists_every_crate_once() {
    let page = page();
    let (above, below) = listed(&page);
    let listed: Vec<&str> = above.into_iter().chain(below).collect();
    let unique: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(unique.len(), listed.len(), "a crate is listed twice: {listed:?}");
    let graph = graph_of_cargo();
    let crates: BTreeSet<&str> = graph.keys().map(String::as_str).collect();
    assert_eq!(
        unique, crates,
        "the list on top of ARCHITECTURE.md (left) and the folders of crates/ (right) differ"
    );
}

#[test]
fn the_page_states_the_dependencies_that_cargo_has() {
    let corrections = corrections(&block_after(&page(), "## Who depends on whom"), &graph_of_cargo());
    assert!(
        corrections.is_empty(),
        "in ARCHITECTURE.md, under \"Who depends on whom\":\n{}",
        corrections.join("\n")
    );
}

#[test]
fn crates_below_the_line_do_no_io() {
    let (page, graph) = (page(), graph_of_cargo());
    let (_, below) = listed(&page);
    assert!(below.len() > 10, "{below:?}");
    let (mut io, mut upward) = (BTreeSet::new(), BTreeSet::new());
    for krate in &below {
        let dependencies = &graph[*krate];
        let external = dependencies.external.iter().map(String::as_str);
        io.extend(
            external
                .filter(|name| IO_PACKAGES.contains(name))
                .map(|name| (*krate, name)),
        );
        let workspace = dependencies.workspace.iter().map(String::as_str);
        upward.extend(
            workspace
                .filter(|name| !below.contains(name))
                .map(|name| (*krate, name)),
        );
    }
    assert_eq!(
        io,
        BTreeSet::from(IO_EXCEPTIONS),
        "crates below the line and their dependencies that do I/O; on the right what IO_EXCEPTIONS allows"
    );
    assert_eq!(
        upward,
        BTreeSet::new(),
        "dependencies of crates below the line on crates above it"
    );
}

#[test]
fn only_the_demo_depends_on_an_example() {
    for (krate, dependencies) in graph_of_cargo() {
        let examples: Vec<&String> = dependencies
            .workspace
            .iter()
            .filter(|name| name.contains('/'))
            .collect();
        let is_allowed = krate == "demo" && examples == ["examples/markdown-view"];
        assert!(examples.is_empty() || is_allowed, "{krate} depends on {examples:?}");
    }
}

#[test]
fn only_tests_depend_on_the_crate_of_tests() {
    for (krate, dependencies) in graph_of_cargo() {
        assert!(!dependencies.workspace.contains("test-support"), "{krate}");
    }
}

#[test]
fn leaf_crates_depend_on_no_crate_of_the_workspace() {
    let graph = graph_of_cargo();
    for leaf in LEAVES {
        assert_eq!(graph[leaf].workspace, BTreeSet::new(), "{leaf}");
    }
}

#[test]
fn an_operator_in_production_carries_no_api_server() {
    let graph = graph_of_cargo();
    let mut reached = BTreeSet::new();
    let mut next = vec!["runtime"];
    while let Some(krate) = next.pop() {
        if reached.insert(krate) {
            next.extend(graph[krate].workspace.iter().map(String::as_str));
        }
    }
    for krate in ["apiserver", "controllers", "manifests", "testing"] {
        assert!(!reached.contains(krate), "runtime depends on {krate}");
    }
}

#[test]
fn a_correction_says_which_line_to_write() {
    let dependencies = |names: &[&str]| Dependencies {
        workspace: names.iter().map(|name| (*name).to_owned()).collect(),
        external: BTreeSet::new(),
    };
    let graph = Graph::from([
        ("codec".to_owned(), dependencies(&[])),
        ("schema".to_owned(), dependencies(&["merge", "codec"])),
        ("tables".to_owned(), dependencies(&["codec"])),
    ]);
    assert_eq!(
        corrections(&["codec", "schema -> codec", "gone -> codec"], &graph),
        [
            "replace the line\n  schema -> codec\nby\n  schema -> codec merge",
            "add the line\n  tables -> codec",
            "remove the line\n  gone -> codec",
        ]
    );
    assert_eq!(
        corrections(&["codec", "schema -> codec merge", "tables -> codec"], &graph),
        [""; 0]
    );
}

/// The runtime re-exports these from `system`; every module may use them.
const FOR_ALL_MODULES: [&str; 3] = ["clock", "random", "stop"];

fn runtime_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/runtime")
}

/// Rust without comments and without its module of tests.
fn code_in(text: &str) -> String {
    let (code, _) = text.split_once("#[cfg(test)]\nmod tests {").unwrap_or((text, ""));
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The code of a module, which is a file or a folder with a `mod.rs`, without what is compiled for tests only.
fn code_of(module: &Path) -> String {
    let read = |file: &Path| code_in(&std::fs::read_to_string(file).unwrap());
    if module.is_file() {
        return read(module);
    }
    let root = read(&module.join("mod.rs"));
    let entries = std::fs::read_dir(module).unwrap().map(|entry| entry.unwrap().path());
    let modules = entries.filter(|entry| {
        let name = entry.file_stem().unwrap().to_str().unwrap();
        let is_module = entry.join("mod.rs").is_file() || entry.extension().is_some_and(|extension| extension == "rs");
        is_module && name != "mod" && !root.contains(&format!("#[cfg(test)]\nmod {name};"))
    });
    let code: String = modules.map(|module| code_of(&module)).collect();
    root + &code
}

/// The modules of the crate that code names as `crate::module`.
fn modules_named_in(code: &str) -> BTreeSet<String> {
    let paths = code.split("crate::").skip(1);
    paths
        .map(|rest| {
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            assert_ne!(
                end,
                Some(0),
                "one `use crate::module` for each module, not {:?}",
                &rest[..20]
            );
            rest[..end.unwrap_or(rest.len())].to_owned()
        })
        .collect()
}

/// The modules of the runtime, and which others each of them uses.
fn graph_of_the_runtime() -> Graph {
    let sources = runtime_folder().join("src");
    let entries = std::fs::read_dir(&sources).unwrap().map(|entry| entry.unwrap().path());
    let mut graph = Graph::new();
    for entry in entries {
        let module = entry.file_stem().unwrap().to_str().unwrap().to_owned();
        if module == "lib" {
            continue;
        }
        let mut used = modules_named_in(&code_of(&entry));
        used.retain(|name| *name != module && !FOR_ALL_MODULES.contains(&name.as_str()));
        let dependencies = Dependencies {
            workspace: used,
            external: BTreeSet::new(),
        };
        graph.insert(module, dependencies);
    }
    graph
}

#[test]
fn a_module_of_the_runtime_uses_only_modules_below_it() {
    let page = std::fs::read_to_string(runtime_folder().join("ARCHITECTURE.md")).unwrap();
    let written = block_after(&page, "## Which module uses which");
    let graph = graph_of_the_runtime();
    let corrections = corrections(&written, &graph);
    assert!(
        corrections.is_empty(),
        "in crates/runtime/ARCHITECTURE.md, under \"Which module uses which\":\n{}",
        corrections.join("\n")
    );
    let order: Vec<&str> = written.iter().map(|line| line.split(" ->").next().unwrap()).collect();
    for (index, module) in order.iter().enumerate() {
        let upward: Vec<&String> = graph[*module]
            .workspace
            .iter()
            .filter(|used| !order[index..].contains(&used.as_str()))
            .collect();
        assert!(upward.is_empty(), "{module} uses {upward:?}, which stand above it");
    }
}

#[test]
fn paths_in_comments_and_tests_are_no_use_of_a_module() {
    let text = "//! See [`crate::a`].\nuse crate::b::B;\nfn f() { crate::c::d() }\n#[cfg(test)]\nmod tests {\n    use crate::e::E;\n}\n";
    assert_eq!(
        modules_named_in(&code_in(text)),
        BTreeSet::from(["b", "c"].map(str::to_owned))
    );
}
