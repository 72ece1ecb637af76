//! From text to a tree of nodes, in which aliases are still aliases.

use std::collections::HashMap;

use super::error::YamlError;
use super::parse::{Event, Parser};

/// A node's place in its tree.
pub(super) type NodeId = usize;

/// The nodes of one document.
#[derive(Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// `None` for a text without a document.
    pub(super) root: Option<NodeId>,
}

pub(super) struct Node {
    /// Counted from one.
    pub(super) line: usize,
    pub(super) content: Content,
}

pub(super) enum Content {
    Scalar(Scalar),
    /// Keys and values in turn.
    Mapping(Vec<NodeId>),
    Sequence(Vec<NodeId>),
    Alias {
        /// Without its asterisk.
        name: String,
        target: NodeId,
    },
}

pub(super) struct Scalar {
    pub(super) text: String,
    /// In full, such as `tag:yaml.org,2002:str`.
    pub(super) tag: Option<String>,
    /// Whether the text alone decides what it means: it is not quoted, and has no tag.
    pub(super) implicit: bool,
}

impl Tree {
    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }
}

/// Parses the first document.
pub(super) fn parse(bytes: &[u8]) -> Result<Tree, YamlError> {
    let mut builder = Builder::default();
    let mut parser = Parser::new(bytes);
    loop {
        let (event, line) = parser.next()?;
        if let Event::DocumentEnd | Event::StreamEnd = event {
            return Ok(builder.tree);
        }
        builder.event(event, line)?;
    }
}

#[derive(Default)]
struct Builder {
    tree: Tree,
    open: Vec<NodeId>,
    anchors: HashMap<String, NodeId>,
}

impl Builder {
    fn event(&mut self, event: Event, line: usize) -> Result<(), YamlError> {
        match event {
            Event::Scalar {
                text,
                tag,
                implicit,
                anchor,
            } => {
                self.add(Content::Scalar(Scalar { text, tag, implicit }), anchor, line);
            }
            Event::SequenceStart(anchor) => {
                let id = self.add(Content::Sequence(Vec::new()), anchor, line);
                self.open.push(id);
            }
            Event::MappingStart(anchor) => {
                let id = self.add(Content::Mapping(Vec::new()), anchor, line);
                self.open.push(id);
            }
            Event::CollectionEnd => drop(self.open.pop()),
            Event::Alias(name) => {
                let Some(&target) = self.anchors.get(&name) else {
                    return Err(YamlError::yaml(format_args!("unknown anchor '{name}' referenced")));
                };
                self.add(Content::Alias { name, target }, None, line);
            }
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn add(&mut self, content: Content, anchor: Option<String>, line: usize) -> NodeId {
        let id = self.tree.nodes.len();
        self.tree.nodes.push(Node {
            line: line + 1,
            content,
        });
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, id);
        }
        match self.open.last().map(|&parent| &mut self.tree.nodes[parent].content) {
            Some(Content::Mapping(children) | Content::Sequence(children)) => children.push(id),
            _ => self.tree.root = Some(id),
        }
        id
    }
}
