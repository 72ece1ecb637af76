//! Which alternative to take: all are followed side by side until one is left.

use std::collections::{BTreeMap, BTreeSet};

use crate::lexer::{Token, TokenKind};

use super::grammar::{Edge, GRAMMAR};

/// What became of a prediction.
pub(super) enum Prediction {
    /// Take this alternative, counted from zero.
    Take(usize),
    /// None fits; the index of the token at which that was clear.
    None(usize),
}

/// How many steps all predictions for one text may take.
pub(super) const WORK: usize = 2_000_000;

/// One way a text may be read: the alternative it began with, where it is, where it returns to, and whether it
/// has left the rule that decides.
type Config = (usize, usize, Vec<usize>, bool);

pub(super) fn predict(state: usize, precedence: u8, tokens: &[Token], at: usize, work: &mut usize) -> Prediction {
    let mut configs = BTreeSet::new();
    let decision = &GRAMMAR.states[state];
    for (alternative, edge) in decision.edges.iter().enumerate() {
        if let Edge::Go(to) = edge {
            closure(
                (alternative, *to, Vec::new(), false),
                Some(precedence),
                &mut configs,
                work,
            );
        }
    }
    if decision.precedence_loop {
        // Going on with the loop and returning to a caller's loop read the same; the first is meant.
        let first: BTreeSet<(usize, Vec<usize>)> = configs
            .iter()
            .filter(|(alternative, ..)| *alternative == 0)
            .map(|(_, state, stack, _)| (*state, stack.clone()))
            .collect();
        configs.retain(|(alternative, state, stack, _)| *alternative == 0 || !first.contains(&(*state, stack.clone())));
    }
    for (index, token) in tokens.iter().enumerate().skip(at) {
        let kind = token.kind;
        let mut next = BTreeSet::new();
        for (alternative, state, stack, left) in &configs {
            for edge in &GRAMMAR.states[*state].edges {
                if let Edge::Token { set, to, .. } = edge
                    && set.has(kind)
                {
                    closure((*alternative, *to, stack.clone(), *left), None, &mut next, work);
                }
            }
            // The end of the text may be all that is left.
            if kind == TokenKind::Eof && GRAMMAR.is_stop(*state) && stack.is_empty() {
                next.insert((*alternative, *state, stack.clone(), *left));
            }
        }
        if next.is_empty() {
            // An alternative that read its rule to the end is taken; the mistake is in what follows.
            let ended = configs.iter().filter(|(.., left)| *left).map(|config| config.0).min();
            return ended.map_or(Prediction::None(index), Prediction::Take);
        }
        let alternatives: BTreeSet<usize> = next.iter().map(|(alternative, ..)| *alternative).collect();
        let smallest = alternatives.first().copied().unwrap_or(0);
        if alternatives.len() == 1 || *work >= WORK || kind == TokenKind::Eof || conflict(&next) {
            return Prediction::Take(smallest);
        }
        configs = next;
    }
    Prediction::Take(0)
}

/// Whether everything that is left can be read in several ways, so that reading on decides nothing.
fn conflict(configs: &BTreeSet<Config>) -> bool {
    let mut ways: BTreeMap<(usize, &[usize]), BTreeSet<usize>> = BTreeMap::new();
    for (alternative, state, stack, _) in configs {
        ways.entry((*state, stack)).or_default().insert(*alternative);
    }
    ways.values().all(|alternatives| alternatives.len() > 1)
}

/// Adds everything that can be reached without a token. The precedence counts in the rule that decides,
/// before a token was read; elsewhere every precedence is possible.
fn closure(config: Config, precedence: Option<u8>, out: &mut BTreeSet<Config>, work: &mut usize) {
    let mut todo = vec![config];
    while let Some((alternative, state, stack, left)) = todo.pop() {
        *work += 1;
        if *work >= WORK || !out.insert((alternative, state, stack.clone(), left)) {
            continue;
        }
        if GRAMMAR.is_stop(state) {
            if let Some((back, rest)) = stack.split_last() {
                todo.push((alternative, *back, rest.to_vec(), left));
            } else {
                let follows = &GRAMMAR.follows[GRAMMAR.states[state].rule as usize];
                todo.extend(follows.iter().map(|follow| (alternative, *follow, Vec::new(), true)));
            }
            continue;
        }
        let decides = stack.is_empty() && !left;
        for edge in &GRAMMAR.states[state].edges {
            match edge {
                Edge::Token { .. } => {}
                Edge::Go(to) => todo.push((alternative, *to, stack.clone(), left)),
                Edge::Precedence { level, to } => {
                    let refused =
                        decides && precedence.is_some_and(|precedence| *level < precedence) && alternative == 0;
                    if !refused {
                        todo.push((alternative, *to, stack.clone(), left));
                    }
                }
                Edge::Call { rule, to, .. } => {
                    let mut stack = stack.clone();
                    stack.push(*to);
                    todo.push((alternative, GRAMMAR.start(*rule), stack, left));
                }
            }
        }
    }
}
