//! Reads the closure of an expectation from the source of the test, so that a failure can quote it.

use std::path::{Path, PathBuf};

use crate::fail::CallSite;

/// A closure of more lines is not quoted.
const MOST_LINES: usize = 12;

/// The last argument of the call at a location, as it is written there: a closure, or the name of a function.
pub(crate) fn last_argument(at: CallSite) -> Option<String> {
    let text = read(at.file())?;
    last_argument_in(&text, at.line() as usize, at.column() as usize)
}

fn last_argument_in(text: &str, line: usize, column: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().skip(line.checked_sub(1)?).take(MOST_LINES).collect();
    let call: String = lines.join("\n").chars().skip(column.checked_sub(1)?).collect();
    let arguments = &call[call.find('(')? + 1..];
    let (end, last) = end_of_arguments(arguments)?;
    let arguments = &arguments[..end];
    // A closure may have commas of its own.
    let start = arguments.find('|').unwrap_or(last);
    let argument = arguments[start..].trim().trim_end_matches(',').trim_end();
    // On one line, whatever rustfmt made of it.
    Some(argument.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Where the arguments of a call end: at the first bracket that closes what was opened before it; and where the last one begins.
fn end_of_arguments(text: &str) -> Option<(usize, usize)> {
    let (mut depth, mut last) = (0_u32, 0);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some((at, last)),
            },
            ',' if depth == 0 && !text[at + 1..].trim_start().starts_with(')') => last = at + 1,
            '"' => {
                while let Some((_, inner)) = characters.next() {
                    match inner {
                        '\\' => drop(characters.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            // A bracket as a character; what else begins so is a lifetime.
            '\'' => {
                let rest = &text[at + 1..];
                let is_char = rest.chars().nth(1) == Some('\'') && !rest.starts_with('\\');
                if is_char {
                    characters.nth(1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The compiler names files from the root of the workspace; tests run in the root of their crate.
fn read(file: &str) -> Option<String> {
    let path = Path::new(file);
    if path.is_absolute() {
        return std::fs::read_to_string(path).ok();
    }
    let here: PathBuf = std::env::current_dir().ok()?;
    here.ancestors()
        .find_map(|folder| std::fs::read_to_string(folder.join(path)).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closure_is_found_over_several_lines() {
        let text =
            "let x = 1;\nenv.eventually::<Pod>(\"a\", |pod| {\n    pod.name == \")\" && f(pod, ')')\n})\n.await;\n";
        assert_eq!(
            last_argument_in(text, 2, 5).as_deref(),
            Some(r#"|pod| { pod.name == ")" && f(pod, ')') }"#)
        );
        assert_eq!(
            last_argument_in("env.f(|a, b| a.b()).within(d).await", 1, 5).as_deref(),
            Some("|a, b| a.b()")
        );
        assert_eq!(last_argument_in("env.f(|a| (", 1, 5), None);
        assert_eq!(last_argument_in("", 1, 5), None);
    }

    #[test]
    fn a_function_is_told_by_its_name_and_what_comes_after_the_call_is_not_read() {
        let text = "let map = env\n    .eventually(\n        \"a, b\",\n        is_open(1, 2),\n    );\nlist.map(|other| other);";
        assert_eq!(last_argument_in(text, 2, 6).as_deref(), Some("is_open(1, 2)"));
        assert_eq!(
            last_argument_in("env.list(<[_]>::is_empty)", 1, 5).as_deref(),
            Some("<[_]>::is_empty")
        );
    }

    #[test]
    fn a_place_in_this_file_is_readable() {
        #[track_caller]
        fn here(_: impl Fn(u32) -> bool) -> CallSite {
            std::panic::Location::caller()
        }
        let at = here(|number| number > 3);
        assert_eq!(last_argument(at).as_deref(), Some("|number| number > 3"));
    }
}
