//! Where fields are in a document, for reports that follow its order.

use std::ops::Range;

use super::string::Source;

/// The positions of some fields in a document. Values keep their fields sorted, while upstream's strict decoder reports
/// what it finds in the order of the text; so the text is read once more when there is something to report.
///
/// Returns for each path (`spec.ports[0].name`) the offset of the field's name where it is given first; a field the
/// document does not have comes last. The document must be well-formed.
pub fn positions(document: &[u8], paths: &[&str]) -> Vec<usize> {
    let mut sorted: Vec<(&str, usize)> = paths.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let mut finder = Finder {
        source: Source::new(document),
        positions: vec![usize::MAX; paths.len()],
        open: Vec::new(),
        here: MatchedPrefix {
            candidates: 0..sorted.len(),
            length: 0,
        },
        sorted,
    };
    finder.walk();
    finder.positions
}

/// The path of a node as far as it matters here: which of the sorted paths begin with it, and its length.
#[derive(Clone)]
struct MatchedPrefix {
    candidates: Range<usize>,
    length: usize,
}

/// A collection the finder is in.
struct OpenCollection {
    here: MatchedPrefix,
    /// The index of the current item of a list.
    index: Option<usize>,
}

struct Finder<'a, 'p> {
    source: Source<'a>,
    /// The paths that were asked for, sorted as text, each with its index in the argument.
    sorted: Vec<(&'p str, usize)>,
    positions: Vec<usize>,
    open: Vec<OpenCollection>,
    here: MatchedPrefix,
}

impl Finder<'_, '_> {
    fn walk(&mut self) {
        let mut at = 0;
        let mut key_follows = false;
        while let Some(&byte) = self.source.bytes.get(at) {
            at += 1;
            match byte {
                b'{' | b'[' => {
                    let index = (byte == b'[').then_some(0);
                    self.open.push(OpenCollection {
                        here: self.here.clone(),
                        index,
                    });
                    key_follows = byte == b'{';
                    self.enter_item(at);
                }
                b'}' | b']' => drop(self.open.pop()),
                b',' => {
                    key_follows = false;
                    match self.open.last_mut() {
                        Some(OpenCollection { index: Some(index), .. }) => *index += 1,
                        _ => key_follows = true,
                    }
                    self.enter_item(at);
                }
                b'"' => {
                    let Ok((text, end)) = self.source.string(at - 1) else {
                        return;
                    };
                    if std::mem::take(&mut key_follows) {
                        let dot = if self.open.len() > 1 { "." } else { "" };
                        self.enter(&format!("{dot}{text}"));
                        self.record_position(at - 1);
                    }
                    at = end;
                }
                _ => {}
            }
        }
    }

    fn enter_item(&mut self, at: usize) {
        if let Some(OpenCollection { index: Some(index), .. }) = self.open.last() {
            self.enter(&format!("[{index}]"));
            self.record_position(at);
        }
    }

    /// Goes one step down from the innermost open collection. Paths that only begin like the step stay for now: their next
    /// step is another one.
    fn enter(&mut self, step: &str) {
        let Some(OpenCollection { here, .. }) = self.open.last() else {
            return;
        };
        let candidates = &self.sorted[here.candidates.clone()];
        let first = candidates.partition_point(|(path, _)| tail(path, here.length) < step.as_bytes());
        let count =
            candidates[first..].partition_point(|(path, _)| tail(path, here.length).starts_with(step.as_bytes()));
        let start = here.candidates.start + first;
        self.here = MatchedPrefix {
            candidates: start..start + count,
            length: here.length + step.len(),
        };
    }

    fn record_position(&mut self, at: usize) {
        let exact = self.sorted[self.here.candidates.clone()].iter();
        for &(_, path) in exact.take_while(|(path, _)| path.len() == self.here.length) {
            self.positions[path] = self.positions[path].min(at);
        }
    }
}

/// What follows the first bytes of a path.
fn tail(path: &str, length: usize) -> &[u8] {
    path.as_bytes().get(length..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_fields_are_found_in_one_reading() {
        let names: Vec<String> = (0..20_000).map(|number| format!("f{number}")).collect();
        let fields: Vec<String> = names.iter().map(|name| format!("\"{name}\":1")).collect();
        let document = format!("{{{}}}", fields.join(","));
        let paths: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = positions(document.as_bytes(), &paths);
        assert!(found.is_sorted());
        assert!(found.iter().all(|position| *position < document.len()));
    }

    #[test]
    fn a_field_that_begins_like_another_is_another() {
        let document = br#"{"ab":1,"a":{"b":2},"a-c":[{"b":3}]}"#;
        assert_eq!(
            positions(document, &["a", "a.b", "a-c[0].b", "a.c"]),
            [8, 13, 28, usize::MAX]
        );
    }
}
