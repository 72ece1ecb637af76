//! What events are called.

use jiff::Timestamp;
use kubewright_apimachinery::names;

use crate::random::Random;

/// The object's name and the time, or a random id where that is not a name the server accepts.
pub(super) fn event_name(object: &str, nanoseconds: i128, random: &Random) -> String {
    let name = format!("{object}.{nanoseconds:x}");
    if names::is_dns1123_subdomain(&name) {
        name
    } else {
        random.uuid()
    }
}

/// Nanoseconds since 1970, each only once: two events at the same moment must not have the same name.
#[derive(Debug, Default)]
pub(super) struct Ticks(i128);

impl Ticks {
    pub(super) fn next(&mut self, now: Timestamp) -> i128 {
        self.0 = now.as_nanosecond().max(self.0 + 1);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_named_after_its_object_and_time() {
        let random = Random::seeded(1);
        assert_eq!(event_name("web-1", 0x17a0, &random), "web-1.17a0");
        assert_eq!(event_name("a.b", 0xff, &random), "a.b.ff");
        // Names of roles and the like may hold anything.
        for odd in ["system:node", "", "UPPER", "a..b", "-a", &"a".repeat(250)] {
            assert_eq!(event_name(odd, 0x17a0, &random).len(), 36, "{odd}");
        }
    }

    #[test]
    fn two_events_at_the_same_moment_have_different_names() {
        let mut ticks = Ticks::default();
        let now = Timestamp::from_second(1).unwrap();
        assert_eq!((ticks.next(now), ticks.next(now)), (1_000_000_000, 1_000_000_001));
    }
}
