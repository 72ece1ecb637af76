use cronjob::api::v1::CronJob;
use kubewright::testing::TestEnv;

const SAMPLE: &str = "config/samples/batch_v1_cronjob.yaml";
const NAME: &str = "cronjob-sample";

#[kubewright::test]
async fn a_sample_is_admitted() {
    let env = TestEnv::start(cronjob::operator()).await;
    env.apply_file(SAMPLE).await;
    let stored: CronJob = env.get(NAME).await;
    let pod = stored
        .spec
        .job_template
        .spec
        .unwrap()
        .template
        .spec
        .unwrap();
    assert_eq!(pod.restart_policy.as_deref(), Some("OnFailure"));
    assert_eq!(stored.spec.successful_jobs_history_limit, 3);
}

#[kubewright::test]
async fn a_schedule_that_cron_does_not_know_is_refused() {
    let env = TestEnv::start(cronjob::operator()).await;
    env.apply_file(SAMPLE).await;
    for (schedule, error) in [
        ("61 * * * *", "end of range (61) above maximum (59): 61"),
        ("@daily", "should match"),
    ] {
        let edited = env.try_edit::<CronJob>(NAME, |object| {
            schedule.clone_into(&mut object.spec.schedule);
        });
        let text = edited.await.unwrap_err().text();
        assert!(
            text.contains(&format!("spec.schedule: Invalid value: {schedule:?}: ")),
            "{text}"
        );
        assert!(text.contains(error), "{text}");
    }
}

#[kubewright::test]
async fn a_name_that_leaves_no_room_for_those_of_its_jobs_is_refused() {
    let env = TestEnv::start(cronjob::operator()).await;
    env.apply_file(SAMPLE).await;
    let mut long: CronJob = env.get(NAME).await;
    long.metadata = Default::default();
    long.metadata.namespace = Some(env.namespace().to_owned());
    long.metadata.name = Some("a".repeat(53));
    let text = env.try_create(&long).await.unwrap_err().text();
    assert!(text.contains("52 characters at most"), "{text}");
}
