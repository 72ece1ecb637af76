//! Runs rounds of `TestEnv` on the embedded server.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_testing::{Controllers, TestEnv};

use crate::Failure;
use crate::garden::{SAMPLE, operator};
use crate::report::{IN_PROCESS, Peer, Round};

/// How many rounds, one after another and at once.
#[derive(Clone, Copy)]
pub(crate) struct Rounds {
    pub(crate) single: usize,
    pub(crate) parallel: usize,
}

/// Measures the default: with Kubernetes' own controllers, as in a real cluster.
pub(crate) fn with_controllers(rounds: Rounds) -> Result<Peer, Failure> {
    measure("ours", &Controllers::all(), rounds)
}

/// Measures without controllers, as envtest has it.
pub(crate) fn without_controllers(rounds: Rounds) -> Result<Peer, Failure> {
    measure("ours, no controllers", &Controllers::none(), rounds)
}

fn measure(name: &'static str, controllers: &Controllers, rounds: Rounds) -> Result<Peer, Failure> {
    let single: Result<_, Failure> = (0..rounds.single).map(|_| round(controllers)).collect();
    let parallel = match rounds.parallel {
        0 => None,
        count => Some((count, parallel(controllers, count)?)),
    };
    Ok(Peer {
        name,
        rounds: single?,
        parallel,
        goal: IN_PROCESS,
    })
}

/// Runs a round in a tokio runtime of its own, as each test has one.
fn round(controllers: &Controllers) -> Result<Round, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let began = Instant::now();
    let env = runtime.block_on(start(controllers))?;
    let start = began.elapsed();
    let created = Instant::now();
    runtime.block_on(reconciled(&env))?;
    let reconcile = created.elapsed();
    let stopping = Instant::now();
    runtime.block_on(env.stop());
    drop(runtime);
    Ok(Round {
        start: start.as_secs_f64(),
        reconcile: reconcile.as_secs_f64(),
        stop: stopping.elapsed().as_secs_f64(),
        memory: None,
        proportional: None,
    })
}

fn parallel(controllers: &Controllers, count: usize) -> Result<Duration, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let began = Instant::now();
    runtime.block_on(async {
        let rounds = (0..count).map(|_| {
            let controllers = controllers.clone();
            tokio::spawn(async move {
                let env = start(&controllers).await?;
                reconciled(&env).await?;
                env.stop().await;
                Ok::<(), Failure>(())
            })
        });
        for round in join_all(rounds).await {
            round??;
        }
        Ok::<(), Failure>(())
    })?;
    Ok(began.elapsed())
}

async fn start(controllers: &Controllers) -> Result<TestEnv, Failure> {
    let builder = TestEnv::builder().operator(operator()).controllers(controllers.clone());
    let starting = builder.embedded().try_start();
    starting.await.map_err(|error| error.text().into())
}

async fn reconciled(env: &TestEnv) -> Result<(), Failure> {
    env.try_apply(SAMPLE)
        .await
        .map_err(|error| Failure::from(error.text()))?;
    let planted = |map: &ConfigMap| map.data.as_ref().is_some_and(|data| data.len() == 2);
    let waiting = env.eventually::<ConfigMap>("roses", planted).outcome();
    waiting.await.map(drop).map_err(|error| error.text().into())
}
