//! Addresses of Pods and nodes: nothing listens on them, but no two Pods have the same.

use parking_lot::Mutex;

/// 10.244.0.0/16, without its ends.
const FIRST: u16 = 2;
const LAST: u16 = u16::MAX - 1;

/// Hands out addresses for Pods, one after the other, round and round.
#[derive(Debug)]
pub(super) struct Addresses(Mutex<u16>);

impl Default for Addresses {
    fn default() -> Self {
        Addresses(Mutex::new(FIRST))
    }
}

impl Addresses {
    /// The next free address. When all are taken, Pods share one.
    pub(super) fn next(&self, is_taken: impl Fn(&str) -> bool) -> String {
        let mut next = self.0.lock();
        let mut address = String::new();
        for _ in FIRST..=LAST {
            address = format!("10.244.{}.{}", *next >> 8, *next & 0xff);
            *next = if *next == LAST { FIRST } else { *next + 1 };
            if !is_taken(&address) {
                break;
            }
        }
        address
    }
}

/// The address of a node: by its number, or else by its name. Services have theirs in 10.0.0.0/24.
pub(super) fn of_node(name: &str) -> String {
    let number = name.strip_prefix("node-").and_then(|number| number.parse::<u16>().ok());
    let number = number.unwrap_or_else(|| {
        // Any spread will do; it only has to be the same each time.
        name.bytes()
            .fold(17, |sum: u16, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
    });
    format!("192.168.{}.{}", number >> 8, number & 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_use_are_passed_over() {
        let addresses = Addresses::default();
        assert_eq!(addresses.next(|_| false), "10.244.0.2");
        assert_eq!(addresses.next(|address| address == "10.244.0.3"), "10.244.0.4");
        assert_eq!(addresses.next(|_| true), "10.244.0.4"); // all are taken: once round
        assert_eq!(of_node("node-258"), "192.168.1.2");
    }
}
