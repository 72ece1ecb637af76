//! A project of an operator as files: what `kubewright init`, `create`, `delete` and `edit` write. Nothing here does I/O: from the
//! PROJECT file and the existing files follows a plan of what to write.
//!
//! ```
//! use kubewright_scaffold::command::{ApiRequest, Target, WebhookRequest};
//! use kubewright_scaffold::{Project, Source, manifest, source_files, plan, webhook_source_files};
//! use std::collections::BTreeMap;
//!
//! // `init`
//! let project = Project::new("markdown-view", "ginoh.github.io", "0.1.0").with_repo("github.com/ginoh/markdown-view")?;
//! let project = project.with_license("apache2", "ginoh")?;
//! let cargo = manifest(&project, &Source::Version("0.1.0".to_owned()));
//! assert_eq!(cargo.path, "Cargo.toml");
//!
//! // `create api` and `create webhook`
//! let target = Target { group: "view".into(), version: "v1".into(), kind: "MarkdownView".into() };
//! let with_kind = project.create_api(&ApiRequest { target: target.clone(), ..ApiRequest::default() })?;
//! let request = WebhookRequest { target: target.clone(), defaulting: true, ..WebhookRequest::default() };
//! let whole = with_kind.create_webhook(&request)?;
//! let kind = whole.kinds().next().unwrap();
//! assert_eq!(source_files(&whole, kind), ["src/api/v1/markdown_view.rs", "src/controllers/markdown_view.rs"]);
//! assert_eq!(webhook_source_files(&whole, kind), ["src/webhooks/v1/markdown_view.rs"]);
//!
//! // What that means for an empty folder.
//! let changes = plan::plan(None, &whole, vec![cargo], &BTreeMap::new(), &plan::Options::default())?;
//! assert!(changes.iter().any(|change| change.path() == "src/webhooks/v1/markdown_view.rs"));
//!
//! // `delete webhook` and `delete api`: as it was.
//! let fewer = whole.delete_webhook(&request)?.delete_api(&target)?;
//! assert_eq!(fewer, project);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builtin_kinds;
mod code;
pub mod command;
pub mod config;
pub mod diff;
mod file;
mod merge;
pub mod names;
pub mod plan;
pub mod project;
mod template;

pub use code::{Source, SourceError, checkout_files, explore_test, manifest, source_files, webhook_source_files};
pub use file::File;
pub use project::{Project, Resource};
