//! Gives memory back to the system that a server no longer needs.
//!
//! mimalloc keeps what is freed for a second, in case it is needed again, and looks whether that second is over only when a page is taken or
//! freed. A server to which nobody talks after a burst does neither, and would keep all of it.

use std::hint::black_box;
use std::time::Duration;

/// Longer than mimalloc keeps what is freed, and seldom enough that a server at rest is one.
const EVERY: Duration = Duration::from_secs(10);
/// More than mimalloc would take from a page that it has. The system gives no memory for it, since nothing is written there.
const PAGE: usize = 1024 * 1024;

/// Gives unused memory back every few seconds, without end.
pub(crate) async fn give_back() {
    loop {
        tokio::time::sleep(EVERY).await;
        make_allocator_look();
    }
}

/// Takes a page and frees it, on which the allocator gives back what was freed long enough ago.
fn make_allocator_look() {
    drop(black_box(Vec::<u8>::with_capacity(PAGE)));
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;
    use std::time::Instant;

    use kubewright_system::process::Process;

    use super::*;

    const BURST: usize = 128 * 1024 * 1024;
    const PIECE: usize = 16 * 1024;
    /// Set in the process of its own that the test needs, since whatever other tests allocate would give memory back, too.
    const ALONE: &str = "KUBEWRIGHT_TEST_UNUSED_MEMORY";

    fn resident() -> usize {
        usize::try_from(Process::this().unwrap().resident_bytes().unwrap()).unwrap()
    }

    fn burst() -> usize {
        let pieces: Vec<Vec<u8>> = (0..BURST / PIECE).map(|_| vec![1; PIECE]).collect();
        drop(black_box(pieces));
        resident()
    }

    #[test]
    fn a_process_at_rest_gives_back_what_a_burst_took() {
        if std::env::var_os(ALONE).is_none() {
            let name = "unused_memory::tests::a_process_at_rest_gives_back_what_a_burst_took";
            let mut alone = Command::new(std::env::current_exe().unwrap());
            let ended = alone
                .args([name, "--exact", "--test-threads=1"])
                .env(ALONE, "1")
                .output();
            let ended = ended.unwrap();
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
            return;
        }
        let before = burst();
        assert!(before > BURST / 2, "the allocator kept only {before} bytes by itself");
        let deadline = Instant::now() + Duration::from_mins(1);
        while resident() > before - BURST / 2 {
            assert!(
                Instant::now() < deadline,
                "{} bytes of {before} are still held",
                resident()
            );
            std::thread::sleep(Duration::from_millis(100));
            make_allocator_look();
        }
    }
}
