//! What is written while nothing happens.

use std::collections::BTreeMap;

use crate::traffic::JournaledWrite;

/// So many writes of one object in a minute in which nothing happens are too many.
const MOST_WRITES: usize = 5;

/// How often each object was changed, by verb and object: `update configmaps/x`.
pub(super) type WriteCounts = BTreeMap<String, usize>;

/// Counts the writes that changed something.
pub(super) fn count(writes: &[JournaledWrite]) -> WriteCounts {
    let mut counts = WriteCounts::new();
    for write in writes.iter().filter(|write| write.effective) {
        let address = &write.address;
        let object = format!("{} {}/{}", address.verb, address.resource, address.name);
        *counts.entry(object).or_default() += 1;
    }
    counts
}

/// The writes of two minutes together as what others are measured by: of what one of the two alone has, as many as that.
pub(super) fn either(first: WriteCounts, second: &WriteCounts) -> WriteCounts {
    let mut either = first;
    either.extend(second.iter().map(|(object, count)| (object.clone(), *count)));
    either
}

/// What is wrong with the writes of two minutes, one after the other, in which nothing happened. What writes at an even pace and seldom
/// is let pass, and so is what the reference writes as often. What the reference does not write at all is not let pass twice.
pub(super) fn problems(
    first: &WriteCounts,
    second: &WriteCounts,
    reference: Option<&WriteCounts>,
) -> Vec<(&'static str, String)> {
    let of = |counts: &WriteCounts, object: &str| counts.get(object).copied().unwrap_or_default();
    let mut found = Vec::new();
    for (object, count) in second {
        let usual = reference.map_or(0, |reference| of(reference, object));
        let before = of(first, object);
        if *count <= 2 * usual {
            continue;
        }
        if *count > MOST_WRITES {
            found.push((
                "writes on and on",
                format!("{object}: {count} times in a minute, while nothing else happens"),
            ));
        } else if before > 0 && *count >= before + 2 {
            found.push((
                "writes more and more",
                format!("{object}: {before} times in a minute, {count} times in the next, while nothing else happens"),
            ));
        } else if reference.is_some() && usual == 0 && before > 0 {
            found.push((
                "still writes",
                format!("{object}: {before} times in a minute, {count} times in the next; without disturbance it is not written any more"),
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(count: usize) -> WriteCounts {
        WriteCounts::from([("update configmaps/x".to_owned(), count)])
    }

    fn names(first: usize, second: usize, reference: usize) -> Vec<&'static str> {
        let found = problems(&counts(first), &counts(second), Some(&counts(reference)));
        found.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn many_writes_and_growing_ones_are_told_and_an_even_pace_is_not() {
        assert_eq!(names(6, 6, 0), ["writes on and on"]);
        assert_eq!(names(1, 3, 0), ["writes more and more"]);
        let alone = |first, second| problems(&counts(first), &counts(second), None);
        assert!(alone(2, 2).is_empty());
        // One write may fall into this minute or into that.
        assert!(alone(2, 3).is_empty());
        assert!(alone(0, 2).is_empty());
    }

    #[test]
    fn what_the_reference_does_not_write_is_not_written_on() {
        assert_eq!(names(1, 1, 0), ["still writes"]);
        assert_eq!(names(2, 3, 0), ["still writes"]);
        // The last of what the disturbance has left to do.
        assert!(names(0, 1, 0).is_empty());
        assert!(names(1, 0, 0).is_empty());
        assert!(names(1, 2, 1).is_empty());
    }

    #[test]
    fn what_was_written_in_one_of_two_minutes_is_written() {
        assert_eq!(either(counts(1), &WriteCounts::new()), counts(1));
        assert_eq!(either(counts(1), &counts(2)), counts(2));
        assert_eq!(either(WriteCounts::new(), &counts(2)), counts(2));
    }

    #[test]
    fn what_the_reference_writes_as_often_passes() {
        assert!(names(6, 6, 6).is_empty());
        assert_eq!(names(6, 13, 6), ["writes on and on"]);
    }
}
