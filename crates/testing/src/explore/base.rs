//! Where all runs of an exploration begin: a cluster in which the operator is installed, and Kubernetes' own controllers have done what
//! they do in every new cluster. It is made once, and each run begins with a fork of it.

use std::sync::{Arc, OnceLock};

use kubewright_apiserver::{ApiServer, Options};
use kubewright_runtime::clock::Clock;

use super::cluster::Cluster;
use super::compare::Difference;
use super::observation::{Checkpoint, Ledger};
use super::run;
use super::scenario::Scenario;
use crate::env::{Resumed, SEEDED_EPOCH};
use crate::traffic::Traffic;
use crate::{Error, TestEnv};

/// The cluster before all runs, made by the first of them. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Base(Arc<OnceLock<Result<Checkpoint, Difference>>>);

impl Base {
    /// The cluster, or why there is none.
    pub(super) fn of(scenario: &Scenario) -> Result<&Checkpoint, &Difference> {
        let made = scenario.base.0.get_or_init(|| {
            let made = run::in_thread("base", || prepare(scenario));
            let made = made
                .map_err(|panic| vec![panic])
                .and_then(|made| made.map_err(|error| vec![error.text()]));
            made.map_err(|details| Difference::new(0, "the operator cannot be installed", details))
        });
        made.as_ref()
    }
}

/// Installs the operator and lets the cluster come to rest, before any manager runs.
async fn prepare(scenario: &Scenario) -> Result<Checkpoint, Error> {
    // Runs have the seed of the scenario: what they make has other uids and names than what is there.
    let seed = run::seed_after(scenario.seed, scenario.steps.len());
    let server = ApiServer::new(Options::new().epoch(SEEDED_EPOCH).seed(seed));
    let clock = Clock::starting_at(SEEDED_EPOCH);
    let external = scenario.external.as_ref().map(|external| external.start(None));
    let operator = external
        .as_ref()
        .map_or(&scenario.operator, |external| &external.operator);
    let resumed = Resumed {
        server: server.clone(),
        clock,
        traffic: Traffic::new(),
        namespace: None,
        rewrite: None,
        starts: 0,
        operator: Arc::clone(operator),
        operator_clock: clock,
        replicated: false,
        is_idle: true,
    };
    let builder = (scenario.environment)(TestEnv::builder()).operator(operator());
    let env = Box::pin(
        builder
            .seed(scenario.seed)
            .tolerate_refusals()
            .resume(resumed)
            .try_start(),
    )
    .await?;
    env.try_settle().await?;
    env.read_roles().await?;
    let mut cluster = Cluster::new(env.namespace());
    cluster.follow(&server, |_, _| {});
    let now = server.now();
    Ok(Checkpoint {
        server: server.fork_at(now, seed),
        now,
        namespace: env.namespace().to_owned(),
        cluster,
        ledger: Ledger::default(),
        external: None,
    })
}
