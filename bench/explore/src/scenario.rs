//! The scenario that is run: a view is created, scaled and deleted.

use std::fmt;

use kubewright::prelude::*;
use kubewright::testing::Controllers;
use kubewright::testing::explore::explore;
use markdown_view::api::v1::{MarkdownView, MarkdownViewSpec};

use crate::Failure;

/// What runs beside the operator.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scenario {
    /// All of Kubernetes' own controllers.
    WithControllers,
    /// None. Nothing collects what a deleted view leaves behind, so that it is not deleted.
    WithoutControllers,
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scenario::WithControllers => "all controllers: create, scale, delete",
            Scenario::WithoutControllers => "no controllers: create, scale",
        })
    }
}

impl Scenario {
    /// Runs it so often, each time in a cluster of its own.
    pub(crate) fn run(self, runs: usize) -> Result<(), Failure> {
        let mut exploration = explore(markdown_view::operator)
            .step("create", |env| async move {
                let spec = MarkdownViewSpec {
                    markdowns: BTreeMap::from([("SUMMARY.md".to_owned(), "summary".to_owned())]),
                    replicas: 1,
                    viewer_image: None,
                };
                env.create(&MarkdownView::new("sample", spec)).await;
            })
            .step("scale", |env| async move {
                env.edit::<MarkdownView>("sample", |view| view.spec.replicas = 3).await;
            });
        exploration = match self {
            Scenario::WithControllers => exploration.step("delete", |env| async move {
                env.delete::<MarkdownView>("sample").await;
            }),
            Scenario::WithoutControllers => exploration.environment(|builder| builder.controllers(Controllers::none())),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let explored = runtime.block_on(exploration.classes([]).repeats(runs).try_run());
        explored.map(drop).map_err(|error| error.text().into())
    }
}
