//! A translated chapter keeps step with its original: the same headings, code, rows, paragraphs, quoted words and links.

use std::collections::BTreeSet;

use kubewright_test_support::book::{Chapter, Part, chapters, links};

/// What a translated chapter has in common with its original, in order. Code blocks are the same to the letter, comments included.
/// Headings have the same levels, and quote the same code. So do the rows of tables, in whatever order a row's cells have it. The text of
/// a section has as many paragraphs and items of lists, and quotes and links to the same, in whatever order.
#[derive(Debug, PartialEq)]
enum Outline<'a> {
    Code(&'a str, String),
    Heading(usize, Vec<String>),
    Row(Vec<String>),
    Text(Text),
}

/// The text of one section.
#[derive(Debug, Default, PartialEq)]
struct Text {
    paragraphs: usize,
    quoted: Vec<String>,
    /// The chapters that it links to, and addresses elsewhere.
    links: Vec<String>,
}

impl Text {
    fn of(lines: &[&str], chapter: &str, translated: &BTreeSet<String>) -> Self {
        let is_item =
            |line: &str| line.starts_with("- ") || line.trim_start_matches(char::is_numeric).starts_with(". ");
        let begins = |(index, line): &(usize, &&str)| {
            let follows_text = *index > 0 && !lines[index - 1].is_empty();
            !line.is_empty() && (!follows_text || is_item(line))
        };
        let mut quoted = quoted(&lines.join(" "));
        quoted.sort();
        let named = lines.iter().flat_map(|line| links(line));
        let mut targets: Vec<String> = named
            .filter_map(|target| shared_link(target, chapter, translated))
            .collect();
        targets.sort();
        Self {
            paragraphs: lines.iter().enumerate().filter(begins).count(),
            quoted,
            links: targets,
        }
    }
}

/// What both languages link to where one of them has this target. A link from one language to a chapter of the other that the own
/// language has as well is for readers who want to change the language; it has no twin. Neither do anchors, which are translated.
fn shared_link(target: &str, chapter: &str, translated: &BTreeSet<String>) -> Option<String> {
    let (file, _) = target.split_once('#').unwrap_or((target, ""));
    let is_translation = chapter.starts_with("ja/");
    let changes_the_language = match file.strip_prefix("../") {
        Some(original) => is_translation && translated.contains(original),
        None => !is_translation && file.starts_with("ja/"),
    };
    (!changes_the_language).then(|| file.trim_start_matches("../").to_owned())
}

fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The outline of a chapter; `translated` are the names of the chapters that are there in both languages.
fn outline<'a>(chapter: &'a Chapter, translated: &BTreeSet<String>) -> Vec<Outline<'a>> {
    let mut outline = Vec::new();
    let mut text = Vec::new();
    let close = |text: &mut Vec<&str>, outline: &mut Vec<Outline<'a>>| {
        outline.push(Outline::Text(Text::of(text, &chapter.name, translated)));
        text.clear();
    };
    for part in chapter.parts() {
        match part {
            Part::Code(block) => {
                outline.push(Outline::Code(block.info, block.text()));
                text.push("");
            }
            Part::Prose { text: heading, .. } if heading.starts_with('#') => {
                close(&mut text, &mut outline);
                let level = heading.len() - heading.trim_start_matches('#').len();
                outline.push(Outline::Heading(level, quoted(heading)));
            }
            Part::Prose { text: row, .. } if row.starts_with('|') => {
                let mut words = quoted(row);
                words.extend(
                    links(row)
                        .into_iter()
                        .filter_map(|target| shared_link(target, &chapter.name, translated)),
                );
                words.sort();
                outline.push(Outline::Row(words));
            }
            Part::Prose { text: line, .. } => text.push(line),
        }
    }
    close(&mut text, &mut outline);
    outline
}

#[test]
fn a_translation_keeps_step_with_its_original() {
    let chapters = chapters();
    let translated: BTreeSet<String> = chapters
        .iter()
        .filter_map(|chapter| chapter.name.strip_prefix("ja/"))
        .map(str::to_owned)
        .collect();
    assert!(translated.len() >= 6, "{translated:?}");
    let mut differences = Vec::new();
    for name in &translated {
        let named = |name: &str| chapters.iter().find(|chapter| chapter.name == name);
        let translation = named(&format!("ja/{name}")).unwrap();
        let original = named(name).unwrap_or_else(|| panic!("book/src/ja/{name} has no original"));
        let (expected, found) = (outline(original, &translated), outline(translation, &translated));
        for (expected, found) in expected
            .iter()
            .zip(&found)
            .filter(|(expected, found)| expected != found)
        {
            differences.push(format!(
                "book/src/{name} has\n{expected:#?}\nand book/src/ja/{name}\n{found:#?}"
            ));
        }
        assert_eq!(
            expected.len(),
            found.len(),
            "{name}: headings, blocks and rows\n{}",
            differences.join("\n")
        );
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_translation_that_falls_behind_would_be_found() {
    let chapter = |name: &str, text: &str| Chapter {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    let translated = BTreeSet::from(["a.md".to_owned()]);
    let original = "# A `b`\n\nText `c`.\n\n```rust\n// it\nrun();\n```\n\n[B](b.md#b) ([here](ja/a.md)):\n- one\n- two\n\n| `x` of | `y` |\n";
    let original = chapter("a.md", original);
    let twin = "# `b` の A\n\n本文。\n`c`。\n\n```rust\n// it\nrun();\n```\n\n[あ](../b.md#い)（[英語](../a.md)）\n- 一\n- 二\n\n| `y` の | `x` |\n";
    assert_eq!(
        outline(&original, &translated),
        outline(&chapter("ja/a.md", twin), &translated)
    );
    for (from, to) in [
        ("# `b` の A", "# A"),
        ("# `b`", "## `b`"),
        ("run();", "walk();"),
        ("// it", "// それ"),
        ("`x`", "x"),
        ("`c`", "`d`"),
        ("`c`。", "`c`。\n\n段落。"),
        ("- 二\n", ""),
        ("../b.md", "../d.md"),
        ("| `y` の |", "| [`y`](b.md) の |"),
    ] {
        let behind = chapter("ja/a.md", &twin.replacen(from, to, 1));
        assert_ne!(outline(&original, &translated), outline(&behind, &translated), "{from}");
    }
}
