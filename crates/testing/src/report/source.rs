//! What a test says, read from its source: the best text for a function is the function.

use std::path::{Path, PathBuf};

use crate::fail::Place;

/// More lines than this are no text any more.
const MOST_LINES: usize = 12;

/// The closure of the call at a place, as it is written there.
pub(crate) fn closure(at: Place) -> Option<String> {
    let text = read(at.file())?;
    closure_in(&text, at.line() as usize)
}

fn closure_in(text: &str, line: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().skip(line.checked_sub(1)?).take(MOST_LINES).collect();
    let call = lines.join("\n");
    let start = call.find('|')?;
    let end = end_of_argument(&call[start..])?;
    let closure = call[start..start + end].trim_end().trim_end_matches(',').trim_end();
    // On one line, whatever rustfmt made of it.
    Some(closure.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Where the last argument of a call ends: at the first bracket that closes what was opened before it.
fn end_of_argument(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(at),
            },
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
            closure_in(text, 2).as_deref(),
            Some(r#"|pod| { pod.name == ")" && f(pod, ')') }"#)
        );
        assert_eq!(closure_in("env.gone(\"a\");", 1), None);
        assert_eq!(
            closure_in("env.f(|a| a.b()).within(d).await", 1).as_deref(),
            Some("|a| a.b()")
        );
        assert_eq!(closure_in("env.f(|a| (", 1), None);
    }

    #[test]
    fn a_place_in_this_file_is_readable() {
        #[track_caller]
        fn here(_: impl Fn(u32) -> bool) -> Place {
            std::panic::Location::caller()
        }
        let at = here(|number| number > 3);
        assert_eq!(closure(at).as_deref(), Some("|number| number > 3"));
    }
}
