//! Gives memory back to the system that a server no longer needs.
//!
//! mimalloc gives every thread pages of its own, one for each size of what is allocated. It keeps the last page of a size when all in it was
//! freed, notices what other threads freed only when their owner allocates again, and gives back what is free a second later, if some thread
//! takes or frees a page then. After a burst the threads of a server do none of that, and would keep much of what it took. Here each of
//! them tidies up now and then.

use std::cell::Cell;
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle, Runtime};

/// Seldom enough that a server at rest is one.
const EVERY: Duration = Duration::from_secs(10);
/// More than any system has room for.
const TOO_MUCH: usize = isize::MAX.unsigned_abs() / 2;

thread_local! {
    /// When this thread gave memory back.
    static GAVE_BACK: Cell<Instant> = Cell::new(Instant::now());
}

/// A runtime for a server. Each of its threads gives back what it does not need when it has nothing to do, every few seconds at most.
pub(crate) fn runtime(threads: usize) -> io::Result<Runtime> {
    runtime_that_gives_back(threads, EVERY)
}

/// Wakes the threads of the runtime every few seconds, without end, so that they give memory back also if nobody asks them for anything.
pub(crate) async fn give_back() {
    wake_threads(EVERY).await;
}

fn runtime_that_gives_back(threads: usize, every: Duration) -> io::Result<Runtime> {
    let give_back_if_due = move || {
        if GAVE_BACK.get().elapsed() >= every {
            give_back_of_this_thread();
            GAVE_BACK.set(Instant::now());
        }
    };
    Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .on_thread_park(give_back_if_due)
        .build()
}

async fn wake_threads(every: Duration) {
    let threads = Handle::current().metrics().num_workers();
    loop {
        tokio::time::sleep(every).await;
        // A thread that finds a task wakes another one to look for more.
        for _ in 0..threads {
            tokio::spawn(async {});
        }
    }
}

/// Asks for more than there is. Before mimalloc says so, it gives back all that this thread does not need, and what is free of the others.
fn give_back_of_this_thread() {
    let mut room = Vec::<u8>::new();
    let refused = black_box(&mut room).try_reserve_exact(TOO_MUCH);
    debug_assert!(refused.is_err());
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;
    use std::sync::{Arc, Barrier};

    use kubewright_system::process::status_field;

    use super::*;

    /// A thousandth of what it is in a server, so that the test need not be one.
    const OFTEN: Duration = Duration::from_millis(10);
    const THREADS: usize = 2;
    /// Set in the process of its own that the test needs, since whatever other tests allocate would give memory back, too.
    const ALONE: &str = "KUBEWRIGHT_TEST_UNUSED_MEMORY";

    /// The memory of this process that is not of files, in bytes.
    fn own_memory() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let kilobytes = status_field(&status, "RssAnon").and_then(|text| text.strip_suffix(" kB"));
        kilobytes.unwrap().trim().parse::<usize>().unwrap() * 1024
    }

    /// Takes pieces of many sizes, 24 MB in all.
    fn burst() -> Vec<Vec<u8>> {
        let sizes = (0..16).flat_map(|power| (8..16).map(move |eighths| eighths << power));
        sizes.flat_map(|size| (0..4).map(move |_| vec![1; size])).collect()
    }

    #[test]
    fn threads_at_rest_give_back_what_others_freed_of_theirs() {
        if std::env::var_os(ALONE).is_none() {
            let name = "unused_memory::tests::threads_at_rest_give_back_what_others_freed_of_theirs";
            let mut alone = Command::new(std::env::current_exe().unwrap());
            let ended = alone
                .args([name, "--exact", "--test-threads=1"])
                .env(ALONE, "1")
                .output();
            let ended = ended.unwrap();
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
            return;
        }
        let runtime = runtime_that_gives_back(THREADS, OFTEN).unwrap();
        let before = own_memory();
        let all_at_once = Arc::new(Barrier::new(THREADS));
        let bursts: Vec<_> = (0..THREADS)
            .map(|_| {
                let all_at_once = Arc::clone(&all_at_once);
                runtime.spawn(async move {
                    all_at_once.wait();
                    burst()
                })
            })
            .collect();
        let pieces: Vec<_> = bursts
            .into_iter()
            .map(|burst| runtime.block_on(burst).unwrap())
            .collect();
        let taken = own_memory() - before;
        assert!(taken > 40 << 20, "{taken}");
        drop(pieces);
        runtime.spawn(wake_threads(OFTEN));
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            let held = own_memory().saturating_sub(before);
            if held < taken / 8 {
                break;
            }
            assert!(Instant::now() < deadline, "{held} bytes of {taken} are still held");
            std::thread::sleep(OFTEN);
        }
    }
}
