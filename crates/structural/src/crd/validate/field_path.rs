//! Paths of fields and map keys below a schema, as selectable fields and the `fieldPath` of rules write them.

use super::props::Props;

/// What a path leads to.
pub(super) struct Found<'a> {
    /// The path as errors show it.
    pub(super) path: String,
    /// Its first step.
    pub(super) root: String,
    /// The schema it ends at; `None` below a map of anything.
    pub(super) schema: Option<Props<'a>>,
}

/// Follows a path; `allow_brackets` lets it name fields in quotes.
pub(super) fn find<'a>(json_path: &str, schema: Option<Props<'a>>, allow_brackets: bool) -> Result<Found<'a>, String> {
    let mut found = Found {
        path: String::new(),
        root: String::new(),
        schema,
    };
    let mut tokens = tokens(json_path).into_iter();
    let end = || "unexpected end of JSON path".to_owned();
    while let Some(token) = tokens.next() {
        match token {
            "." => found.step(tokens.next().ok_or_else(end)?)?,
            "[" if !allow_brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = tokens.next().ok_or_else(end)?;
                let inner = quoted.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\''));
                let inner = inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                found.step(&unescape(inner)?)?;
                match tokens.next() {
                    Some("]") => {}
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err(end()),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(found)
}

impl Found<'_> {
    fn step(&mut self, name: &str) -> Result<(), String> {
        let nowhere = || "does not refer to a valid field".to_owned();
        let schema = self.schema.ok_or_else(nowhere)?;
        let step = if schema.has_properties() {
            self.schema = Some(schema.property(name).ok_or_else(nowhere)?);
            if self.path.is_empty() {
                name.to_owned()
            } else {
                format!(".{name}")
            }
        } else if schema.has("additionalProperties") {
            self.schema = schema.additional_properties();
            format!("[{name}]")
        } else {
            return Err(nowhere());
        };
        if self.path.is_empty() {
            self.root.clone_from(&step);
        }
        self.path.push_str(&step);
        Ok(())
    }
}

/// Dots and brackets alone, quoted texts whole, everything between them together.
fn tokens(path: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.bytes().next() {
        let end = match first {
            b'.' | b'[' | b']' => 1,
            b'\'' => {
                let bytes = rest.as_bytes();
                let close = (1..bytes.len()).find(|at| bytes[*at] == b'\'' && bytes[at - 1] != b'\\');
                close.map_or(rest.len(), |at| at + 1)
            }
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after;
    }
    tokens
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some('\'') => '\'',
            Some('\\') | None => '\\',
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
        });
    }
    Ok(out)
}
