//! The grammar as a graph of states, one entry and one exit per rule.

use std::sync::LazyLock;

use crate::lexer::TokenKind;

/// A set of tokens; the bit after the last token stands for "the rule can end here".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Set(pub(super) u64);

impl Set {
    pub(super) const END: Set = Set(1 << 63);

    pub(super) fn of(kinds: &[TokenKind]) -> Set {
        Set(kinds.iter().fold(0, |bits, kind| bits | (1 << *kind as u64)))
    }

    pub(super) fn has(self, kind: TokenKind) -> bool {
        self.0 & (1 << kind as u64) != 0
    }

    pub(super) fn with(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }

    pub(super) fn without_end(self) -> Set {
        Set(self.0 & !Set::END.0)
    }

    pub(super) fn ends(self) -> bool {
        self.0 & Set::END.0 != 0
    }
}

/// What kind of choice is made at a state; recovery depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// None: the state has one way on.
    None,
    /// Alternatives or an optional part.
    Block,
    /// The beginning of a loop that may run zero times.
    Loop,
    /// The end of a loop's body.
    LoopBack,
    /// The beginning of a loop that runs at least once.
    PlusBlock,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Edge {
    Go(usize),
    /// A token of the set.
    Token {
        set: Set,
        to: usize,
    },
    Call {
        rule: Rule,
        precedence: u8,
        to: usize,
    },
    /// Passable when the rule was called with at most this precedence.
    Precedence {
        level: u8,
        to: usize,
    },
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) choice: Choice,
    /// Whether one token decides.
    pub(super) single_token: bool,
    /// Whether this is the loop of a left-recursive rule.
    pub(super) precedence_loop: bool,
    pub(super) rule: Rule,
    pub(super) edges: Vec<Edge>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Start,
    Expr,
    ConditionalOr,
    ConditionalAnd,
    Relation,
    Calc,
    Unary,
    Member,
    Primary,
    ExprList,
    ListInit,
    FieldInitializerList,
    OptField,
    MapInitializerList,
    EscapeIdent,
    OptExpr,
    Literal,
}

pub(super) const RULE_COUNT: usize = 17;

const RULES: [Rule; RULE_COUNT] = [
    Rule::Start,
    Rule::Expr,
    Rule::ConditionalOr,
    Rule::ConditionalAnd,
    Rule::Relation,
    Rule::Calc,
    Rule::Unary,
    Rule::Member,
    Rule::Primary,
    Rule::ExprList,
    Rule::ListInit,
    Rule::FieldInitializerList,
    Rule::OptField,
    Rule::MapInitializerList,
    Rule::EscapeIdent,
    Rule::OptExpr,
    Rule::Literal,
];

/// A part of a rule.
enum Part {
    Token(TokenKind),
    OneOf(&'static [TokenKind]),
    Rule(Rule),
    /// A recursive call with a precedence.
    Recurse(Rule, u8),
    Precedence(u8),
    Sequence(Vec<Part>),
    /// Alternatives; whether one token decides between them.
    Either(bool, Vec<Part>),
    Optional(Box<Part>),
    Repeat(bool, Box<Part>),
    AtLeastOnce(bool, Box<Part>),
    /// The loop of a left-recursive rule.
    Recursion(Box<Part>),
}

fn definition(rule: Rule) -> Part {
    use Part::{AtLeastOnce, Either, OneOf, Optional, Precedence, Recurse, Recursion, Repeat, Sequence, Token};
    use TokenKind as K;
    let part = Part::Rule;
    let maybe = |part| Optional(Box::new(part));
    let list = |item: fn() -> Vec<Part>, single: bool| {
        let mut parts = item();
        let mut more = vec![Token(K::Comma)];
        more.extend(item());
        parts.push(Repeat(single, Box::new(Sequence(more))));
        Sequence(parts)
    };
    let logic = |operator, operand: fn() -> Part| {
        let more = Sequence(vec![Token(operator), operand()]);
        Sequence(vec![operand(), Repeat(true, Box::new(more))])
    };
    match rule {
        Rule::Start => Sequence(vec![part(Rule::Expr), Token(K::Eof)]),
        Rule::Expr => {
            let rest = vec![
                Token(K::Question),
                part(Rule::ConditionalOr),
                Token(K::Colon),
                part(Rule::Expr),
            ];
            Sequence(vec![part(Rule::ConditionalOr), maybe(Sequence(rest))])
        }
        Rule::ConditionalOr => logic(K::Or, || Part::Rule(Rule::ConditionalAnd)),
        Rule::ConditionalAnd => logic(K::And, || Recurse(Rule::Relation, 0)),
        Rule::Relation => {
            let operators = &[
                K::Less,
                K::LessEquals,
                K::GreaterEquals,
                K::Greater,
                K::Equals,
                K::NotEquals,
                K::In,
            ];
            let more = Sequence(vec![Precedence(1), OneOf(operators), Recurse(Rule::Relation, 2)]);
            Sequence(vec![Recurse(Rule::Calc, 0), Recursion(Box::new(more))])
        }
        Rule::Calc => {
            let product = vec![
                Precedence(2),
                OneOf(&[K::Star, K::Slash, K::Percent]),
                Recurse(Rule::Calc, 3),
            ];
            let sum = vec![Precedence(1), OneOf(&[K::Plus, K::Minus]), Recurse(Rule::Calc, 2)];
            let more = Either(false, vec![Sequence(product), Sequence(sum)]);
            Sequence(vec![part(Rule::Unary), Recursion(Box::new(more))])
        }
        Rule::Unary => {
            let member = || Recurse(Rule::Member, 0);
            Either(
                false,
                vec![
                    member(),
                    Sequence(vec![AtLeastOnce(true, Box::new(Token(K::Exclam))), member()]),
                    Sequence(vec![AtLeastOnce(false, Box::new(Token(K::Minus))), member()]),
                ],
            )
        }
        Rule::Member => {
            let select = vec![
                Precedence(3),
                Token(K::Dot),
                maybe(Token(K::Question)),
                part(Rule::EscapeIdent),
            ];
            let call = vec![
                Precedence(2),
                Token(K::Dot),
                Token(K::Ident),
                Token(K::LParen),
                maybe(part(Rule::ExprList)),
                Token(K::RParen),
            ];
            let index = vec![
                Precedence(1),
                Token(K::LBracket),
                maybe(Token(K::Question)),
                part(Rule::Expr),
                Token(K::RBracket),
            ];
            let more = Either(false, vec![Sequence(select), Sequence(call), Sequence(index)]);
            Sequence(vec![part(Rule::Primary), Recursion(Box::new(more))])
        }
        Rule::Primary => Either(
            false,
            vec![
                Sequence(vec![maybe(Token(K::Dot)), Token(K::Ident)]),
                Sequence(vec![
                    maybe(Token(K::Dot)),
                    Token(K::Ident),
                    Token(K::LParen),
                    maybe(part(Rule::ExprList)),
                    Token(K::RParen),
                ]),
                Sequence(vec![Token(K::LParen), part(Rule::Expr), Token(K::RParen)]),
                Sequence(vec![
                    Token(K::LBracket),
                    maybe(part(Rule::ListInit)),
                    maybe(Token(K::Comma)),
                    Token(K::RBracket),
                ]),
                Sequence(vec![
                    Token(K::LBrace),
                    maybe(part(Rule::MapInitializerList)),
                    maybe(Token(K::Comma)),
                    Token(K::RBrace),
                ]),
                Sequence(vec![
                    maybe(Token(K::Dot)),
                    Token(K::Ident),
                    Repeat(true, Box::new(Sequence(vec![Token(K::Dot), Token(K::Ident)]))),
                    Token(K::LBrace),
                    maybe(part(Rule::FieldInitializerList)),
                    maybe(Token(K::Comma)),
                    Token(K::RBrace),
                ]),
                part(Rule::Literal),
            ],
        ),
        Rule::ExprList => list(|| vec![Part::Rule(Rule::Expr)], true),
        Rule::ListInit => list(|| vec![Part::Rule(Rule::OptExpr)], false),
        Rule::FieldInitializerList => list(
            || vec![Part::Rule(Rule::OptField), Token(K::Colon), Part::Rule(Rule::Expr)],
            false,
        ),
        Rule::OptField => Sequence(vec![maybe(Token(K::Question)), part(Rule::EscapeIdent)]),
        Rule::MapInitializerList => list(
            || vec![Part::Rule(Rule::OptExpr), Token(K::Colon), Part::Rule(Rule::Expr)],
            false,
        ),
        Rule::EscapeIdent => Either(true, vec![Token(K::Ident), Token(K::EscIdent)]),
        Rule::OptExpr => Sequence(vec![maybe(Token(K::Question)), part(Rule::Expr)]),
        Rule::Literal => {
            let signed = |kind| Sequence(vec![maybe(Token(K::Minus)), Token(kind)]);
            Either(
                false,
                vec![
                    signed(K::Int),
                    Token(K::Uint),
                    signed(K::Float),
                    Token(K::String),
                    Token(K::Bytes),
                    Token(K::True),
                    Token(K::False),
                    Token(K::Null),
                ],
            )
        }
    }
}

/// The whole grammar.
pub(super) struct Grammar {
    pub(super) states: Vec<State>,
    starts: Vec<usize>,
    stops: Vec<usize>,
    /// Where parsing goes on after a rule, for every place that calls it.
    pub(super) follows: Vec<Vec<usize>>,
    /// What can follow a state within its rule.
    next: Vec<Set>,
}

pub(super) static GRAMMAR: LazyLock<Grammar> = LazyLock::new(Grammar::build);

impl Grammar {
    pub(super) fn start(&self, rule: Rule) -> usize {
        self.starts[rule as usize]
    }

    pub(super) fn is_stop(&self, state: usize) -> bool {
        self.stops[self.states[state].rule as usize] == state
    }

    /// What can come next within the rule; `END` if the rule may end.
    pub(super) fn next_tokens(&self, state: usize) -> Set {
        self.next[state]
    }

    fn build() -> Grammar {
        let mut grammar = Grammar {
            states: Vec::new(),
            starts: Vec::new(),
            stops: Vec::new(),
            follows: vec![Vec::new(); RULES.len()],
            next: Vec::new(),
        };
        for rule in RULES {
            let start = grammar.state(rule, Choice::None);
            let stop = grammar.state(rule, Choice::None);
            grammar.starts.push(start);
            grammar.stops.push(stop);
        }
        for rule in RULES {
            let (start, stop) = (grammar.starts[rule as usize], grammar.stops[rule as usize]);
            grammar.part(rule, &definition(rule), start, stop);
        }
        for state in &grammar.states {
            for edge in &state.edges {
                if let Edge::Call { rule, to, .. } = edge {
                    grammar.follows[*rule as usize].push(*to);
                }
            }
        }
        grammar.next = (0..grammar.states.len())
            .map(|state| grammar.look(state, &mut Vec::new(), &mut Vec::new()))
            .collect();
        grammar
    }

    fn state(&mut self, rule: Rule, choice: Choice) -> usize {
        self.states.push(State {
            choice,
            single_token: false,
            precedence_loop: false,
            rule,
            edges: Vec::new(),
        });
        self.states.len() - 1
    }

    fn choice(&mut self, rule: Rule, choice: Choice, single_token: bool) -> usize {
        let state = self.state(rule, choice);
        self.states[state].single_token = single_token;
        state
    }

    fn edge(&mut self, from: usize, edge: Edge) {
        self.states[from].edges.push(edge);
    }

    fn part(&mut self, rule: Rule, part: &Part, from: usize, to: usize) {
        match part {
            Part::Token(kind) => self.edge(
                from,
                Edge::Token {
                    set: Set::of(&[*kind]),
                    to,
                },
            ),
            Part::OneOf(kinds) => self.edge(
                from,
                Edge::Token {
                    set: Set::of(kinds),
                    to,
                },
            ),
            Part::Rule(called) => self.edge(
                from,
                Edge::Call {
                    rule: *called,
                    precedence: 0,
                    to,
                },
            ),
            Part::Recurse(called, precedence) => {
                self.edge(
                    from,
                    Edge::Call {
                        rule: *called,
                        precedence: *precedence,
                        to,
                    },
                );
            }
            Part::Precedence(level) => self.edge(from, Edge::Precedence { level: *level, to }),
            Part::Sequence(parts) => {
                let mut at = from;
                for (index, part) in parts.iter().enumerate() {
                    let next = if index + 1 == parts.len() {
                        to
                    } else {
                        self.state(rule, Choice::None)
                    };
                    self.part(rule, part, at, next);
                    at = next;
                }
            }
            Part::Either(single, parts) => {
                let block = self.choice(rule, Choice::Block, *single);
                self.edge(from, Edge::Go(block));
                for part in parts {
                    let start = self.state(rule, Choice::None);
                    self.edge(block, Edge::Go(start));
                    self.part(rule, part, start, to);
                }
            }
            Part::Optional(part) => {
                let block = self.choice(rule, Choice::Block, true);
                self.edge(from, Edge::Go(block));
                let start = self.state(rule, Choice::None);
                self.edge(block, Edge::Go(start));
                self.part(rule, part, start, to);
                self.edge(block, Edge::Go(to));
            }
            Part::Repeat(single, part) => self.repeat(rule, part, from, to, *single, false),
            Part::Recursion(part) => self.repeat(rule, part, from, to, false, true),
            Part::AtLeastOnce(single, part) => {
                let block = self.choice(rule, Choice::PlusBlock, true);
                self.edge(from, Edge::Go(block));
                let start = self.state(rule, Choice::None);
                self.edge(block, Edge::Go(start));
                let back = self.choice(rule, Choice::LoopBack, *single);
                self.part(rule, part, start, back);
                self.edge(back, Edge::Go(start));
                self.edge(back, Edge::Go(to));
            }
        }
    }

    fn repeat(&mut self, rule: Rule, part: &Part, from: usize, to: usize, single: bool, recursion: bool) {
        let entry = self.choice(rule, Choice::Loop, single);
        self.states[entry].precedence_loop = recursion;
        self.edge(from, Edge::Go(entry));
        let start = self.state(rule, Choice::None);
        self.edge(entry, Edge::Go(start));
        self.edge(entry, Edge::Go(to));
        let back = self.choice(rule, Choice::LoopBack, single);
        self.states[back].precedence_loop = recursion;
        self.part(rule, part, start, back);
        self.edge(back, Edge::Go(start));
        self.edge(back, Edge::Go(to));
    }

    /// What can come next from a state; called rules are looked into, the own rule's end is `END`.
    fn look(&self, state: usize, seen: &mut Vec<(usize, Vec<usize>)>, stack: &mut Vec<usize>) -> Set {
        if seen.iter().any(|(known, within)| *known == state && within == stack) {
            return Set::default();
        }
        seen.push((state, stack.clone()));
        if self.is_stop(state) {
            return match stack.pop() {
                Some(back) => {
                    let found = self.look(back, seen, stack);
                    stack.push(back);
                    found
                }
                None => Set::END,
            };
        }
        let mut found = Set::default();
        for edge in &self.states[state].edges {
            found = found.with(match edge {
                Edge::Go(to) | Edge::Precedence { to, .. } => self.look(*to, seen, stack),
                Edge::Token { set, .. } => *set,
                Edge::Call { rule, to, .. } => {
                    stack.push(*to);
                    let found = self.look(self.start(*rule), seen, stack);
                    stack.pop();
                    found
                }
            });
        }
        found
    }
}
