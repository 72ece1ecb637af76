//! What the cases are, and how they are played. Their replays are programs of their own: `replay` and `kubectl`.

mod corpus;
mod operators;
mod webhooks;
