//! What the code that a reader sees takes from Kubewright and the standard library, it imports where the reader sees it.

use std::collections::BTreeSet;

use kubewright_test_support::book::chapters;

const PRELUDE: &str = include_str!("../../../crates/kubewright/src/prelude.rs");

/// The imports of code: what follows `use`, up to the semicolon.
fn imports(code: &str) -> Vec<&str> {
    let starts = code.match_indices("use ").filter(|(at, _)| {
        let line = &code[code[..*at].rfind('\n').map_or(0, |end| end + 1)..*at];
        matches!(line.trim(), "" | "pub")
    });
    let imports = starts.filter_map(|(at, word)| code[at + word.len()..].split_once(';'));
    imports.map(|(import, _)| import).collect()
}

/// The names that an import brings. Those of the prelude are known; what another `*` brings is not, and it brings itself.
fn names(import: &str) -> Vec<String> {
    let import = import.trim();
    if let Some((path, list)) = import.split_once('{') {
        let list = list.rsplit_once('}').map_or(list, |(list, _)| list);
        // Lists in lists are not written in the book.
        return list
            .split(',')
            .flat_map(|name| names(&format!("{path}{}", name.trim())))
            .collect();
    }
    if import == "kubewright::prelude::*" {
        return imports(PRELUDE).into_iter().flat_map(names).collect();
    }
    let name = import.rsplit_once(" as ").map_or(import, |(_, name)| name);
    let name = name.trim_end_matches("::self");
    let name = if name.ends_with('*') {
        name
    } else {
        name.rsplit("::").next().unwrap_or(name)
    };
    (!name.is_empty()).then(|| name.to_owned()).into_iter().collect()
}

/// The names that the visible lines of a block have from imports that it hides.
fn missing(lines: &[&str]) -> BTreeSet<String> {
    let (mut visible, mut hidden) = (String::new(), String::new());
    for line in lines {
        match line.trim_start().strip_prefix("# ") {
            Some(line) => hidden.extend([line, "\n"]),
            None if line.trim() == "#" => {}
            None => visible.extend([*line, "\n"]),
        }
    }
    let code: Vec<&str> = visible
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line))
        .collect();
    let is_part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = code
        .iter()
        .flat_map(|line| line.split(|c| !is_part_of_word(c)))
        .collect();
    let shown: BTreeSet<String> = imports(&visible).into_iter().flat_map(names).collect();
    let hidden = imports(&hidden)
        .into_iter()
        .filter(|import| import.starts_with("kubewright") || import.starts_with("std::"));
    hidden
        .flat_map(names)
        .filter(|name| (words.contains(name.as_str()) || name.ends_with('*')) && !shown.contains(name))
        .collect()
}

#[test]
fn what_is_shown_uses_nothing_that_a_hidden_line_imports() {
    for chapter in chapters() {
        for block in chapter.blocks().filter(|block| block.language() == "rust") {
            let missing = missing(&block.lines);
            assert!(
                missing.is_empty(),
                "{}: show the imports of {missing:?}",
                chapter.place(block.line)
            );
        }
    }
}

#[test]
fn a_hidden_import_would_be_found() {
    let names = |lines: &[&str]| missing(lines).into_iter().collect::<Vec<_>>();
    let shown = "let env = TestEnv::start(Operator::new(\"shop\")).await; // a Client";
    let prelude = "# use kubewright::prelude::*;";
    assert_eq!(
        names(&[prelude, "# use kubewright::testing::{Fault, TestEnv};", shown]),
        ["Operator", "TestEnv"]
    );
    assert!(
        names(&[
            "use kubewright::prelude::*;",
            prelude,
            "use kubewright::testing::TestEnv;",
            shown
        ])
        .is_empty()
    );
    assert!(names(&[prelude, "# use std::sync::Arc;", "env.settle().await;"]).is_empty());
    assert_eq!(
        names(&["# use std::sync::Arc as Shared;", "let all = Shared::new(1);"]),
        ["Shared"]
    );
    assert_eq!(
        names(&["# use kubewright::apply::apps::v1::*;", "run();"]),
        ["kubewright::apply::apps::v1::*"]
    );
}
