//! Every chapter of the book is listed and tested, every link has a target, every code block names its language.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use kubewright_test_support::book::{Chapter, Part, chapters, links, root};

/// The languages of code blocks. rustdoc would take a block without a language for Rust, and readers would see no highlighting.
const LANGUAGES: [&str; 15] = [
    "rust",
    "yaml",
    "console",
    "sh",
    "toml",
    "text",
    "json",
    "diff",
    "go",
    "dockerfile",
    "make",
    "promql",
    "python",
    "java",
    "javascript",
];

/// The chapters of the table of contents, in order.
fn summary() -> Vec<String> {
    let text = fs::read_to_string(root().join("src/SUMMARY.md")).unwrap();
    text.lines().flat_map(links).map(str::to_owned).collect()
}

#[test]
fn every_chapter_is_in_the_table_of_contents_once() {
    let listed = summary();
    let known: BTreeSet<String> = chapters().into_iter().map(|chapter| chapter.name).collect();
    let unique: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(
        unique, known,
        "src/SUMMARY.md (left) and the files of src/ (right) differ"
    );
    assert_eq!(unique.len(), listed.len(), "a chapter is listed twice");
}

#[test]
fn the_examples_of_every_chapter_are_compiled() {
    let library = fs::read_to_string(root().join("lib.rs")).unwrap();
    for chapter in chapters() {
        let line = format!("#[doc = include_str!(\"src/{}\")]", chapter.name);
        assert!(library.contains(&line), "lib.rs lacks {line}");
    }
}

#[test]
fn every_chapter_has_one_title_and_something_to_say() {
    for chapter in chapters() {
        let titles = chapter.prose().filter(|(_, text)| text.starts_with("# ")).count();
        assert_eq!(titles, 1, "book/src/{}: titles", chapter.name);
        assert!(
            chapter.text.starts_with("# "),
            "book/src/{}: it begins with its title",
            chapter.name
        );
        let lines = chapter.prose().filter(|(_, text)| !text.trim().is_empty()).count();
        assert!(lines > 1, "book/src/{}: there is nothing but a title", chapter.name);
    }
}

#[test]
fn every_code_block_is_closed_and_says_what_it_is() {
    for chapter in chapters() {
        for block in chapter.blocks() {
            let place = chapter.place(block.line);
            assert!(block.is_closed, "{place}: this block has no end");
            let language = block.language();
            assert!(
                LANGUAGES.contains(&language),
                "{place}: {language:?} is none of {LANGUAGES:?}"
            );
            let words = block.info.split([',', ' ']);
            let is_tested = language != "rust" || words.skip(1).all(|word| word != "ignore" && word != "no_run");
            assert!(is_tested, "{place}: Rust in this book runs");
        }
    }
}

/// A doc test runs what its `main` calls. A test function in it that `main` does not call would never run.
#[test]
fn every_test_that_is_shown_is_run() {
    for chapter in chapters() {
        for block in chapter.blocks().filter(|block| block.language() == "rust") {
            let (place, text) = (chapter.place(block.line), block.text());
            let Some((_, shown)) = text.split_once("kubewright_book::tests! {") else {
                continue;
            };
            let (tests, main) = shown
                .split_once("# fn main() {")
                .unwrap_or_else(|| panic!("{place}: there is no main"));
            let names = tests
                .split("async fn ")
                .skip(1)
                .filter_map(|rest| rest.split('(').next());
            for name in names {
                assert!(main.contains(&format!(" {name}()")), "{place}: {name} is not called");
            }
        }
    }
}

/// The crates beside the standard library that the code of the book uses, as paths name them.
const CRATES: [&str; 12] = [
    "futures_util",
    "jiff",
    "k8s_openapi",
    "kube",
    "kubewright_apiserver",
    "kubewright_runtime",
    "kubewright_testing",
    "schemars",
    "serde",
    "serde_json",
    "thiserror",
    "tokio",
];

/// The crates that the visible lines of a Rust block name at the root of a path, except those that a `use` of the block imports from
/// another crate, as `use kubewright::serde_json::{self, json}` does.
fn crates_taken_for_granted<'a>(lines: &[&'a str]) -> BTreeSet<&'a str> {
    let shown = lines.iter().filter(|line| {
        let line = line.trim_start();
        line != "#" && !line.starts_with("# ") && !line.starts_with("//")
    });
    let mut found = BTreeSet::new();
    for line in shown {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        for (at, _) in line.match_indices("::") {
            let before = &line[..at];
            let name = &before[before.trim_end_matches(is_word).len()..];
            let is_root = !before[..before.len() - name.len()].ends_with("::");
            let imported = [
                format!("use kubewright::{name};"),
                format!("use kubewright::{name}::{{self"),
            ];
            let is_imported = lines
                .iter()
                .any(|line| imported.iter().any(|import| line.contains(import)));
            if is_root && !is_imported && CRATES.contains(&name) {
                found.insert(name);
            }
        }
    }
    found
}

/// A project as `kubewright init` writes it depends on kubewright alone, so code that is shown reaches other crates through it.
#[test]
fn code_that_is_shown_needs_no_crate_that_a_new_project_lacks() {
    let manifest = include_str!("../../../crates/scaffold/templates/code/Cargo.toml.template");
    let dependencies: Vec<&str> = manifest.lines().filter(|line| line.contains(" = { ")).collect();
    let is_kubewright = |line: &&str| line.starts_with("kubewright = ");
    assert!(
        dependencies.len() > 1 && dependencies.iter().all(is_kubewright),
        "{dependencies:?}"
    );
    for chapter in chapters() {
        for block in chapter.blocks().filter(|block| block.language() == "rust") {
            for name in crates_taken_for_granted(&block.lines) {
                // Readers who come from kube-rs have these crates, and the chapter says which.
                let is_said = chapter.name.ends_with("coming-from-kube-rs.md")
                    && chapter
                        .text
                        .contains(&format!("`{}`", name.replace('_', "-")).replace("serde-json", "serde_json"));
                let place = chapter.place(block.line);
                assert!(
                    is_said,
                    "{place}: {name}:: is not in a new project; write kubewright::{name}::"
                );
            }
        }
    }
}

#[test]
fn a_crate_that_is_taken_for_granted_would_be_found() {
    let block = [
        "# tokio::spawn(hidden);",
        "// kube::Client in a comment",
        "use kubewright::serde_json::{self, json};",
        "let value = serde_json::Value::Null;",
        "kubewright::tokio::spawn(work);",
        "let running = tokio::spawn(work);",
    ];
    assert_eq!(crates_taken_for_granted(&block), BTreeSet::from(["tokio"]));
    assert_eq!(crates_taken_for_granted(&block[..5]), BTreeSet::new());
}

/// The code that the book shows in other languages is that of the examples, which CI runs.
#[test]
fn code_in_other_languages_is_that_of_the_examples() {
    let files = [
        include_str!("../../../examples/other-languages/python/tests/conftest.py"),
        include_str!("../../../examples/other-languages/python/tests/test_garden.py"),
        include_str!("../../../examples/other-languages/java/src/test/java/com/example/garden/Kubewright.java"),
        include_str!("../../../examples/other-languages/java/src/test/java/com/example/garden/GardenOperatorTest.java"),
        include_str!("../../../examples/other-languages/javascript/testing/kubewright.js"),
        include_str!("../../../examples/other-languages/javascript/test/garden.test.js"),
    ];
    let mut shown = 0;
    for chapter in chapters() {
        for block in chapter.blocks() {
            if matches!(block.language(), "python" | "java" | "javascript") {
                let is_known = files.iter().any(|file| file.contains(&block.text()));
                assert!(is_known, "{}: no file has this block", chapter.place(block.line));
                shown += 1;
            }
        }
    }
    assert!(shown > 6, "{shown}");
}

/// The chapter on tests calls the matchers with the arguments that they take.
/// Every file of a folder, and of the folders in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

/// What rustdoc shows of a file of a crate: all of a Markdown file, the comments of Rust that document something, with the examples in
/// them.
fn documentation(path: &Path, text: &str) -> String {
    let is_shown = |line: &&str| line.trim_start().starts_with("///") || line.trim_start().starts_with("//!");
    match path.extension().and_then(|end| end.to_str()) {
        Some("md") => text.to_owned(),
        Some("rs") => text.lines().filter(is_shown).flat_map(|line| [line, "\n"]).collect(),
        _ => String::new(),
    }
}

/// `serde_json::from_value` drops what a type does not know, so that a misspelt field vanishes; `from_json` refuses it.
#[test]
fn no_example_and_no_chapter_reads_objects_without_refusing_what_their_type_does_not_know() {
    let repository = root().join("..");
    let folders = ["examples", "walkthroughs", "book/src", "crates/scaffold/tests/code"];
    let mut read: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| files(&repository.join(folder)))
        .filter(|path| path.extension().is_none_or(|end| end == "rs" || end == "md"))
        // The chapter that says why not.
        .filter(|path| !path.ends_with("book/src/reading-and-writing.md"))
        .collect();
    assert!(read.len() > 100, "{} files", read.len());
    read.retain(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("from_value")));
    // The documentation of the crates that users name.
    let crates = [
        "apiserver",
        "apply",
        "controllers",
        "extension",
        "kubewright",
        "macros",
        "runtime",
        "testing",
    ];
    let documents = crates
        .iter()
        .flat_map(|name| files(&repository.join("crates").join(name)))
        // The module that says why not.
        .filter(|path| !path.ends_with("runtime/src/strict/mod.rs"))
        .filter(|path| fs::read_to_string(path).is_ok_and(|text| documentation(path, &text).contains("from_value")));
    read.extend(documents);
    assert!(read.is_empty(), "from_json instead of from_value in {read:?}");
}

#[test]
fn every_matcher_is_named_with_its_arguments() {
    let source = include_str!("../../../crates/testing/src/matchers.rs");
    let chapter = include_str!("../../src/testing.md");
    let (_, named) = chapter.split_once("The matchers are ").unwrap();
    let (named, _) = named.split_once("combine with").unwrap();
    let calls: BTreeMap<&str, usize> = named
        .split('`')
        .filter_map(|code| code.strip_suffix(')')?.split_once('('))
        .map(|(name, arguments)| (name, arguments.split(", ").count()))
        .collect();
    let matchers: BTreeMap<&str, usize> = source
        .lines()
        .filter_map(|line| line.strip_prefix("pub fn ")?.split_once('('))
        .map(|(head, rest)| {
            let name = head.split('<').next().unwrap_or(head);
            (name, rest.split(") ->").next().unwrap_or(rest).matches(": ").count())
        })
        .collect();
    assert!(matchers.len() > 4, "{matchers:?}");
    assert_eq!(calls, matchers);
}

/// Every chapter that mentions the period of the resync has the number of the code.
#[test]
fn every_chapter_has_the_period_of_the_resync_right() {
    let source = include_str!("../../../crates/runtime/src/informer/declarations.rs");
    assert!(source.contains("resync: Some(Duration::from_hours(10))"));
    let mut named = 0;
    for chapter in chapters() {
        let prose: Vec<&str> = chapter.text.split("```").step_by(2).collect();
        for line in prose
            .iter()
            .flat_map(|text| text.lines())
            .filter(|line| line.contains("esync"))
        {
            assert!(!line.contains("no periodic"), "book/src/{}: {line}", chapter.name);
            named += usize::from(line.contains("ten hours") || line.contains("10 時間"));
        }
    }
    assert!(named >= 3, "{named}");
}

/// The anchor of a heading, as mdBook and GitHub make it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

fn anchors(chapter: &Chapter) -> BTreeSet<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let mut anchors = BTreeSet::new();
    for part in chapter.parts() {
        let Part::Prose { text, .. } = part else {
            continue;
        };
        let heading = text.trim_start_matches('#');
        if heading.len() == text.len() || !heading.starts_with(' ') {
            continue;
        }
        let anchor = anchor(heading);
        let count = seen.entry(anchor.clone()).or_default();
        anchors.insert(if *count == 0 {
            anchor
        } else {
            format!("{anchor}-{count}")
        });
        *count += 1;
    }
    anchors
}

/// A path without `.` and `..`, or nothing if it leaves the book.
fn within_the_book(path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !clean.pop() {
                    return None;
                }
            }
            component => clean.push(component),
        }
    }
    Some(clean)
}

/// What is wrong with a link of a chapter, if anything is.
fn problem(chapter: &Chapter, target: &str, known: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    if target.starts_with("https://") {
        return None;
    }
    let (file, anchor) = match target.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (target, None),
    };
    let name = if file.is_empty() {
        chapter.name.clone()
    } else {
        let folder = Path::new(&chapter.name).parent().unwrap_or(Path::new(""));
        match within_the_book(&folder.join(file)) {
            Some(path) => path.to_string_lossy().replace('\\', "/"),
            None => return Some("it leaves the book".to_owned()),
        }
    };
    let Some(anchors) = known.get(&name) else {
        // Pictures are no chapters.
        let picture = root().join("src").join(&name);
        let is_picture = picture.extension().is_some_and(|end| end == "png") && picture.is_file();
        return (!is_picture).then(|| format!("there is no {name}"));
    };
    match anchor {
        Some(anchor) if !anchors.contains(anchor) => {
            Some(format!("{name} has no heading #{anchor}; it has {anchors:?}"))
        }
        _ => None,
    }
}

#[test]
fn every_link_leads_somewhere() {
    let chapters = chapters();
    let known: BTreeMap<String, BTreeSet<String>> = chapters
        .iter()
        .map(|chapter| (chapter.name.clone(), anchors(chapter)))
        .collect();
    let mut problems = Vec::new();
    for chapter in &chapters {
        for (line, text) in chapter.prose() {
            for target in links(&text) {
                if let Some(problem) = problem(chapter, target, &known) {
                    problems.push(format!("{}: ({target}): {problem}", chapter.place(line)));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_broken_link_would_be_found() {
    let chapter = Chapter {
        name: "ja/a.md".to_owned(),
        text: "# A\n\n## Read `me`, now\n\n```text\n[no](link)\n```\n[b](../b.md#nowhere)\n".to_owned(),
    };
    assert_eq!(
        anchors(&chapter),
        BTreeSet::from(["a".to_owned(), "read-me-now".to_owned()])
    );
    let known = BTreeMap::from([
        ("ja/a.md".to_owned(), anchors(&chapter)),
        ("b.md".to_owned(), BTreeSet::new()),
    ]);
    assert_eq!(problem(&chapter, "#read-me-now", &known), None);
    assert_eq!(problem(&chapter, "../b.md", &known), None);
    assert!(problem(&chapter, "../b.md#nowhere", &known).is_some());
    assert!(problem(&chapter, "b.md", &known).is_some());
    assert!(problem(&chapter, "../../crates/x.md", &known).is_some());
    let found: usize = chapter.prose().map(|(_, text)| links(&text).len()).sum();
    assert_eq!(found, 1, "links in code blocks are none");
}
