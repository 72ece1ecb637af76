//! Webhooks: what they answer, how they are served, and what the embedded server makes of them.

mod answers;
mod embedded;
mod hostile;
mod markdown_view;
mod metrics_access;
mod permissions;
mod serving;
mod support;
