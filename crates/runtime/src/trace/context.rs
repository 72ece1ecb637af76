//! Which trace and span a reconcile is for a collector (W3C), so that everybody who knows its number can say it.

use super::ReconcileId;
use crate::random::Random;

/// What the ids of a process are made of, and which of its reconciles are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceContext {
    /// Another for each process.
    pub(crate) process: u64,
    pub(crate) sampler: Sampler,
}

/// A span, and the trace that it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpanContext {
    pub(crate) trace: u128,
    pub(crate) span: u64,
}

/// Decides by the id of a trace alone whether it is exported, as OpenTelemetry's `TraceIdRatioBased` does in Go and Java, so that two who
/// sample the same share choose the same traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sampler {
    /// Of 2^63.
    share: u64,
}

impl Sampler {
    pub(crate) const ALL: Sampler = Sampler { share: 1 << 63 };

    /// One that takes this share of all traces, from 0 to 1; `None` if it is no share.
    pub(crate) fn of(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Sampler {
            share: (share * (1_u64 << 63) as f64) as u64,
        })
    }

    /// Whether it takes no trace at all.
    pub(crate) fn is_off(self) -> bool {
        self.share == 0
    }

    fn takes(self, trace: u128) -> bool {
        (trace as u64) >> 1 < self.share
    }
}

impl TraceContext {
    pub(crate) fn of(random: &Random, sampler: Sampler) -> Self {
        let digits: String = random.uuid().chars().filter(char::is_ascii_hexdigit).take(16).collect();
        TraceContext {
            process: u64::from_str_radix(&digits, 16).unwrap_or(1),
            sampler,
        }
    }

    /// Whether the spans of a reconcile are exported.
    pub(crate) fn samples(self, reconcile: ReconcileId) -> bool {
        self.sampler.takes(self.trace_id(reconcile))
    }

    /// The span of a reconcile. Each is a trace of its own, and links lead from one to another.
    pub(crate) fn span(self, reconcile: ReconcileId) -> SpanContext {
        self.child(reconcile, 0)
    }

    /// The span of something that a reconcile did.
    pub(crate) fn child(self, reconcile: ReconcileId, child: u64) -> SpanContext {
        // Never zero, which means that there is none.
        let span = mixed(self.process ^ mixed(reconcile.number()) ^ mixed(child << 32)) | 1;
        SpanContext {
            trace: self.trace_id(reconcile),
            span,
        }
    }

    /// The header `traceparent` of a request that a reconcile sends.
    pub(crate) fn traceparent(self, reconcile: ReconcileId) -> String {
        let SpanContext { trace, span } = self.span(reconcile);
        let flags = u8::from(self.samples(reconcile));
        format!("00-{trace:032x}-{span:016x}-{flags:02x}")
    }

    fn trace_id(self, reconcile: ReconcileId) -> u128 {
        // Samplers and collectors count on it that the lower half is as good as random.
        let lower = mixed(self.process.rotate_left(32) ^ mixed(reconcile.number()));
        u128::from(self.process | 1) << 64 | u128::from(lower)
    }
}

/// A number that looks like no other: the last step of splitmix64.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn context(share: f64) -> TraceContext {
        TraceContext {
            process: 0x0af7_6519_16cd_43dd,
            sampler: Sampler::of(share).unwrap(),
        }
    }

    fn sampled(share: f64) -> BTreeSet<u64> {
        let context = context(share);
        (1..=10_000)
            .filter(|number| context.samples(ReconcileId(*number)))
            .collect()
    }

    #[test]
    fn a_share_of_all_reconciles_is_sampled_and_a_larger_share_has_all_of_a_smaller_one() {
        assert_eq!((sampled(0.0).len(), sampled(1.0).len()), (0, 10_000));
        let (tenth, quarter) = (sampled(0.1), sampled(0.25));
        assert!((880..1120).contains(&tenth.len()), "{}", tenth.len());
        assert!((2350..2650).contains(&quarter.len()), "{}", quarter.len());
        assert!(tenth.is_subset(&quarter));
        assert!(Sampler::of(0.0).unwrap().is_off() && Sampler::of(1.5).is_none() && Sampler::of(f64::NAN).is_none());
    }

    #[test]
    fn a_request_says_whether_its_reconcile_is_sampled() {
        let context = context(0.5);
        for number in 1..100 {
            let id = ReconcileId(number);
            let parent = context.traceparent(id);
            assert_eq!((parent.len(), &parent[..19]), (55, "00-0af7651916cd43dd"));
            assert_eq!(parent.ends_with("-01"), context.samples(id), "{parent}");
        }
    }

    #[test]
    fn no_two_reconciles_have_a_trace_or_a_span_in_common() {
        let context = context(1.0);
        let ids = (1..=1000).map(ReconcileId);
        let spans = ids.flat_map(|id| [context.span(id), context.child(id, 1)]);
        let spans: Vec<SpanContext> = spans.collect();
        let traces: BTreeSet<u128> = spans.iter().map(|span| span.trace).collect();
        let spans: BTreeSet<u64> = spans.iter().map(|span| span.span).collect();
        assert_eq!((traces.len(), spans.len()), (1000, 2000));
    }
}
