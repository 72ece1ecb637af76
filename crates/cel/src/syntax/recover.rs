//! Follows the grammar through a text with mistakes, reporting and skipping them.

use crate::lexer::{LexError, Token, TokenKind};
use crate::names::is_keyword;
use crate::parser::{self, ParseOptions};
use crate::source::{Issue, Source};
use crate::unescape;

use super::grammar::{Choice, Edge, GRAMMAR, RULE_COUNT, Rule, Set};
use super::predict::{Prediction, WORK, predict};
use super::shapes::{Part, Shapes};

/// Recovery ends after this many attempts.
const MAX_ATTEMPTS: usize = 30;
/// How deep one rule may be nested in itself.
const MAX_NESTING: usize = 250;
/// One recovery skips at most this many tokens.
const MAX_SKIPPED: usize = 256;

/// All kinds in the order messages list them.
const KINDS: [TokenKind; 36] = [
    TokenKind::Eof,
    TokenKind::Equals,
    TokenKind::NotEquals,
    TokenKind::In,
    TokenKind::Less,
    TokenKind::LessEquals,
    TokenKind::GreaterEquals,
    TokenKind::Greater,
    TokenKind::And,
    TokenKind::Or,
    TokenKind::LBracket,
    TokenKind::RBracket,
    TokenKind::LBrace,
    TokenKind::RBrace,
    TokenKind::LParen,
    TokenKind::RParen,
    TokenKind::Dot,
    TokenKind::Comma,
    TokenKind::Minus,
    TokenKind::Exclam,
    TokenKind::Question,
    TokenKind::Colon,
    TokenKind::Plus,
    TokenKind::Star,
    TokenKind::Slash,
    TokenKind::Percent,
    TokenKind::True,
    TokenKind::False,
    TokenKind::Null,
    TokenKind::Float,
    TokenKind::Int,
    TokenKind::Uint,
    TokenKind::String,
    TokenKind::Bytes,
    TokenKind::Ident,
    TokenKind::EscIdent,
];

/// Reports the mistakes of a text.
pub(super) fn parse(source: &Source, tokens: &[Token], dropped: &[LexError], options: ParseOptions) -> Vec<Issue> {
    let mut parser = Parser {
        source,
        tokens,
        dropped,
        at: 0,
        state: 0,
        callers: Vec::new(),
        recovering: false,
        last_error: None,
        attempts: 0,
        work: 0,
        issues: Vec::new(),
        shapes: Shapes::new(source, tokens, options),
    };
    // A parser that was aborted has already reported why, and what it read is dropped.
    if parser.run().is_ok() {
        parser.issues.append(&mut parser.shapes.issues);
    }
    parser.issues
}

/// A mistake within a rule, before it is reported.
enum Mistake {
    Mismatch,
    NoAlternative { start: usize, at: usize },
}

/// The parser stopped before the end of the text.
struct Aborted;

/// How a step inside a rule ended.
enum Failure {
    Mistake(Mistake),
    Aborted,
}

impl From<Aborted> for Failure {
    fn from(_: Aborted) -> Self {
        Failure::Aborted
    }
}

/// A rule that was entered.
struct Frame {
    rule: Rule,
    precedence: u8,
    state: usize,
    /// The first token of the rule.
    begin: usize,
    /// The first choice that was made in it.
    alternative: Option<usize>,
    /// What was read of it.
    parts: Vec<Part>,
}

impl Frame {
    fn new(rule: Rule, precedence: u8, begin: usize) -> Frame {
        Frame {
            rule,
            precedence,
            state: GRAMMAR.start(rule),
            begin,
            alternative: None,
            parts: Vec::new(),
        }
    }
}

struct Parser<'t> {
    source: &'t Source,
    tokens: &'t [Token],
    /// What the lexer dropped; messages do not repeat it.
    dropped: &'t [LexError],
    at: usize,
    state: usize,
    /// The state each rule on the way was called from, and where it returns to.
    callers: Vec<(usize, usize)>,
    recovering: bool,
    last_error: Option<(usize, Vec<usize>)>,
    attempts: usize,
    work: usize,
    issues: Vec<Issue>,
    shapes: Shapes<'t>,
}

impl Parser<'_> {
    fn look(&self, ahead: usize) -> TokenKind {
        self.tokens
            .get(self.at + ahead - 1)
            .map_or(TokenKind::Eof, |token| token.kind)
    }

    fn consume(&mut self) {
        if self.look(1) != TokenKind::Eof {
            self.at += 1;
        }
    }

    fn report(&mut self, token: usize, message: &str) {
        let start = self
            .tokens
            .get(token)
            .or(self.tokens.last())
            .map_or(0, |token| token.start);
        let position = Some(self.source.position(start));
        self.issues.push(Issue {
            position,
            message: format!("Syntax error: {message}"),
        });
    }

    fn shown(&self, token: usize) -> String {
        match self.tokens.get(token) {
            Some(token) if token.kind != TokenKind::Eof => {
                format!("'{}'", escaped(&self.source.slice(token.start, token.end)))
            }
            _ => "'<EOF>'".to_owned(),
        }
    }

    /// Everything that could come next, looking through the ends of rules into their callers.
    fn expected(&self, state: usize) -> Set {
        let mut set = GRAMMAR.next_tokens(state);
        for (_, back) in self.callers.iter().rev() {
            if !set.ends() {
                return set;
            }
            set = set.without_end().with(GRAMMAR.next_tokens(*back));
        }
        if set.ends() {
            set.without_end().with(Set::of(&[TokenKind::Eof]))
        } else {
            set
        }
    }

    /// Follows the grammar from its start; rules that are open wait on a stack of their own.
    fn run(&mut self) -> Result<(), Aborted> {
        let mut frames = vec![Frame::new(Rule::Start, 0, self.at)];
        let mut depths = [0usize; RULE_COUNT];
        while let Some(frame) = frames.last_mut() {
            let done = if GRAMMAR.is_stop(frame.state) {
                true
            } else {
                match self.step(frame) {
                    Ok(None) => false,
                    Ok(Some((rule, precedence))) => {
                        depths[rule as usize] += 1;
                        if depths[rule as usize] > MAX_NESTING {
                            let message = format!("expression recursion limit exceeded: {MAX_NESTING}");
                            self.issues.push(Issue {
                                position: None,
                                message,
                            });
                            return Err(Aborted);
                        }
                        frames.push(Frame::new(rule, precedence, self.at));
                        continue;
                    }
                    Err(Failure::Aborted) => return Err(Aborted),
                    Err(Failure::Mistake(mistake)) => {
                        let (at, rule) = (self.at, frame.rule);
                        self.report_mistake(&mistake);
                        if rule == Rule::EscapeIdent && self.called_by(Rule::Member) {
                            self.say(at, "unsupported ident kind".to_owned());
                        }
                        self.recover()?;
                        true
                    }
                }
            };
            if done && let Some(finished) = frames.pop() {
                depths[finished.rule as usize] = depths[finished.rule as usize].saturating_sub(1);
                let meaning = self.shapes.finish(finished.rule, &finished.parts);
                if let Some(outer) = frames.last_mut() {
                    outer.parts.push(Part::Rule(meaning));
                }
                if let Some((state, _)) = self.callers.pop() {
                    self.state = state;
                }
            }
        }
        Ok(())
    }

    fn called_by(&self, rule: Rule) -> bool {
        self.callers
            .last()
            .is_some_and(|(caller, _)| GRAMMAR.states[*caller].rule == rule)
    }

    /// One step within a rule; a rule to enter if the step is a call.
    fn step(&mut self, frame: &mut Frame) -> Result<Option<(Rule, u8)>, Failure> {
        let state = frame.state;
        let node = &GRAMMAR.states[state];
        let edge = match node.choice {
            Choice::None => node.edges[0],
            choice => {
                self.state = state;
                self.sync(choice)?;
                let taken = self.choose(state, frame.precedence)?;
                frame.alternative = frame.alternative.or(Some(taken));
                node.edges[taken]
            }
        };
        match edge {
            Edge::Go(to) | Edge::Precedence { to, .. } => frame.state = to,
            Edge::Token { set, to } => {
                self.state = state;
                let matched = self.match_token(set, to)?;
                frame.parts.push(Part::Token(matched));
                let named = frame.rule == Rule::Primary && matches!(frame.alternative, Some(0 | 1));
                if named || frame.rule == Rule::Literal {
                    self.meaning(matched, frame.begin);
                }
                frame.state = to;
            }
            Edge::Call { rule, precedence, to } => {
                self.callers.push((state, to));
                self.state = GRAMMAR.start(rule);
                frame.state = to;
                return Ok(Some((rule, precedence)));
            }
        }
        Ok(None)
    }

    /// Malformed words and numbers, which cel-go reports in addition to syntax errors.
    fn meaning(&mut self, matched: usize, begin: usize) {
        let Some(token) = self.tokens.get(matched) else { return };
        let text = self.source.slice(token.start, token.end);
        let negative = self
            .tokens
            .get(begin)
            .is_some_and(|token| token.kind == TokenKind::Minus);
        let message = match token.kind {
            TokenKind::Ident if is_keyword(&text) => format!("reserved identifier: {text}"),
            TokenKind::Int if parser::int_literal(&text, negative).is_none() => "invalid int literal".to_owned(),
            TokenKind::Uint if parser::uint_literal(&text).is_none() => "invalid uint literal".to_owned(),
            TokenKind::Float if parser::double_literal(&text, negative).is_none() => {
                "invalid double literal".to_owned()
            }
            TokenKind::String | TokenKind::Bytes => {
                let unescaped = match token.kind {
                    TokenKind::String => unescape::string(&text).map(drop),
                    _ => unescape::bytes(&text[1..]).map(drop),
                };
                let Err(message) = unescaped else { return };
                message
            }
            _ => return,
        };
        self.say(begin, message);
    }

    fn say(&mut self, token: usize, message: String) {
        let start = self
            .tokens
            .get(token)
            .or(self.tokens.last())
            .map_or(0, |token| token.start);
        self.issues.push(Issue {
            position: Some(self.source.position(start)),
            message,
        });
    }

    fn choose(&mut self, state: usize, precedence: u8) -> Result<usize, Failure> {
        let node = &GRAMMAR.states[state];
        if !node.single_token {
            return match predict(state, precedence, self.tokens, self.at, &mut self.work) {
                _ if self.work >= WORK => Err(Failure::Aborted),
                Prediction::Take(alternative) => Ok(alternative),
                Prediction::None(at) => Err(Failure::Mistake(Mistake::NoAlternative { start: self.at, at })),
            };
        }
        let token = self.look(1);
        let fits = |edge: &Edge| matches!(edge, Edge::Go(to) if GRAMMAR.next_tokens(*to).has(token));
        let is_block = node.choice == Choice::Block
            && node
                .edges
                .iter()
                .all(|edge| matches!(edge, Edge::Go(to) if !GRAMMAR.next_tokens(*to).ends()));
        match node.edges.iter().position(fits) {
            Some(alternative) => Ok(alternative),
            // Alternatives proper need one that fits; what is optional or a loop is left out.
            None if is_block && node.edges.len() > 1 && node.rule == Rule::EscapeIdent => {
                Err(Failure::Mistake(Mistake::NoAlternative {
                    start: self.at,
                    at: self.at,
                }))
            }
            None => Ok(node.edges.len() - 1),
        }
    }

    /// Before a choice: skips one token too many, or fails early where no alternative begins so.
    fn sync(&mut self, choice: Choice) -> Result<(), Failure> {
        if self.recovering {
            return Ok(());
        }
        let next = GRAMMAR.next_tokens(self.state);
        if next.ends() || next.has(self.look(1)) {
            return Ok(());
        }
        match choice {
            Choice::None => Ok(()),
            Choice::Block | Choice::Loop | Choice::PlusBlock => {
                if self.delete_token() {
                    Ok(())
                } else {
                    Err(Failure::Mistake(Mistake::Mismatch))
                }
            }
            Choice::LoopBack => {
                self.report_unwanted();
                let stop = self.expected(self.state).with(self.recovery_set());
                self.skip_until(stop)?;
                Ok(())
            }
        }
    }

    /// Matches a token; the index of the token that was matched or stood in for.
    fn match_token(&mut self, set: Set, to: usize) -> Result<usize, Failure> {
        if set.has(self.look(1)) {
            let matched = self.at;
            self.recovering = false;
            self.last_error = None;
            self.consume();
            return Ok(matched);
        }
        self.attempt()?;
        if self.delete_token() {
            let matched = self.at;
            self.consume();
            return Ok(matched);
        }
        let after = self.expected(to);
        if after.has(self.look(1)) {
            if !self.recovering {
                self.recovering = true;
                let expected = listed(self.expected(self.state));
                let message = format!("missing {expected} at {}", self.shown(self.at));
                self.report(self.at, &message);
            }
            return Ok(usize::MAX);
        }
        Err(Failure::Mistake(Mistake::Mismatch))
    }

    /// Drops a token if the one after it is what was wanted.
    fn delete_token(&mut self) -> bool {
        if !self.expected(self.state).has(self.look(2)) || self.look(1) == TokenKind::Eof {
            return false;
        }
        self.report_unwanted();
        self.consume();
        self.recovering = false;
        self.last_error = None;
        true
    }

    fn report_unwanted(&mut self) {
        if self.recovering {
            return;
        }
        self.recovering = true;
        let expected = listed(self.expected(self.state));
        let message = format!("extraneous input {} expecting {expected}", self.shown(self.at));
        self.report(self.at, &message);
    }

    fn report_mistake(&mut self, mistake: &Mistake) {
        if self.recovering {
            return;
        }
        self.recovering = true;
        match mistake {
            Mistake::Mismatch => {
                let expected = listed(self.expected(self.state));
                let message = format!("mismatched input {} expecting {expected}", self.shown(self.at));
                self.report(self.at, &message);
            }
            Mistake::NoAlternative { start, at } => {
                let text = self.input(*start, *at);
                // Words with a meaning of their own after a dot are called by name.
                let word = text
                    .strip_prefix('.')
                    .filter(|word| matches!(*word, "true" | "false" | "null"));
                let message = match word {
                    Some(word) => format!("mismatched input '{word}' expecting IDENTIFIER"),
                    None => format!("no viable alternative at input '{}'", escaped(&text)),
                };
                self.report(*at, &message);
            }
        }
    }

    /// The text from one token to another, with what is between them.
    fn input(&self, from: usize, to: usize) -> String {
        let (Some(first), Some(last)) = (self.tokens.get(from), self.tokens.get(to)) else {
            return String::new();
        };
        if first.kind == TokenKind::Eof {
            return "<EOF>".to_owned();
        }
        let end = if last.kind == TokenKind::Eof {
            self.source.chars.len()
        } else {
            last.end
        };
        let mut text = String::new();
        let mut from = first.start;
        for gap in self
            .dropped
            .iter()
            .filter(|gap| gap.start >= first.start && gap.end <= end)
        {
            text.push_str(&self.source.slice(from, gap.start));
            from = gap.end;
        }
        text + &self.source.slice(from, end)
    }

    /// What may follow any of the rules on the way.
    fn recovery_set(&self) -> Set {
        let sets = self
            .callers
            .iter()
            .map(|(_, back)| GRAMMAR.next_tokens(*back).without_end());
        sets.fold(Set::default(), Set::with)
    }

    fn recover(&mut self) -> Result<(), Aborted> {
        self.attempt()?;
        match &mut self.last_error {
            Some((at, states)) if *at == self.at && states.contains(&self.state) => self.consume(),
            _ => {}
        }
        let mut states = match self.last_error.take() {
            Some((_, states)) => states,
            None => Vec::new(),
        };
        states.push(self.state);
        self.last_error = Some((self.at, states));
        let stop = self.recovery_set();
        self.skip_until(stop)
    }

    fn attempt(&mut self) -> Result<(), Aborted> {
        if self.attempts == MAX_ATTEMPTS {
            self.report(
                self.at,
                &format!("error recovery attempt limit exceeded: {MAX_ATTEMPTS}"),
            );
            return Err(Aborted);
        }
        self.attempts += 1;
        Ok(())
    }

    fn skip_until(&mut self, stop: Set) -> Result<(), Aborted> {
        let mut skipped = 0;
        while self.look(1) != TokenKind::Eof && !stop.has(self.look(1)) {
            if skipped == MAX_SKIPPED {
                let message = format!("error recovery token lookahead limit exceeded: {MAX_SKIPPED}");
                self.issues.push(Issue {
                    position: None,
                    message,
                });
                return Err(Aborted);
            }
            self.consume();
            skipped += 1;
        }
        Ok(())
    }
}

fn listed(set: Set) -> String {
    let names: Vec<&str> = KINDS
        .iter()
        .filter(|kind| set.has(**kind))
        .map(|kind| kind.display())
        .collect();
    match names[..] {
        [only] => only.to_owned(),
        _ => format!("{{{}}}", names.join(", ")),
    }
}

/// A text on one line.
pub(super) fn escaped(text: &str) -> String {
    text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}
