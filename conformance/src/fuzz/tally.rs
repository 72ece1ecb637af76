//! The counts of a run, by class, and its differences by how often they were met.

use std::collections::BTreeMap;
use std::fmt;

use super::signature::Signature;
use super::weights::{CLASSES, Class};

/// The counts of one class.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Cases that were compared.
    pub cases: usize,
    /// Pairs of answers that were compared.
    pub pairs: usize,
    /// Pairs that differ.
    pub different: usize,
    /// Cases that the real server does not answer the same twice, and never as the embedded one does.
    pub unstable: usize,
}

/// The counts of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    classes: BTreeMap<Class, Counts>,
    /// How often each difference was met.
    pub met: BTreeMap<Signature, usize>,
    /// How often the real server differed from itself in which way.
    pub varied: BTreeMap<Signature, usize>,
}

impl Tally {
    /// Counts answers that are all equal.
    pub fn equal(&mut self, class: Class, pairs: usize) {
        let counts = self.classes.entry(class).or_default();
        counts.cases += 1;
        counts.pairs += pairs;
    }

    /// Counts a case in which so many answers are equal and the next one is not.
    pub fn different(&mut self, class: Class, equal: usize, signature: Signature) {
        let counts = self.classes.entry(class).or_default();
        counts.cases += 1;
        counts.pairs += equal + 1;
        counts.different += 1;
        *self.met.entry(signature).or_default() += 1;
    }

    /// Counts a case in which so many answers are equal, and to the next request the real server varies its answer in this way.
    pub fn unstable(&mut self, class: Class, equal: usize, varied: Signature) {
        let counts = self.classes.entry(class).or_default();
        counts.cases += 1;
        counts.pairs += equal;
        counts.unstable += 1;
        *self.varied.entry(varied).or_default() += 1;
    }

    /// The counts of all classes together.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        for counts in self.classes.values() {
            total.cases += counts.cases;
            total.pairs += counts.pairs;
            total.different += counts.different;
            total.unstable += counts.unstable;
        }
        total
    }

    /// Differences with their counts, most frequent first.
    pub fn by_frequency(&self) -> Vec<(&Signature, usize)> {
        by_frequency(&self.met)
    }
}

/// Names with their counts, most frequent first.
pub fn by_frequency(met: &BTreeMap<Signature, usize>) -> Vec<(&Signature, usize)> {
    let mut met: Vec<_> = met.iter().map(|(signature, count)| (signature, *count)).collect();
    met.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(other.0)));
    met
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| class | cases | pairs | different | unstable |")?;
        writeln!(f, "|---|---:|---:|---:|---:|")?;
        let total = self.total();
        let rows = CLASSES
            .iter()
            .filter_map(|(_, class)| Some((class.to_string(), self.classes.get(class)?)));
        for (name, counts) in rows.chain([("all".to_owned(), &total)]) {
            writeln!(
                f,
                "| {name} | {} | {} | {} | {} |",
                counts.cases, counts.pairs, counts.different, counts.unstable
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_counts_up_to_its_first_difference() {
        let mut tally = Tally::default();
        let named = || Signature { text: "x".to_owned() };
        tally.equal(Class::Create, 5);
        tally.different(Class::Create, 2, named());
        tally.different(Class::Http, 0, named());
        tally.unstable(Class::Http, 3, named());
        let total = tally.total();
        assert_eq!(
            (total.cases, total.pairs, total.different, total.unstable),
            (4, 12, 2, 1)
        );
        assert!(tally.to_string().contains("| create | 2 | 8 | 1 | 0 |"), "{tally}");
    }
}
