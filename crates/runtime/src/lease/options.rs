//! How an election is held.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::random::Random;

/// client-go's: how much longer than the retry period a candidate may wait.
pub(super) const JITTER: f64 = 1.2;

/// Why an election cannot be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// The lease has no name.
    #[error("the lease needs a name: set the leader election id")]
    NoName,
    /// The lease has no namespace.
    #[error("the lease needs a namespace: set the leader election namespace when not running in a cluster")]
    NoNamespace,
    /// The identity is empty, so that candidates could not be distinguished.
    #[error("the identity must not be empty")]
    NoIdentity,
    /// A lease lasts whole seconds, and others may take it when they are over.
    #[error("the lease duration in whole seconds must be greater than the renew deadline")]
    LeaseTooShort,
    /// There must be time for a second try.
    #[error("the renew deadline must be greater than 1.2 times the retry period")]
    DeadlineTooShort,
    /// The retry period is zero.
    #[error("the retry period must be greater than zero")]
    NoRetryPeriod,
}

/// How an election is held. The defaults are controller-runtime's.
///
/// ```
/// use kubewright_runtime::lease::ElectionOptions;
/// use std::time::Duration;
///
/// let options = ElectionOptions::new("shop-system", "3ca5b296.shop.example.com");
/// assert_eq!(options.lease_duration, Duration::from_secs(15));
/// assert_eq!(options.renew_deadline, Duration::from_secs(10));
/// assert_eq!(options.retry_period, Duration::from_secs(2));
/// assert!(options.release_on_exit);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionOptions {
    /// Where the lease is.
    pub namespace: String,
    /// What it is called: the leader election id.
    pub name: String,
    /// The identity of this candidate. Default: host name and a random id.
    pub identity: Option<String>,
    /// How long others wait before they take the lease of a silent leader. Whole seconds. Default: 15 s.
    pub lease_duration: Duration,
    /// How long a leader tries to renew before it gives up. Default: 10 s.
    pub renew_deadline: Duration,
    /// The pause between tries. Default: 2 s.
    pub retry_period: Duration,
    /// Whether the lease is given back at the end, so that the next leader need not wait for its end. Default: yes, since the
    /// fence is closed before and no write can follow.
    pub release_on_exit: bool,
    /// Labels for the lease.
    pub labels: BTreeMap<String, String>,
}

impl ElectionOptions {
    /// The defaults for a lease.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        ElectionOptions {
            namespace: namespace.into(),
            name: name.into(),
            identity: None,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            release_on_exit: true,
            labels: BTreeMap::new(),
        }
    }

    /// Whether an election can be held like this.
    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        if self.name.is_empty() {
            return Err(OptionsError::NoName);
        }
        if self.namespace.is_empty() {
            return Err(OptionsError::NoNamespace);
        }
        if self.identity.as_deref() == Some("") {
            return Err(OptionsError::NoIdentity);
        }
        if self.retry_period.is_zero() {
            return Err(OptionsError::NoRetryPeriod);
        }
        // The record says whole seconds.
        if Duration::from_secs(self.lease_duration.as_secs()) <= self.renew_deadline {
            return Err(OptionsError::LeaseTooShort);
        }
        if self.renew_deadline.as_secs_f64() <= JITTER * self.retry_period.as_secs_f64() {
            return Err(OptionsError::DeadlineTooShort);
        }
        Ok(())
    }

    /// How long one request may take, so that one that hangs does not cost the lease.
    pub(super) fn request_timeout(&self) -> Duration {
        (self.renew_deadline / 2).max(Duration::from_secs(1))
    }
}

/// An identity that is unique: the host's name and a random id.
pub(crate) fn identity(random: &Random) -> String {
    format!("{}_{}", gethostname::gethostname().to_string_lossy(), random.uuid())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: impl FnOnce(&mut ElectionOptions)) -> Result<(), OptionsError> {
        let mut options = ElectionOptions::new("ns", "name");
        change(&mut options);
        options.check()
    }

    #[test]
    fn options_that_cannot_work_are_refused_with_a_reason() {
        let seconds = Duration::from_secs;
        assert_eq!(with(|options| options.name.clear()), Err(OptionsError::NoName));
        assert_eq!(
            with(|options| options.namespace.clear()),
            Err(OptionsError::NoNamespace)
        );
        assert_eq!(
            with(|options| options.identity = Some(String::new())),
            Err(OptionsError::NoIdentity)
        );
        assert_eq!(
            with(|options| options.renew_deadline = seconds(15)),
            Err(OptionsError::LeaseTooShort)
        );
        assert_eq!(
            with(|options| options.retry_period = seconds(9)),
            Err(OptionsError::DeadlineTooShort)
        );
        assert_eq!(
            with(|options| options.retry_period = Duration::ZERO),
            Err(OptionsError::NoRetryPeriod)
        );
        assert_eq!(with(|_| {}), Ok(()));
    }

    #[test]
    fn a_fraction_of_a_second_does_not_make_a_lease_longer() {
        let result = with(|options| {
            options.lease_duration = Duration::from_millis(10_900);
            options.renew_deadline = Duration::from_millis(10_500);
        });
        assert_eq!(result, Err(OptionsError::LeaseTooShort));
    }
}
