//! The protocol between the benchmark and a child: JSON lines from the child, words from the benchmark. `go/main.go` has the same
//! fields.

use std::time::{SystemTime, UNIX_EPOCH};

use kubewright_system::process::Process;
use serde::{Deserialize, Serialize};

/// One line of a child.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// `built`, `done`, or the question that the line answers.
    pub event: String,
    /// The time of day in nanoseconds; all processes are on one machine.
    pub at: i64,
    /// The processor time used so far, user and system, in microseconds.
    pub cpu: u64,
    /// Resident memory now, in bytes.
    pub resident: u64,
    /// The part of it that is not backed by files: heap and stacks.
    pub anonymous: u64,
    /// The peak of resident memory, in bytes.
    pub peak: u64,
    /// Live bytes of the heap, if the child was started to count them.
    pub heap: u64,
    /// How many objects are done, or in the cache.
    pub objects: usize,
    /// How many reconciles there were.
    pub reconciles: u64,
    /// How many of them failed.
    pub errors: u64,
    /// How many errors said that the object exists already.
    pub exists: u64,
    /// The numbers that the child saw in objects, each with the time at which it saw it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<(i64, i64)>,
    /// The costs of single operations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
}

/// The cost of one operation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Figure {
    /// The name of the operation.
    pub name: String,
    /// How long it takes.
    pub nanoseconds: f64,
    /// How often it allocates.
    pub allocations: f64,
}

impl Report {
    /// Fills in time, processor time and memory of this process, and prints the line.
    pub fn say(mut self) {
        self.at = now();
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        self.cpu = (used.tv_sec * 1_000_000 + used.tv_nsec / 1000) as u64;
        [self.resident, self.anonymous, self.peak] = memory();
        if let Ok(line) = serde_json::to_string(&self) {
            println!("{line}");
        }
    }
}

/// The time of day in nanoseconds.
pub fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as i64)
}

/// The resident memory of this process in bytes: all of it, the part that is not backed by files, and its peak.
fn memory() -> [u64; 3] {
    let process = Process::this();
    ["VmRSS", "RssAnon", "VmHWM"].map(|name| process.as_ref().and_then(|process| process.bytes(name)).unwrap_or(0))
}
