//! Regular expressions with RE2's syntax and guarantees.

use std::sync::Arc;

use regex::Regex;

use crate::error::EvalError;
use crate::library::{Implementation, wrong};
use crate::value::{Outcome, Value};

/// The memory one pattern may take, so that no pattern is a denial of service.
const SIZE_LIMIT: usize = 10 << 20;

/// Compiles a pattern; what RE2 does not have is refused here too.
pub(crate) fn compile(pattern: &str) -> Result<Arc<Regex>, String> {
    if repeats_too_often(pattern) {
        return Err(format!("invalid repeat count in {pattern:?}"));
    }
    let pattern = translate(pattern);
    regex::RegexBuilder::new(&pattern)
        .size_limit(SIZE_LIMIT)
        .build()
        .map(Arc::new)
        .map_err(|error| error.to_string())
}

/// RE2's `\d`, `\s`, `\w` and `\b` are ASCII; its `\pN`-style classes and the rest are the same.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut class = 0;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let Some(next) = chars.next() else {
                    out.push('\\');
                    break;
                };
                if next == 'Q' {
                    quote(&mut chars, &mut out);
                    continue;
                }
                let class_text = match (next, class > 0) {
                    ('d', false) => "[0-9]",
                    ('D', false) => "[^0-9]",
                    ('s', false) => "[\\t\\n\\f\\r ]",
                    ('S', false) => "[^\\t\\n\\f\\r ]",
                    ('w', false) => "[0-9A-Za-z_]",
                    ('W', false) => "[^0-9A-Za-z_]",
                    ('d', true) => "0-9",
                    ('s', true) => "\\t\\n\\f\\r\\x20",
                    ('w', true) => "0-9A-Za-z_",
                    ('b', false) => "(?-u:\\b)",
                    _ => "",
                };
                if class_text.is_empty() {
                    out.push('\\');
                    out.push(next);
                }
                out.push_str(class_text);
            }
            '[' if class == 0 => {
                class = 1;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    out.push('^');
                    chars.next();
                }
                if chars.peek() == Some(&']') {
                    out.push_str("\\]");
                    chars.next();
                }
            }
            '[' if chars.peek() == Some(&':') => {
                // A POSIX class such as `[:alpha:]`.
                out.push('[');
                for c in chars.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '[' => out.push_str("\\["),
            ']' if class > 0 => {
                class = 0;
                out.push(']');
            }
            // These are operators of classes for the regex crate, but plain characters for RE2.
            '&' | '~' if class > 0 => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// Text between `\Q` and `\E` stands for itself.
fn quote(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    while let Some(c) = chars.next() {
        if c == '\\' && chars.peek() == Some(&'E') {
            chars.next();
            return;
        }
        out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }
}

/// RE2 repeats nothing more than a thousand times.
fn repeats_too_often(pattern: &str) -> bool {
    const MOST: u64 = 1000;
    let counts = pattern
        .split('{')
        .skip(1)
        .filter_map(|after| after.split_once('}'))
        .map(|(counts, _)| counts);
    counts
        .filter(|counts| counts.bytes().all(|byte| byte.is_ascii_digit() || byte == b','))
        .flat_map(|counts| counts.split(','))
        .any(|count| !count.is_empty() && count.parse::<u64>().map_or(true, |count| count > MOST))
}

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "matches" => matches,
        "find" => find,
        "findAll" => find_all,
        _ => return None,
    })
}

fn matches<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(text), Value::String(pattern)] = args else {
        return wrong();
    };
    let regex = compile(pattern.as_str()).map_err(EvalError::new)?;
    Ok(Value::Bool(regex.is_match(text.as_str())))
}

fn illegal(error: &str) -> EvalError {
    EvalError::new(format!("Illegal regex: {error}"))
}

fn find<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(text), Value::String(pattern)] = args else {
        return wrong();
    };
    let regex = compile(pattern.as_str()).map_err(|error| illegal(&error))?;
    Ok(Value::text(
        regex.find(text.as_str()).map_or("", |found| found.as_str()),
    ))
}

fn find_all<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (text, pattern, limit) = match args {
        [Value::String(text), Value::String(pattern)] => (text, pattern, usize::MAX),
        [Value::String(text), Value::String(pattern), Value::Int(limit)] => {
            (text, pattern, usize::try_from(*limit).unwrap_or(usize::MAX))
        }
        _ => return wrong(),
    };
    let regex = compile(pattern.as_str()).map_err(|error| illegal(&error))?;
    let found = regex
        .find_iter(text.as_str())
        .take(limit)
        .map(|found| Value::text(found.as_str()))
        .collect();
    Ok(Value::list(found))
}

#[cfg(test)]
mod tests {
    use super::compile;

    fn matches(pattern: &str, text: &str) -> bool {
        compile(pattern).is_ok_and(|regex| regex.is_match(text))
    }

    #[test]
    fn patterns_mean_what_they_mean_to_re2() {
        assert!(matches("(?i)ABC", "abc"));
        assert!(matches(r"^\pL+$", "é"));
        assert!(matches(r"^\p{Greek}$", "α"));
        assert!(matches(r"^\Qa.b\E$", "a.b"));
        assert!(!matches(r"^\Qa.b\E$", "axb"));
        assert!(!matches(r"^\d$", "٣"));
        assert!(!matches(r"^\w$", "é"));
        assert!(matches(r"^[\w.-]+$", "a.b-c"));
        assert!(matches("^[[:alpha:]]+$", "abc"));
        assert!(matches("^[a&&b]+$", "a&b"));
        assert!(matches(r"\bword\b", "a word"));
    }

    #[test]
    fn what_re2_refuses_is_refused() {
        for pattern in ["(?=a)", "a{1001}", "a{2,1}", "[", "(", "*", r"\1"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
