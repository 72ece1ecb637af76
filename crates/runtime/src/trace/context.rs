//! Which trace and span a reconcile is for a collector (W3C), so that everybody who knows its number can say it.

use super::ReconcileId;
use crate::random::Random;

/// What the ids of a process are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceContext {
    /// Another for each process.
    pub(crate) process: u64,
}

impl TraceContext {
    pub(crate) fn of(random: &Random) -> Self {
        let digits: String = random.uuid().chars().filter(char::is_ascii_hexdigit).take(16).collect();
        TraceContext {
            process: u64::from_str_radix(&digits, 16).unwrap_or(1),
        }
    }

    /// The trace of a reconcile: each is one of its own, and links lead from one to another.
    pub(crate) fn trace_id(self, reconcile: ReconcileId) -> String {
        format!("{:016x}{:016x}", self.process | 1, reconcile.number())
    }

    /// The span of a reconcile.
    pub(crate) fn span_id(self, reconcile: ReconcileId) -> String {
        self.child_id(reconcile, 0)
    }

    /// The span of something that a reconcile did.
    pub(crate) fn child_id(self, reconcile: ReconcileId, child: u64) -> String {
        // Never zero, which means that there is none.
        format!(
            "{:016x}",
            mixed(self.process ^ mixed(reconcile.number()) ^ mixed(child << 32)) | 1
        )
    }

    /// The header `traceparent` of a request that a reconcile sends.
    pub(crate) fn traceparent(self, reconcile: ReconcileId) -> String {
        format!("00-{}-{}-01", self.trace_id(reconcile), self.span_id(reconcile))
    }
}

/// A number that looks like no other: the last step of splitmix64.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
