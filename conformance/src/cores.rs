//! Work that is done beside each other.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Does every piece of work on one of as many threads as there are cores; the results, in the order of the pieces.
pub(crate) fn on_every_core<W: Send, R: Send>(pieces: Vec<W>, work: impl Fn(W) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    on_threads(cores, pieces, work)
}

/// Does all pieces of work at the same time, which is for work that waits more than it computes; the results, in the order of the pieces.
pub(crate) fn at_once<W: Send, R: Send>(pieces: Vec<W>, work: impl Fn(W) -> R + Sync) -> Vec<R> {
    on_threads(pieces.len(), pieces, work)
}

fn on_threads<W: Send, R: Send>(threads: usize, pieces: Vec<W>, work: impl Fn(W) -> R + Sync) -> Vec<R> {
    let left = Mutex::new(pieces.into_iter().enumerate());
    // A lock that a panic poisoned still has what is left; the panic itself ends the scope.
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let worker = || {
        let mut done = Vec::new();
        while let Some((index, piece)) = next() {
            done.push((index, work(piece)));
        }
        done
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let finished = workers.into_iter().map(|worker| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        finished.flatten().collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_work() {
        let pieces: Vec<u64> = (0..100).collect();
        let doubled = on_every_core(pieces.clone(), |piece| {
            thread::sleep(std::time::Duration::from_micros(100 - piece));
            piece * 2
        });
        assert_eq!(doubled, pieces.iter().map(|piece| piece * 2).collect::<Vec<_>>());
    }

    #[test]
    fn work_that_waits_for_other_work_is_done_at_once() {
        let all = std::sync::Barrier::new(20);
        let done = at_once((0..20).collect(), |piece| {
            all.wait();
            piece
        });
        assert_eq!(done, (0..20).collect::<Vec<_>>());
    }
}
