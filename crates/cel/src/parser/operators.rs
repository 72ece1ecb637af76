//! Binary operators: precedence, chains and how deep they nest.

use crate::ast::{Expr, op};
use crate::lexer::TokenKind;

use super::{ParseFailure, Parsed, Parser, call};

/// How strongly an operator binds, from the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Relation,
    Sum,
    Product,
}

/// An operator that waits for its right side.
struct Operator {
    level: Level,
    name: &'static str,
    id: u32,
}

fn binary_operator(kind: TokenKind) -> Option<(&'static str, Level)> {
    Some(match kind {
        TokenKind::Or => (op::OR, Level::Or),
        TokenKind::And => (op::AND, Level::And),
        TokenKind::Less => ("_<_", Level::Relation),
        TokenKind::LessEquals => ("_<=_", Level::Relation),
        TokenKind::Greater => ("_>_", Level::Relation),
        TokenKind::GreaterEquals => ("_>=_", Level::Relation),
        TokenKind::Equals => (op::EQUALS, Level::Relation),
        TokenKind::NotEquals => (op::NOT_EQUALS, Level::Relation),
        TokenKind::In => (op::IN, Level::Relation),
        TokenKind::Plus => (op::ADD, Level::Sum),
        TokenKind::Minus => ("_-_", Level::Sum),
        TokenKind::Star => ("_*_", Level::Product),
        TokenKind::Slash => ("_/_", Level::Product),
        TokenKind::Percent => ("_%_", Level::Product),
        _ => return None,
    })
}

fn balance(name: &str, terms: &mut [Option<Expr>], ids: &[u32], low: usize, high: usize) -> Expr {
    let middle = (low + high).div_ceil(2);
    let mut side = |from: usize, to: usize, leaf: usize, is_leaf: bool| {
        if is_leaf {
            terms[leaf].take().expect("every term is used once")
        } else {
            balance(name, terms, ids, from, to)
        }
    };
    let left = side(low, middle.wrapping_sub(1), middle, middle == low);
    let right = side(middle + 1, high, middle + 1, middle == high);
    call(ids[middle], name, vec![left, right])
}

impl Parser<'_> {
    /// Everything between operands: one loop with a stack of what waits for its right side, so that nesting
    /// takes little of the machine's stack.
    pub(super) fn operators(&mut self) -> Parsed<Expr> {
        let before = self.depth;
        let mut operands = Vec::new();
        let mut waiting: Vec<Operator> = Vec::new();
        loop {
            // The right side of an operator is nested in the rule of its left side.
            let open = |test: fn(Level) -> bool| waiting.iter().filter(|operator| test(operator.level)).count();
            self.depth.relation = before.relation + 1 + open(|level| level == Level::Relation);
            self.depth.calc = before.calc + 1 + open(|level| level >= Level::Sum);
            self.check_depth()?;
            operands.push(self.unary()?);
            let Some((name, level)) = binary_operator(self.peek()) else {
                break;
            };
            let token = self.advance();
            self.reduce(&mut operands, &mut waiting, level);
            let id = self.id_at(token.start);
            waiting.push(Operator { level, name, id });
        }
        self.depth = before;
        self.reduce(&mut operands, &mut waiting, Level::Or);
        self.reduce_chain(&mut operands, &mut waiting);
        operands.pop().ok_or(ParseFailure::Syntax)
    }

    /// Builds everything that binds stronger than `level`, and what binds as strongly unless it is logic.
    fn reduce(&mut self, operands: &mut Vec<Expr>, waiting: &mut Vec<Operator>, level: Level) {
        while let Some(last) = waiting.last() {
            let logic = matches!(level, Level::Or | Level::And);
            if last.level < level || (last.level == level && logic) {
                return;
            }
            self.reduce_chain(operands, waiting);
        }
    }

    /// Builds the last operator, or the whole chain of them if they are logic: a balanced tree, so that long
    /// chains stay shallow.
    fn reduce_chain(&mut self, operands: &mut Vec<Expr>, waiting: &mut Vec<Operator>) {
        let Some(last) = waiting.pop() else { return };
        if !matches!(last.level, Level::Or | Level::And) {
            let (Some(right), Some(left)) = (operands.pop(), operands.pop()) else {
                return;
            };
            let parts = self.depth_of([&left, &right]);
            self.note_depth(last.id, 1, parts);
            operands.push(self.cut(call(last.id, last.name, vec![left, right])));
            return;
        }
        let mut ids = vec![last.id];
        while let Some(operator) = waiting.pop_if(|operator| operator.level == last.level) {
            ids.push(operator.id);
        }
        ids.reverse();
        let first = operands.len().saturating_sub(ids.len() + 1);
        let parts = self.depth_of(&operands[first..]);
        let mut terms: Vec<Option<Expr>> = operands.drain(first..).map(Some).collect();
        let tree = balance(last.name, &mut terms, &ids, 0, ids.len() - 1);
        self.note_depth(tree.id, 0, parts);
        operands.push(tree);
    }

    /// A tree that is too deep to be visited is dropped at once, so that nothing has to walk it.
    pub(super) fn cut(&mut self, expr: Expr) -> Expr {
        if self.too_deep { self.placeholder(0) } else { expr }
    }
}
