//! The scenario: a MarkdownView is created, scaled and deleted.

use std::collections::BTreeMap;
use std::fmt;

use kubewright::testing::Controllers;
use kubewright::testing::explore::{Exploration, explore};
use markdown_view::api::v1::{MarkdownView, MarkdownViewSpec};

/// What runs beside the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cluster {
    /// All of Kubernetes' own controllers, with a simulated node.
    Whole,
    /// Nothing.
    Bare,
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cluster::Whole => "with the standard controllers",
            Cluster::Bare => "without controllers",
        })
    }
}

/// The object of the scenario.
pub(crate) fn view() -> MarkdownView {
    let spec = MarkdownViewSpec {
        markdowns: BTreeMap::from([("SUMMARY.md".to_owned(), "summary".to_owned())]),
        replicas: 1,
        viewer_image: None,
    };
    MarkdownView::new("sample", spec)
}

pub(crate) fn scenario(cluster: Cluster) -> Exploration {
    explore(markdown_view::operator)
        .environment(move |builder| match cluster {
            Cluster::Whole => builder,
            Cluster::Bare => builder.controllers(Controllers::none()),
        })
        .step("create", move |env| async move {
            if cluster == Cluster::Bare {
                // Nobody collects what has lost its owner there; with an object that stays, it counts as nothing left behind.
                env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: stays}}")
                    .await;
            }
            env.create(&view()).await;
        })
        .step("scale", |env| async move {
            env.edit::<MarkdownView>("sample", |view| view.spec.replicas = 3).await;
        })
        .step(
            "delete",
            |env| async move { env.delete::<MarkdownView>("sample").await },
        )
        .accept(
            "different configmaps/*",
            "documents are added, never taken away: a viewer may still show them",
        )
        .accept("different deployments.apps/*", "as above")
}
