use kubewright::cron::Schedule;
use kubewright::prelude::*;
use kubewright::webhook::Verdict;
use kubewright::webhook::field::{ErrorList, FieldError, Path};

use crate::api::v1::CronJob;

/// What judges a `CronJob` before it is stored.
pub fn webhook() -> Webhook<CronJob> {
    Webhook::of::<CronJob>()
        .defaulter(CronJobDefaulter)
        .validator(CronJobValidator)
}

/// The versions of a `CronJob`: every other one is converted to this one and back, as its
/// `#[convert(…)]` says.
pub fn conversion() -> Conversion {
    Conversion::hub::<CronJob>()
        .spoke::<crate::api::v2::CronJob>()
        .into()
}

/// Fills in what a `CronJob` leaves open.
pub struct CronJobDefaulter;

impl Defaulter<CronJob> for CronJobDefaulter {
    async fn set_defaults(
        &self,
        object: &mut CronJob,
        _: &AdmissionRequest,
    ) -> Result<(), Rejection> {
        // A Pod restarts always unless it says otherwise, which no Job may do.
        let job = object.spec.job_template.spec.as_mut();
        if let Some(pod) = job.and_then(|job| job.template.spec.as_mut()) {
            pod.restart_policy.get_or_insert("OnFailure".to_owned());
        }
        Ok(())
    }
}

/// Refuses a `CronJob` that cannot be right.
pub struct CronJobValidator;

impl CronJobValidator {
    fn validate(object: &CronJob) -> Verdict {
        let mut errors = ErrorList::new();
        let schedule = &object.spec.schedule;
        if let Err(error) = schedule.parse::<Schedule>() {
            let field = Path::new("spec").child("schedule");
            errors.push(FieldError::invalid(
                &field,
                schedule.as_str(),
                error.to_string(),
            ));
        }
        errors.verdict()
    }
}

impl Validator<CronJob> for CronJobValidator {
    async fn validate_create(&self, object: &CronJob, _: &AdmissionRequest) -> Verdict {
        Self::validate(object)
    }

    async fn validate_update(
        &self,
        _old: &CronJob,
        object: &CronJob,
        _: &AdmissionRequest,
    ) -> Verdict {
        Self::validate(object)
    }
}
