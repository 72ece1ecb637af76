//! Random choices that a seed repeats to the byte, on every machine and with every version of every dependency.

/// A sequence of choices (`SplitMix64`, whose ten lines depend on no package).
#[derive(Clone, Debug)]
pub struct Choices(u64);

impl Choices {
    /// The choices of the case at `index` of the run with this seed.
    pub fn new(seed: u64, index: u64) -> Self {
        let mut choices = Choices(seed ^ index.wrapping_mul(0xd134_2543_de82_ef95));
        choices.next();
        choices
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 if the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 {
            0
        } else {
            (self.next() % limit as u64) as usize
        }
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of the items, of which there is at least one.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// One of the words, of which there is at least one.
    pub fn word<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    /// One of the items, each as likely as its weight says.
    pub fn weighted<T: Copy>(&mut self, items: &[(usize, T)]) -> T {
        let mut left = self.below(items.iter().map(|(weight, _)| weight).sum());
        for (weight, item) in items {
            if left < *weight {
                return *item;
            }
            left -= weight;
        }
        items[items.len() - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_choices_and_another_does_not() {
        let drawn = |seed, index| {
            let mut choices = Choices::new(seed, index);
            (0..8).map(|_| choices.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1, 2), drawn(1, 2));
        assert_ne!(drawn(1, 2), drawn(1, 3));
        assert_ne!(drawn(1, 2), drawn(2, 2));
    }

    #[test]
    fn what_has_no_weight_is_never_drawn() {
        let mut choices = Choices::new(7, 7);
        assert!((0..200).all(|_| choices.weighted(&[(0, 'a'), (3, 'b'), (0, 'c')]) == 'b'));
    }
}
