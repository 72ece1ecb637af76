//! A project of an operator as files: what `kubewright init`, `create`, `delete` and `edit` write. Everything here is pure:
//! from the PROJECT file and the files there are to a plan of what to write.
//!
//! ```
//! use kubewright_scaffold::command::{ApiRequest, Target, WebhookRequest};
//! use kubewright_scaffold::{Project, Source, manifest, places, plan, webhook_places};
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
//! assert_eq!(places(&whole, kind), ["src/api/v1/markdown_view.rs", "src/controllers/markdown_view.rs"]);
//! assert_eq!(webhook_places(&whole, kind), ["src/webhooks/v1/markdown_view.rs"]);
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

mod code;
pub mod command;
pub mod config;
mod file;
mod foreign;
mod merge;
pub mod names;
pub mod plan;
// The macro that writes a definition must come to the same plural.
#[path = "../../macros/src/plural.rs"]
mod plural;
pub mod project;
mod template;

pub use code::{Source, SourceError, manifest, places, webhook_places};
pub use file::File;
pub use project::{Project, Resource};
