//! `CronJobs` on the virtual clock, which begins on 1 March 2026 at noon.

use k8s_openapi::api::batch::v1::{CronJob, Job};
use serde_json::{Value, json};

use super::support::{Cluster, advance, key};

fn cron(spec: &Value, annotations: &Value) -> Value {
    let mut cron = json!({
        "metadata": { "name": "tick", "namespace": "default" },
        "spec": { "schedule": "*/10 * * * *", "jobTemplate": { "spec": { "template": {
            "metadata": { "annotations": annotations },
            "spec": { "restartPolicy": "Never", "containers": [{ "name": "main", "image": "busybox" }] },
        } } } },
    });
    for (key, value) in spec.as_object().unwrap() {
        cron["spec"][key] = value.clone();
    }
    cron
}

async fn jobs(cluster: &Cluster) -> Vec<String> {
    let jobs = cluster.all::<Job>().await;
    jobs.iter().map(|job| job.key().name().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn jobs_are_made_on_time_and_old_ones_deleted() {
    let cluster = Cluster::whole(1);
    cluster.create::<CronJob>(cron(&json!({}), &json!({}))).await;
    advance(9 * 60).await;
    assert!(jobs(&cluster).await.is_empty());
    advance(2 * 60).await;
    let minute = 1_772_366_400 / 60; // noon
    assert_eq!(jobs(&cluster).await, [format!("tick-{}", minute + 10)]);
    advance(50 * 60).await;
    let last: Vec<_> = [40, 50, 60].map(|after| format!("tick-{}", minute + after)).into();
    assert_eq!(jobs(&cluster).await, last);
    let status = cluster.get::<CronJob>("tick").await.status.clone().unwrap();
    assert_eq!(status.last_schedule_time.unwrap().0.to_string(), "2026-03-01T13:00:00Z");
    assert!(status.last_successful_time.is_some() && status.active.is_none());
    let events = cluster.events("CronJob").await;
    assert!(events.contains(&format!("SuccessfulCreate Created job tick-{}", minute + 10)));
    assert!(events.contains(&format!(
        "SawCompletedJob Saw completed job: tick-{}, condition: Complete",
        minute + 10
    )));
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_still_runs_is_waited_for_replaced_or_joined() {
    let slow = json!({ "kubewright.dev/run-time": "15m" });
    for (policy, running) in [("Forbid", 1), ("Replace", 1), ("Allow", 2)] {
        let cluster = Cluster::whole(1);
        cluster
            .create::<CronJob>(cron(&json!({ "concurrencyPolicy": policy }), &slow))
            .await;
        advance(21 * 60).await;
        let active = cluster
            .get::<CronJob>("tick")
            .await
            .status
            .clone()
            .unwrap()
            .active
            .unwrap();
        assert_eq!(active.len(), running, "{policy}");
        let minute = 1_772_366_400 / 60;
        let newest = if policy == "Forbid" { minute + 10 } else { minute + 20 };
        assert!(
            active.iter().any(|job| job.name == Some(format!("tick-{newest}"))),
            "{policy}"
        );
        cluster.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_suspended_one_makes_nothing_and_catches_up_once() {
    let cluster = Cluster::whole(1);
    cluster
        .create::<CronJob>(cron(&json!({ "suspend": true }), &json!({})))
        .await;
    advance(65 * 60).await;
    assert!(jobs(&cluster).await.is_empty());
    cluster
        .patch::<CronJob>("tick", json!({ "spec": { "suspend": false } }))
        .await;
    advance(60).await;
    assert_eq!(jobs(&cluster).await.len(), 1);
    cluster.user.delete::<CronJob>(&key("tick")).await.unwrap();
    advance(60).await;
    assert!(jobs(&cluster).await.is_empty());
    cluster.stop().await;
}

/// When the Jobs were due, by the clock of the place.
async fn due_times(cluster: &Cluster) -> Vec<String> {
    let jobs = cluster.all::<Job>().await;
    let annotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";
    jobs.iter()
        .map(|job| job.metadata.annotations.as_ref().unwrap()[annotation].clone())
        .collect()
}

const HOUR: u64 = 60 * 60;

#[tokio::test(start_paused = true)]
async fn times_are_those_of_the_zone_and_one_that_is_skipped_in_spring_is_not_met() {
    let cluster = Cluster::starting_at("2026-03-28T00:00:00Z", "cronjob", 0);
    let berlin = json!({ "schedule": "30 2 * * *", "timeZone": "Europe/Berlin" });
    cluster.create::<CronJob>(cron(&berlin, &json!({}))).await;
    advance(49 * HOUR).await;
    assert_eq!(
        due_times(&cluster).await,
        ["2026-03-28T02:30:00+01:00", "2026-03-30T02:30:00+02:00"]
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_time_that_comes_twice_in_autumn_is_met_twice() {
    let cluster = Cluster::starting_at("2026-04-04T12:00:00Z", "cronjob", 0);
    let sydney = json!({ "schedule": "30 2 * * *", "timeZone": "Australia/Sydney" });
    cluster.create::<CronJob>(cron(&sydney, &json!({}))).await;
    advance(12 * HOUR).await;
    assert_eq!(
        due_times(&cluster).await,
        ["2026-04-05T02:30:00+11:00", "2026-04-05T02:30:00+10:00"]
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_missed_is_made_up_for_only_before_its_deadline() {
    for (deadline, expected) in [(60, 0), (600, 1)] {
        let cluster = Cluster::with("cronjob", 0);
        let asleep = json!({ "suspend": true, "startingDeadlineSeconds": deadline });
        cluster.create::<CronJob>(cron(&asleep, &json!({}))).await;
        advance(15 * 60).await;
        cluster
            .patch::<CronJob>("tick", json!({ "spec": { "suspend": false } }))
            .await;
        advance(10).await;
        assert_eq!(jobs(&cluster).await.len(), expected, "{deadline}");
        advance(5 * 60).await;
        assert_eq!(jobs(&cluster).await.len(), expected + 1, "{deadline}");
        cluster.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn more_than_a_hundred_missed_times_are_told_of_and_made_up_for_once() {
    let cluster = Cluster::with("cronjob", 0);
    let asleep = json!({ "suspend": true, "schedule": "* * * * *" });
    cluster.create::<CronJob>(cron(&asleep, &json!({}))).await;
    advance(3 * 60 * 60 + 30).await;
    cluster
        .patch::<CronJob>("tick", json!({ "spec": { "suspend": false } }))
        .await;
    advance(10).await;
    assert_eq!(due_times(&cluster).await, ["2026-03-01T15:00:00Z"]);
    let told = "TooManyMissedTimes too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check \
                clock skew";
    assert!(cluster.events("CronJob").await.contains(&told.to_owned()));
    cluster.stop().await;
}
