//! One series each: a number that only grows, one that goes up and down, and one that sorts what it sees into buckets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A float that many may add to.
#[derive(Debug, Default)]
struct Number(AtomicU64);

impl Number {
    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, number: f64) {
        self.0.store(number.to_bits(), Ordering::Relaxed);
    }

    fn change(&self, change: impl Fn(f64) -> f64) {
        let change = |bits| Some(change(f64::from_bits(bits)).to_bits());
        // The closure never gives up, so the update cannot fail.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
    }
}

/// A number that only grows. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Counter(Arc<Number>);

impl Counter {
    /// One more.
    pub fn inc(&self) {
        self.inc_by(1.0);
    }

    /// Adds a number. A negative one is ignored: a counter does not shrink.
    pub fn inc_by(&self, more: f64) {
        if more > 0.0 {
            self.0.change(|number| number + more);
        }
    }

    /// Grows to a total that was counted elsewhere.
    pub(crate) fn advance_to(&self, total: f64) {
        self.0.change(|number| number.max(total));
    }

    /// The number.
    pub fn get(&self) -> f64 {
        self.0.get()
    }
}

/// A number that goes up and down. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<Number>);

impl Gauge {
    /// Sets the number.
    pub fn set(&self, number: f64) {
        self.0.set(number);
    }

    /// One more.
    pub fn inc(&self) {
        self.add(1.0);
    }

    /// One less.
    pub fn dec(&self) {
        self.add(-1.0);
    }

    /// So many more, or less.
    pub fn add(&self, more: f64) {
        self.0.change(|number| number + more);
    }

    /// The number.
    pub fn get(&self) -> f64 {
        self.0.get()
    }
}

#[derive(Debug)]
struct Buckets {
    bounds: Arc<[f64]>,
    /// One per bound and one for what is above all of them; not cumulative.
    counts: Box<[AtomicU64]>,
    sum: Number,
}

/// Sorts what it sees into buckets. Cloning shares it.
///
/// ```
/// use kubewright_runtime::metrics::Registry;
///
/// let registry = Registry::new();
/// let family = registry.histogram("wait_seconds", "How long it took.", [], &[0.1, 1.0]).unwrap();
/// family.with([]).observe(0.5);
/// assert!(registry.render().contains("wait_seconds_bucket{le=\"1\"} 1\n"));
/// assert_eq!(family.with([]).sum(), 0.5);
/// ```
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Buckets>);

impl Histogram {
    pub(super) fn new(bounds: Arc<[f64]>) -> Self {
        Histogram(Arc::new(Buckets {
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            bounds,
            sum: Number::default(),
        }))
    }

    /// Counts a number.
    pub fn observe(&self, number: f64) {
        let at = self.0.bounds.partition_point(|bound| *bound < number);
        self.0.counts[at].fetch_add(1, Ordering::Relaxed);
        self.0.sum.change(|sum| sum + number);
    }

    /// Counts a duration, in seconds.
    pub fn observe_duration(&self, duration: Duration) {
        self.observe(duration.as_secs_f64());
    }

    /// Takes over what was counted elsewhere: how many were at most as large as each bound, how many in all, and their sum.
    /// Bounds without a number count what the last one with a number counted.
    pub(crate) fn replace(&self, at_most: &[u64], count: u64, sum: f64) {
        let mut below = 0;
        for (at, bucket) in self.0.counts.iter().enumerate() {
            let cumulative = if at == self.0.bounds.len() {
                count
            } else {
                at_most.get(at).copied().unwrap_or(below)
            };
            bucket.store(cumulative.saturating_sub(below), Ordering::Relaxed);
            below = below.max(cumulative);
        }
        self.0.sum.set(sum);
    }

    /// How many numbers were counted.
    pub fn count(&self) -> u64 {
        self.0.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Their sum.
    pub fn sum(&self) -> f64 {
        self.0.sum.get()
    }

    /// Each bound with how many numbers were at most that large; the last bound is infinite.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = self.0.bounds.iter().copied().chain([f64::INFINITY]);
        bounds.zip(&self.0.counts).scan(0, |below, (bound, count)| {
            *below += count.load(Ordering::Relaxed);
            Some((bound, *below))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram() -> Histogram {
        Histogram::new(Arc::from([1.0, 2.0, 5.0]))
    }

    #[test]
    fn a_number_equal_to_a_bound_is_in_its_bucket() {
        let histogram = histogram();
        for number in [0.5, 1.0, 1.5, 5.0, 6.0, f64::INFINITY] {
            histogram.observe(number);
        }
        let cumulative: Vec<u64> = histogram.cumulative().map(|(_, count)| count).collect();
        assert_eq!(cumulative, [2, 3, 4, 6]);
        assert_eq!(histogram.count(), 6);
    }

    #[test]
    fn counts_from_elsewhere_are_taken_over_and_never_decrease_from_bound_to_bound() {
        let histogram = histogram();
        histogram.replace(&[1, 3], 7, 12.5);
        let cumulative: Vec<u64> = histogram.cumulative().map(|(_, count)| count).collect();
        assert_eq!(cumulative, [1, 3, 3, 7]);
        assert!((histogram.sum() - 12.5).abs() < f64::EPSILON);
    }

    #[test]
    fn a_counter_never_shrinks() {
        let counter = Counter::default();
        counter.advance_to(5.0);
        counter.advance_to(3.0);
        counter.inc_by(-1.0);
        counter.inc_by(f64::NAN);
        assert!((counter.get() - 5.0).abs() < f64::EPSILON);
    }
}
