//! Where a field is in a text that somebody typed.

/// The line, counted from 0, on which a field begins, or the nearest field around it that is there; `None` if there is nothing of it. The text is read
/// by its indentation: what stands on one line, as `{a: 1}`, is found where that begins.
pub(crate) fn line_of(text: &str, field: &str) -> Option<usize> {
    let wanted = plain(field);
    let mut best: Option<(usize, usize)> = None;
    for (line, path) in paths(text) {
        let is_around = wanted
            .strip_prefix(path.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        if is_around && best.is_none_or(|(length, _)| path.len() > length) {
            best = Some((path.len(), line));
        }
    }
    best.map(|(_, line)| line)
}

/// One way to write all paths: `spec.containers.0.image`.
fn plain(field: &str) -> String {
    let field = field.trim_start_matches('.').replace(['[', '.'], ".");
    field.replace([']', '"'], "")
}

/// A collection that is open at a line.
struct Open {
    indent: usize,
    path: String,
    /// The place of the item, in a list.
    item: Option<usize>,
}

/// The lines on which fields begin, with their paths.
fn paths(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    // Lines that are deeper than this belong to a text.
    let mut in_text: Option<usize> = None;
    for (number, line) in text.lines().enumerate() {
        let mut rest = line.trim_start_matches(' ');
        let mut indent = line.len() - rest.len();
        if rest.is_empty() || rest.starts_with('#') || rest.starts_with("---") {
            continue;
        }
        if in_text.is_some_and(|text| indent > text) {
            continue;
        }
        in_text = None;
        while let Some(item) = rest
            .strip_prefix('-')
            .filter(|item| item.is_empty() || item.starts_with(' '))
        {
            // A list may stand at the indentation of its key.
            open.retain(|one| one.indent <= indent);
            let at = match open.last_mut() {
                Some(last) if last.indent == indent && last.item.is_some() => {
                    let next = last.item.map_or(0, |item| item + 1);
                    last.item = Some(next);
                    next
                }
                _ => {
                    let path = joined(&open);
                    open.push(Open {
                        indent,
                        path,
                        item: Some(0),
                    });
                    0
                }
            };
            let path = open.last().map(|list| list.path.clone()).unwrap_or_default();
            found.push((number, dotted(&path, &at.to_string())));
            let trimmed = item.trim_start_matches(' ');
            indent += 1 + item.len() - trimmed.len();
            rest = trimmed;
        }
        let Some((key, value)) = key(rest) else {
            continue;
        };
        open.retain(|one| one.indent < indent);
        let path = dotted(&joined(&open), &key);
        found.push((number, path.clone()));
        open.push(Open {
            indent,
            path,
            item: None,
        });
        if value.starts_with(['|', '>']) {
            in_text = Some(indent);
        }
    }
    found
}

/// The path of what is open.
fn joined(open: &[Open]) -> String {
    match open.last() {
        Some(Open {
            path, item: Some(item), ..
        }) => dotted(path, &item.to_string()),
        Some(one) => one.path.clone(),
        None => String::new(),
    }
}

fn dotted(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// The key that a line begins with, and what follows it.
fn key(line: &str) -> Option<(String, &str)> {
    let (key, value) = match line.strip_prefix('"') {
        Some(quoted) => {
            let (key, rest) = quoted.split_once('"')?;
            (key, rest.strip_prefix(':')?)
        }
        None => match line.split_once(": ") {
            Some((key, value)) => (key, value),
            None => (line.trim_end().strip_suffix(':')?, ""),
        },
    };
    Some((key.trim_matches('\'').to_owned(), value.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# typed by hand
apiVersion: v1
metadata:
  labels:
    \"a.b/c\": x
spec:
  text: |
    replicas: 3
  replicas: -1
  containers:
  - name: a
    image: one
    ports:
    - 80
    - 443
  - name: b
    image: two
  indented:
    - name: c
      deep: {a: 1}
  last: true
";

    #[test]
    fn a_field_is_found_on_its_line_or_around_it() {
        let lines: Vec<&str> = TEXT.lines().collect();
        let at = |field: &str| line_of(TEXT, field).map(|line| lines[line].trim());
        assert_eq!(at("spec.replicas"), Some("replicas: -1"));
        assert_eq!(at("spec.containers[1].image"), Some("image: two"));
        assert_eq!(at("spec.containers[0].ports[1]"), Some("- 443"));
        assert_eq!(at("spec.indented[0].deep.a"), Some("deep: {a: 1}"));
        assert_eq!(at("metadata.labels[a.b/c]"), Some("\"a.b/c\": x"));
        assert_eq!(at("spec.last"), Some("last: true"));
        assert_eq!(at("spec.missing.deeper"), Some("spec:"));
        assert_eq!(at("status"), None);
        assert_eq!(at("spec.rep"), Some("spec:"));
    }
}
