//! Measures time and allocations of a piece of work. The Go program measures in the same way.

use std::time::{Duration, Instant};

/// How long to measure.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) batches: usize,
    pub(crate) batch_ms: u64,
}

impl Effort {
    /// Nanoseconds per call: the best of some batches, so that other processes on the machine do not count.
    pub(crate) fn measure(self, mut work: impl FnMut()) -> f64 {
        let batch = Duration::from_millis(self.batch_ms);
        let mut time = |calls: usize| {
            let began = Instant::now();
            for _ in 0..calls {
                work();
            }
            began.elapsed()
        };
        let mut calls = 1;
        loop {
            let took = time(calls);
            if took >= batch / 4 {
                calls = ((calls as f64 * batch.as_secs_f64() / took.as_secs_f64()) as usize).max(1);
                break;
            }
            calls *= 2;
        }
        let each = |_| time(calls).as_nanos() as f64 / calls as f64;
        (0..self.batches).map(each).fold(f64::INFINITY, f64::min)
    }
}

/// Allocations per call.
pub(crate) fn allocations(mut work: impl FnMut()) -> f64 {
    const CALLS: u32 = 1000;
    let counted = allocation_counter::measure(|| {
        for _ in 0..CALLS {
            work();
        }
    });
    counted.count_total as f64 / f64::from(CALLS)
}
