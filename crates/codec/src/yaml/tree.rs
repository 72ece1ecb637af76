//! From text to a tree of nodes, in which aliases are still aliases.

use std::borrow::Cow;
use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::error::{CANNOT_START, YamlError};
use crate::json::MAX_DEPTH;

/// A node's place in its tree.
pub(super) type NodeId = usize;

/// The nodes of one document.
pub(super) struct Tree<'a> {
    text: &'a str,
    nodes: Vec<Node<'a>>,
    /// `None` for a text without a document.
    pub(super) root: Option<NodeId>,
}

pub(super) struct Node<'a> {
    /// Counted from one.
    pub(super) line: usize,
    pub(super) content: Content<'a>,
}

pub(super) enum Content<'a> {
    Scalar(Scalar<'a>),
    /// Keys and values in turn.
    Mapping(Vec<NodeId>),
    Sequence(Vec<NodeId>),
    /// `at` is where it stands in the text, in characters.
    Alias {
        at: usize,
        target: NodeId,
    },
}

pub(super) struct Scalar<'a> {
    pub(super) text: Cow<'a, str>,
    /// In full, such as `tag:yaml.org,2002:str`.
    pub(super) tag: Option<String>,
    /// Whether the text alone decides what it means: it is not quoted, and has no tag.
    pub(super) implicit: bool,
}

impl<'a> Tree<'a> {
    pub(super) fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id]
    }

    /// The name of the alias at a place, without its asterisk. It takes a walk through the text: for errors only.
    pub(super) fn alias_name(&self, at: usize) -> String {
        let rest = self.text.chars().skip(at).skip_while(|&c| c == '*');
        rest.take_while(|&c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
            .collect()
    }
}

const CONTROL_CHARACTERS: &str = "control characters are not allowed";

/// Checks what Go's reader checks before anything is parsed.
pub(super) fn readable(bytes: &[u8]) -> Result<&str, YamlError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let (read, rest) = bytes.split_at(error.valid_up_to());
        // Whatever comes first is named.
        if std::str::from_utf8(read)
            .is_ok_and(|read| read.strip_prefix('\u{feff}').unwrap_or(read).chars().any(is_forbidden))
        {
            return YamlError::yaml(CONTROL_CHARACTERS);
        }
        let width = match rest.first() {
            Some(0xC0..=0xDF) => 2,
            Some(0xE0..=0xEF) => 3,
            Some(0xF0..=0xF7) => 4,
            _ => return YamlError::yaml("invalid leading UTF-8 octet"),
        };
        YamlError::yaml(match rest.get(1..width) {
            None => "incomplete UTF-8 octet sequence",
            Some(trail) if trail.iter().any(|byte| byte & 0xC0 != 0x80) => "invalid trailing UTF-8 octet",
            Some(_) if width == 3 && rest[0] == 0xED => "invalid Unicode character",
            Some(_) => "invalid length of a UTF-8 sequence",
        })
    })?;
    // A byte order mark at the start says how the text is encoded and is no part of it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.chars().any(is_forbidden) {
        return Err(YamlError::yaml(CONTROL_CHARACTERS));
    }
    check_version(text)?;
    match leading_tab(text) {
        Some(0) => Err(YamlError::yaml(CANNOT_START)),
        Some(line) => Err(YamlError::yaml(format_args!("line {}: {CANNOT_START}", line + 1))),
        None => Ok(text),
    }
}

/// Go's `yaml` speaks YAML 1.1 and refuses a document that asks for another version.
fn check_version(text: &str) -> Result<(), YamlError> {
    let preamble = text
        .lines()
        .take_while(|line| line.trim().is_empty() || line.starts_with(['#', '%']));
    for (line, directive) in preamble.enumerate() {
        let version = directive
            .strip_prefix("%YAML")
            .map(|rest| rest.split('#').next().unwrap_or_default().trim());
        match version {
            None | Some("1.1") => {}
            Some(_) if line == 0 => return Err(YamlError::yaml(INCOMPATIBLE)),
            Some(_) => return Err(YamlError::yaml(format_args!("line {line}: {INCOMPATIBLE}"))),
        }
    }
    Ok(())
}

const INCOMPATIBLE: &str = "found incompatible YAML document";

/// The line (counted from zero) of the first content, if a tab indents it: the parser here would let that pass.
fn leading_tab(text: &str) -> Option<usize> {
    let is_preamble = |line: &str| {
        line.trim().is_empty() || line.starts_with(['#', '%']) || line.trim_end() == "---" || line.starts_with("--- #")
    };
    let (at, line) = text.lines().enumerate().find(|(_, line)| !is_preamble(line))?;
    let content = line.trim_start_matches(' ');
    (content.starts_with('\t') && !content.trim_start().starts_with('#')).then_some(at)
}

fn is_forbidden(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' => false,
        '\0'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => true,
        _ => false,
    }
}

/// Why a text was not parsed.
pub(super) struct ParseFailure {
    pub(super) error: YamlError,
    /// Where a quoted scalar begins whose further lines are not indented, in characters. YAML 1.1 has nothing against
    /// that; the parser here has.
    pub(super) outdented_quote: Option<usize>,
}

impl From<YamlError> for ParseFailure {
    fn from(error: YamlError) -> Self {
        Self {
            error,
            outdented_quote: None,
        }
    }
}

/// Parses the first document.
pub(super) fn parse(text: &str) -> Result<Tree<'_>, ParseFailure> {
    let mut builder = Builder {
        tree: Tree {
            text,
            nodes: Vec::new(),
            root: None,
        },
        open: Vec::new(),
        has_escaped_slash: text.is_ascii() && text.contains("\\/"),
        anchors: HashMap::new(),
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| builder.refusal(&error))?;
        if let Event::DocumentEnd = event {
            break;
        }
        builder.event(event, span)?;
    }
    Ok(builder.tree)
}

struct Builder<'a> {
    tree: Tree<'a>,
    open: Vec<NodeId>,
    has_escaped_slash: bool,
    /// The nodes that anchors name, by the parser's number of the anchor.
    anchors: HashMap<usize, NodeId>,
}

impl<'a> Builder<'a> {
    fn event(&mut self, event: Event<'a>, span: Span) -> Result<(), YamlError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if style == ScalarStyle::DoubleQuoted {
                    self.check_escapes(span)?;
                }
                let scalar = scalar(text, style, tag.as_deref());
                let id = self.add(Content::Scalar(scalar), anchor, span);
                // The parser places a block at its first line; Go's `yaml` at the indicator on the line above.
                if let ScalarStyle::Literal | ScalarStyle::Folded = style {
                    let node = &mut self.tree.nodes[id];
                    node.line = node.line.saturating_sub(1).max(1);
                }
            }
            Event::SequenceStart(anchor, _) => {
                let id = self.add(Content::Sequence(Vec::new()), anchor, span);
                self.open(id, span)?;
            }
            Event::MappingStart(anchor, _) => {
                let id = self.add(Content::Mapping(Vec::new()), anchor, span);
                self.open(id, span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => drop(self.open.pop()),
            Event::Alias(anchor) => {
                let at = span.start.index();
                let Some(&target) = self.anchors.get(&anchor) else {
                    return Err(unknown_anchor(&self.tree.alias_name(at)));
                };
                self.add(Content::Alias { at, target }, 0, span);
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn add(&mut self, content: Content<'a>, anchor: usize, span: Span) -> NodeId {
        let id = self.tree.nodes.len();
        self.tree.nodes.push(Node {
            line: span.start.line(),
            content,
        });
        // Anchors are numbered from one.
        if anchor > 0 {
            self.anchors.insert(anchor, id);
        }
        match self.open.last().map(|&parent| &mut self.tree.nodes[parent].content) {
            Some(Content::Mapping(children) | Content::Sequence(children)) => children.push(id),
            _ => self.tree.root = Some(id),
        }
        id
    }

    /// YAML 1.1 has no escaped slash, which the parser here lets pass. (Only in plain ASCII are its places easy to find.)
    fn check_escapes(&self, span: Span) -> Result<(), YamlError> {
        let (start, end) = (span.start.index(), span.end.index());
        let Some(quoted) = self.tree.text.get(start..end).filter(|_| self.has_escaped_slash) else {
            return Ok(());
        };
        let mut rest = quoted;
        while let Some(at) = rest.find('\\') {
            if rest[at + 1..].starts_with('/') {
                let before = &quoted[..quoted.len() - rest.len() + at];
                let line = span.start.line() + before.matches('\n').count();
                let problem = "found unknown escape character";
                return Err(match line {
                    1 => YamlError::yaml(problem),
                    line => YamlError::yaml(format_args!("line {line}: {problem}")),
                });
            }
            rest = rest.get(at + 2..).unwrap_or_default();
        }
        Ok(())
    }

    fn open(&mut self, id: NodeId, span: Span) -> Result<(), YamlError> {
        self.open.push(id);
        if self.open.len() > MAX_DEPTH {
            let line = span.start.line();
            return Err(YamlError::yaml(format_args!(
                "line {line}: exceeded max depth of {MAX_DEPTH}"
            )));
        }
        Ok(())
    }

    fn refusal(&self, error: &saphyr_parser::ScanError) -> ParseFailure {
        let is_outdented = error.info() == "invalid indentation in quoted scalar";
        ParseFailure {
            error: self.reword(error),
            outdented_quote: is_outdented.then(|| error.marker().index()),
        }
    }

    /// Aliases to nothing are the parser's errors here, and name what they miss only in the text.
    fn reword(&self, error: &saphyr_parser::ScanError) -> YamlError {
        if error.info().ends_with("found unknown anchor") {
            return unknown_anchor(&self.tree.alias_name(error.marker().index()));
        }
        let in_list = self
            .open
            .last()
            .is_some_and(|&id| matches!(self.tree.nodes[id].content, Content::Sequence(_)));
        YamlError::scan(error, self.tree.text, in_list)
    }
}

fn unknown_anchor(name: &str) -> YamlError {
    YamlError::yaml(format_args!("unknown anchor '{name}' referenced"))
}

fn scalar<'a>(text: Cow<'a, str>, style: ScalarStyle, tag: Option<&Tag>) -> Scalar<'a> {
    let tag = tag
        .map(|tag| format!("{}{}", tag.handle, tag.suffix))
        .filter(|tag| !tag.is_empty());
    // The tag `!` alone means that the text decides, quoted or not.
    if tag.as_deref() == Some("!") {
        return Scalar {
            text,
            tag: None,
            implicit: true,
        };
    }
    let implicit = tag.is_none() && style == ScalarStyle::Plain;
    Scalar { text, tag, implicit }
}
