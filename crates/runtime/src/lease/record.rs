//! What a lease says about its holder.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

/// The `spec` of a Lease, as far as elections go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// The identity of the holder; empty if there is none.
    pub(super) holder: String,
    pub(super) lease_seconds: u32,
    /// RFC 3339 with microseconds; never compared with a clock.
    pub(super) acquired: String,
    pub(super) renewed: String,
    pub(super) transitions: u32,
}

impl Record {
    /// How long the holder may be silent.
    pub(super) fn lease_duration(&self) -> Duration {
        Duration::from_secs(self.lease_seconds.into())
    }

    /// Reads a Lease. What is missing is empty, as for client-go.
    pub(super) fn of(lease: &Value) -> Self {
        let text = |field: &str| lease["spec"][field].as_str().unwrap_or_default().to_owned();
        let number = |field: &str| {
            lease["spec"][field]
                .as_u64()
                .and_then(|number| u32::try_from(number).ok())
        };
        Record {
            holder: text("holderIdentity"),
            lease_seconds: number("leaseDurationSeconds").unwrap_or_default(),
            acquired: text("acquireTime"),
            renewed: text("renewTime"),
            transitions: number("leaseTransitions").unwrap_or_default(),
        }
    }

    /// As the `spec` of a Lease.
    pub(super) fn spec(&self) -> Value {
        json!({
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.lease_seconds,
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        })
    }
}

/// A time as `MicroTime` writes it.
pub(super) fn micro_time(time: Timestamp) -> String {
    format!("{time:.6}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_the_way_through_a_lease() {
        let record = Record {
            holder: "a_1".to_owned(),
            lease_seconds: 15,
            acquired: micro_time(Timestamp::UNIX_EPOCH),
            renewed: micro_time("2026-01-02T03:04:05.5Z".parse().unwrap()),
            transitions: 3,
        };
        assert_eq!(record.renewed, "2026-01-02T03:04:05.500000Z");
        assert_eq!(Record::of(&json!({ "spec": record.spec() })), record);
    }

    #[test]
    fn a_lease_without_a_spec_is_held_by_nobody() {
        let nobody = Record::of(&json!({ "metadata": {} }));
        assert_eq!(nobody, Record::default());
        assert_eq!(
            Record::of(&json!({ "spec": { "leaseTransitions": -1, "holderIdentity": null } })),
            nobody
        );
    }
}
