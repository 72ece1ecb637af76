use cronjob::api::v1;
use cronjob::api::v2;
use kubewright::testing::{TestEnv, conversion_round_trips};

const SAMPLE: &str = "config/samples/batch_v2_cronjob.yaml";
const NAME: &str = "cronjob-sample-v2";

#[test]
fn v2_and_v1_hold_the_same() {
    conversion_round_trips::<v1::CronJob, v2::CronJob>();
}

#[kubewright::test]
async fn one_object_is_seen_in_both_versions() {
    let env = TestEnv::start(cronjob::operator()).await;
    env.apply_file(SAMPLE).await;
    let old: v1::CronJob = env.get(NAME).await;
    assert_eq!(old.spec.schedule, "30 6 1 * *");

    env.edit::<v1::CronJob>(NAME, |object| {
        "*/5 8-18 * * MON-FRI".clone_into(&mut object.spec.schedule);
    })
    .await;
    let new: v2::CronJob = env.get(NAME).await;
    let schedule = new.spec.schedule;
    assert_eq!((&*schedule.minute.0, &*schedule.hour.0), ("*/5", "8-18"));
    assert_eq!(
        (&*schedule.month.0, &*schedule.day_of_week.0),
        ("*", "MON-FRI")
    );
}

#[kubewright::test]
async fn the_webhooks_of_v1_see_v2_too() {
    let env = TestEnv::start(cronjob::operator()).await;
    env.apply_file(SAMPLE).await;
    let new: v2::CronJob = env.get(NAME).await;
    let pod = new.spec.job_template.spec.unwrap().template.spec.unwrap();
    assert_eq!(pod.restart_policy.as_deref(), Some("OnFailure"));

    let edited = env.try_edit::<v2::CronJob>(NAME, |object| {
        "61".clone_into(&mut object.spec.schedule.minute.0);
    });
    let text = edited.await.unwrap_err().text();
    assert!(
        text.contains("end of range (61) above maximum (59): 61"),
        "{text}"
    );
}
