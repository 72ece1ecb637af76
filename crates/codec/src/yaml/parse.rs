//! From tokens to events: the grammar, as Go's `yaml` has it.

use super::scan::{Kind, Problem, Scanner, Token};

/// What a document consists of, in its order.
#[derive(Debug)]
pub(super) enum Event {
    StreamStart,
    StreamEnd,
    DocumentStart,
    DocumentEnd,
    Scalar {
        text: String,
        tag: Option<String>,
        /// Neither quoted nor tagged.
        implicit: bool,
        anchor: Option<String>,
    },
    SequenceStart(Option<String>),
    MappingStart(Option<String>),
    CollectionEnd,
    Alias(String),
}

/// What is expected next.
#[derive(Clone, Copy, Debug)]
enum State {
    StreamStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceFirstEntry,
    BlockSequenceEntry,
    IndentlessSequenceEntry,
    BlockMappingFirstKey,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirstEntry,
    FlowSequenceEntry,
    FlowSequencePairKey,
    FlowSequencePairValue,
    FlowSequencePairEnd,
    FlowMappingFirstKey,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
}

/// An event and the line where it begins, counted from nought.
type Located = (Event, usize);

/// Where a node stands, which decides what may be one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Block,
    /// The value or key of a block, whose list may begin in the same column.
    BlockOrIndentlessSequence,
    Flow,
}

/// The properties before a node.
#[derive(Default)]
struct Properties {
    anchor: Option<String>,
    tag: Option<String>,
}

pub(super) struct Parser<'a> {
    scanner: Scanner<'a>,
    state: State,
    /// What comes behind the nodes that are open.
    states: Vec<State>,
    tag_handles: Vec<(String, String)>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            scanner: Scanner::new(bytes),
            state: State::StreamStart,
            states: Vec::new(),
            tag_handles: Vec::new(),
        }
    }

    /// The next event; nothing is to be asked for behind the end of the first document.
    pub(super) fn next(&mut self) -> Result<Located, Problem> {
        match self.state {
            State::StreamStart => {
                let (_, line) = self.peek()?;
                self.scanner.take();
                self.state = State::DocumentStart;
                Ok((Event::StreamStart, line))
            }
            State::DocumentStart => self.document_start(),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => {
                let (_, line) = self.peek()?;
                Ok((Event::DocumentEnd, line))
            }
            State::BlockNode => self.node(Place::Block),
            State::BlockSequenceFirstEntry => self.first(Self::block_sequence_entry),
            State::BlockSequenceEntry => self.block_sequence_entry(),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingFirstKey => self.first(Self::block_mapping_key),
            State::BlockMappingKey => self.block_mapping_key(),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceFirstEntry => self.first(|parser| parser.flow_sequence_entry(true)),
            State::FlowSequenceEntry => self.flow_sequence_entry(false),
            State::FlowSequencePairKey => self.flow_sequence_pair_key(),
            State::FlowSequencePairValue => self.flow_sequence_pair_value(),
            State::FlowSequencePairEnd => {
                let (_, line) = self.peek()?;
                self.state = State::FlowSequenceEntry;
                Ok((Event::CollectionEnd, line))
            }
            State::FlowMappingFirstKey => self.first(|parser| parser.flow_mapping_key(true)),
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => self.flow_mapping_value(),
            State::FlowMappingEmptyValue => {
                let (_, line) = self.peek()?;
                Ok(self.empty(State::FlowMappingKey, line))
            }
        }
    }

    fn peek(&mut self) -> Result<(Kind, usize), Problem> {
        self.scanner.peek().map(|token| (token.kind, token.line))
    }

    fn take(&mut self) -> Token {
        self.scanner.take().unwrap_or(Token {
            kind: Kind::StreamEnd,
            line: 0,
            text: String::new(),
            suffix: String::new(),
        })
    }

    /// Goes past the token that opens a collection, to what is in it.
    fn first(&mut self, then: impl FnOnce(&mut Self) -> Result<Located, Problem>) -> Result<Located, Problem> {
        self.peek()?;
        self.scanner.take();
        then(self)
    }

    /// A scalar that is not written.
    fn empty(&mut self, next: State, line: usize) -> Located {
        self.state = next;
        let event = Event::Scalar {
            text: String::new(),
            tag: None,
            implicit: true,
            anchor: None,
        };
        (event, line)
    }

    /// Ends a node: what was to come behind it is next.
    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::DocumentEnd);
    }

    fn node_then(&mut self, next: State, place: Place) -> Result<Located, Problem> {
        self.states.push(next);
        self.node(place)
    }

    fn document_start(&mut self) -> Result<Located, Problem> {
        let (kind, line) = self.peek()?;
        if kind == Kind::StreamEnd {
            return Ok((Event::StreamEnd, line));
        }
        let is_explicit = matches!(kind, Kind::Version(_) | Kind::TagDirective | Kind::DocumentStart);
        self.directives()?;
        self.states.push(State::DocumentEnd);
        self.state = State::BlockNode;
        if is_explicit {
            let (kind, at) = self.peek()?;
            if kind != Kind::DocumentStart {
                return Err(Problem::Parser("did not find expected <document start>", at));
            }
            self.scanner.take();
            self.state = State::DocumentContent;
        }
        Ok((Event::DocumentStart, line))
    }

    fn directives(&mut self) -> Result<(), Problem> {
        let mut has_version = false;
        loop {
            match self.peek()? {
                (Kind::Version(_), line) if has_version => {
                    return Err(Problem::Parser("found duplicate %YAML directive", line));
                }
                (Kind::Version(false), line) => return Err(Problem::Parser("found incompatible YAML document", line)),
                (Kind::Version(true), _) => {
                    has_version = true;
                    self.take();
                }
                (Kind::TagDirective, line) => {
                    let token = self.take();
                    if self.tag_handles.iter().any(|(handle, _)| *handle == token.text) {
                        return Err(Problem::Parser("found duplicate %TAG directive", line));
                    }
                    self.tag_handles.push((token.text, token.suffix));
                }
                _ => break,
            }
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            if self.tag_handles.iter().all(|(known, _)| known != handle) {
                self.tag_handles.push((handle.to_owned(), prefix.to_owned()));
            }
        }
        Ok(())
    }

    fn document_content(&mut self) -> Result<Located, Problem> {
        let (kind, line) = self.peek()?;
        match kind {
            Kind::Version(_) | Kind::TagDirective | Kind::DocumentStart | Kind::DocumentEnd | Kind::StreamEnd => {
                let next = self.states.pop().unwrap_or(State::DocumentEnd);
                Ok(self.empty(next, line))
            }
            _ => self.node(Place::Block),
        }
    }

    /// Reads an anchor and a tag, in either order. A second one of a kind is no property, and so no node.
    fn properties(&mut self) -> Result<Properties, Problem> {
        let mut properties = Properties::default();
        let mut tag = None;
        loop {
            match self.peek()? {
                (Kind::Anchor, _) if properties.anchor.is_none() => properties.anchor = Some(self.take().text),
                (Kind::Tag, line) if tag.is_none() => tag = Some((self.take(), line)),
                _ => break,
            }
        }
        if let Some((token, line)) = tag {
            let prefix = self.tag_handles.iter().find(|(handle, _)| *handle == token.text);
            let tag = match prefix {
                _ if token.text.is_empty() => token.suffix,
                Some((_, prefix)) => format!("{prefix}{}", token.suffix),
                None => String::new(),
            };
            if tag.is_empty() && !token.text.is_empty() {
                return Err(Problem::Parser("found undefined tag handle", line));
            }
            properties.tag = Some(tag).filter(|tag| !tag.is_empty());
        }
        Ok(properties)
    }

    fn node(&mut self, place: Place) -> Result<Located, Problem> {
        let (kind, line) = self.peek()?;
        if kind == Kind::Alias {
            self.pop_state();
            return Ok((Event::Alias(self.take().text), line));
        }
        let Properties { anchor, tag } = self.properties()?;
        let (kind, at) = self.peek()?;
        let in_block = place != Place::Flow;
        let (state, event) = match kind {
            Kind::BlockEntry if place == Place::BlockOrIndentlessSequence => {
                (State::IndentlessSequenceEntry, Event::SequenceStart(anchor))
            }
            Kind::Scalar { plain } => {
                self.pop_state();
                let text = self.take().text;
                // The tag `!` alone means that the text decides, quoted or not.
                let implicit = tag.is_none() && plain || tag.as_deref() == Some("!");
                let event = Event::Scalar {
                    text,
                    tag: tag.filter(|tag| tag != "!"),
                    implicit,
                    anchor,
                };
                return Ok((event, line));
            }
            Kind::FlowSequenceStart => (State::FlowSequenceFirstEntry, Event::SequenceStart(anchor)),
            Kind::FlowMappingStart => (State::FlowMappingFirstKey, Event::MappingStart(anchor)),
            Kind::BlockSequenceStart if in_block => (State::BlockSequenceFirstEntry, Event::SequenceStart(anchor)),
            Kind::BlockMappingStart if in_block => (State::BlockMappingFirstKey, Event::MappingStart(anchor)),
            _ if anchor.is_some() || tag.is_some() => {
                self.pop_state();
                let event = Event::Scalar {
                    text: String::new(),
                    implicit: tag.is_none(),
                    tag: tag.filter(|tag| tag != "!"),
                    anchor,
                };
                return Ok((event, line));
            }
            _ => return Err(Problem::Parser("did not find expected node content", at)),
        };
        self.state = state;
        Ok((event, line))
    }

    /// Ends a collection with the token that was looked at.
    fn end(&mut self, line: usize) -> Located {
        self.pop_state();
        self.scanner.take();
        (Event::CollectionEnd, line)
    }

    fn block_sequence_entry(&mut self) -> Result<Located, Problem> {
        let (kind, line) = self.peek()?;
        match kind {
            Kind::BlockEntry => {
                self.scanner.take();
                match self.peek()?.0 {
                    Kind::BlockEntry | Kind::BlockEnd => Ok(self.empty(State::BlockSequenceEntry, line)),
                    _ => self.node_then(State::BlockSequenceEntry, Place::Block),
                }
            }
            Kind::BlockEnd => Ok(self.end(line)),
            _ => Err(Problem::Parser("did not find expected '-' indicator", line)),
        }
    }

    fn indentless_sequence_entry(&mut self) -> Result<Located, Problem> {
        let (kind, line) = self.peek()?;
        if kind != Kind::BlockEntry {
            self.pop_state();
            return Ok((Event::CollectionEnd, line));
        }
        self.scanner.take();
        match self.peek()?.0 {
            Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd => {
                Ok(self.empty(State::IndentlessSequenceEntry, line))
            }
            _ => self.node_then(State::IndentlessSequenceEntry, Place::Block),
        }
    }

    fn block_mapping_key(&mut self) -> Result<Located, Problem> {
        let (kind, line) = self.peek()?;
        match kind {
            Kind::Key => {
                self.scanner.take();
                self.block_node_or_empty(State::BlockMappingValue, line)
            }
            Kind::BlockEnd => Ok(self.end(line)),
            _ => Err(Problem::Parser("did not find expected key", line)),
        }
    }

    fn block_mapping_value(&mut self) -> Result<Located, Problem> {
        let (kind, line) = self.peek()?;
        if kind != Kind::Value {
            return Ok(self.empty(State::BlockMappingKey, line));
        }
        self.scanner.take();
        self.block_node_or_empty(State::BlockMappingKey, line)
    }

    fn block_node_or_empty(&mut self, next: State, line: usize) -> Result<Located, Problem> {
        match self.peek()?.0 {
            Kind::Key | Kind::Value | Kind::BlockEnd => Ok(self.empty(next, line)),
            _ => self.node_then(next, Place::BlockOrIndentlessSequence),
        }
    }

    /// Goes past the comma before an entry of a flow collection.
    fn separator(&mut self, problem: &'static str) -> Result<(), Problem> {
        match self.peek()? {
            (Kind::FlowEntry, _) => {
                self.scanner.take();
                Ok(())
            }
            (_, line) => Err(Problem::Parser(problem, line)),
        }
    }

    fn flow_sequence_entry(&mut self, first: bool) -> Result<Located, Problem> {
        if self.peek()?.0 != Kind::FlowSequenceEnd && !first {
            self.separator("did not find expected ',' or ']'")?;
        }
        let (kind, line) = self.peek()?;
        match kind {
            Kind::FlowSequenceEnd => Ok(self.end(line)),
            // A pair without braces is a mapping of its own.
            Kind::Key => {
                self.scanner.take();
                self.state = State::FlowSequencePairKey;
                Ok((Event::MappingStart(None), line))
            }
            _ => self.node_then(State::FlowSequenceEntry, Place::Flow),
        }
    }

    fn flow_sequence_pair_key(&mut self) -> Result<Located, Problem> {
        let (kind, line) = self.peek()?;
        match kind {
            Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd => {
                self.scanner.take();
                Ok(self.empty(State::FlowSequencePairValue, line))
            }
            _ => self.node_then(State::FlowSequencePairValue, Place::Flow),
        }
    }

    fn flow_sequence_pair_value(&mut self) -> Result<Located, Problem> {
        let (kind, line) = self.peek()?;
        if kind == Kind::Value {
            self.scanner.take();
            if !matches!(self.peek()?.0, Kind::FlowEntry | Kind::FlowSequenceEnd) {
                return self.node_then(State::FlowSequencePairEnd, Place::Flow);
            }
        }
        Ok(self.empty(State::FlowSequencePairEnd, line))
    }

    fn flow_mapping_key(&mut self, first: bool) -> Result<Located, Problem> {
        if self.peek()?.0 != Kind::FlowMappingEnd && !first {
            self.separator("did not find expected ',' or '}'")?;
        }
        let (kind, line) = self.peek()?;
        match kind {
            Kind::FlowMappingEnd => Ok(self.end(line)),
            Kind::Key => {
                self.scanner.take();
                match self.peek()? {
                    (Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd, line) => {
                        Ok(self.empty(State::FlowMappingValue, line))
                    }
                    _ => self.node_then(State::FlowMappingValue, Place::Flow),
                }
            }
            _ => self.node_then(State::FlowMappingEmptyValue, Place::Flow),
        }
    }

    fn flow_mapping_value(&mut self) -> Result<Located, Problem> {
        let (kind, line) = self.peek()?;
        if kind != Kind::Value {
            return Ok(self.empty(State::FlowMappingKey, line));
        }
        self.scanner.take();
        match self.peek()? {
            (Kind::FlowEntry | Kind::FlowMappingEnd, line) => Ok(self.empty(State::FlowMappingKey, line)),
            _ => self.node_then(State::FlowMappingKey, Place::Flow),
        }
    }
}
