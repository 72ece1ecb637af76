//! Tests of the case files and of the runner. The replays are programs of their own: `replay` and `kubectl`.

mod corpus;
mod documents;
mod operators;
mod webhooks;
