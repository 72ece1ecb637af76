//! Rounds of `TestEnv` on the embedded server.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_testing::TestEnv;

use crate::Failure;
use crate::garden::{SAMPLE, operator};
use crate::report::Round;

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// Each round has a runtime of its own, as each test has.
pub(crate) fn measure(rounds: usize) -> Result<Vec<Round>, Failure> {
    (0..rounds).map(|_| round()).collect()
}

fn round() -> Result<Round, Failure> {
    let runtime = runtime()?;
    let began = Instant::now();
    let env = runtime.block_on(start())?;
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
    })
}

pub(crate) fn measure_parallel(count: usize) -> Result<Duration, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let began = Instant::now();
    runtime.block_on(async {
        let rounds = (0..count).map(|_| {
            tokio::spawn(async {
                let env = start().await?;
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

async fn start() -> Result<TestEnv, Failure> {
    let starting = TestEnv::builder().operator(operator()).embedded().try_start();
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
