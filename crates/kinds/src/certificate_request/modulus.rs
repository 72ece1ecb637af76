//! Numbers modulo an odd one, of the size that keys of elliptic curves have: Montgomery's multiplication.

/// The most words that a number has: 521 bits.
const WORDS: usize = 9;

/// A number, its lowest word first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Number(pub(super) [u64; WORDS]);

/// The number that these bytes are, the highest first. There are no more than a number can have.
pub(super) fn number(bytes: &[u8]) -> Number {
    let mut value = Number::default();
    for (at, byte) in bytes.iter().rev().enumerate() {
        value.0[at / 8] |= u64::from(*byte) << (at % 8 * 8);
    }
    value
}

pub(super) fn is_zero(value: &Number) -> bool {
    *value == Number::default()
}

pub(super) fn is_less(one: &Number, other: &Number) -> bool {
    one.0.iter().rev().lt(other.0.iter().rev())
}

/// The bit at a place, counted from the lowest.
pub(super) fn bit(value: &Number, at: usize) -> bool {
    value.0[at / 64] >> (at % 64) & 1 == 1
}

/// An odd prime. Its numbers are multiplied in a form of their own, times `2⁶⁴` to the power of its words.
pub(super) struct Modulus {
    value: Number,
    words: usize,
    /// What makes the lowest word of a product zero.
    negative_inverse: u64,
    /// The square of the form's factor.
    square: Number,
}

impl Modulus {
    pub(super) fn new(value: Number) -> Self {
        let lowest = value.0[0];
        // Each step doubles the bits that are right; one is right to begin with.
        let inverse = (0..6).fold(1_u64, |inverse, _| {
            inverse.wrapping_mul(2_u64.wrapping_sub(lowest.wrapping_mul(inverse)))
        });
        let words = WORDS - value.0.iter().rev().take_while(|word| **word == 0).count();
        let mut modulus = Modulus {
            value,
            words,
            negative_inverse: inverse.wrapping_neg(),
            square: Number::default(),
        };
        modulus.square = (0..2 * 64 * words).fold(one(), |power, _| modulus.add(&power, &power));
        modulus
    }

    pub(super) fn value(&self) -> &Number {
        &self.value
    }

    /// A number in the form for multiplications. It may be larger than the modulus.
    pub(super) fn enter(&self, value: &Number) -> Number {
        self.multiply(value, &self.square)
    }

    /// A number out of that form.
    pub(super) fn leave(&self, value: &Number) -> Number {
        self.multiply(value, &one())
    }

    /// One in that form.
    pub(super) fn one(&self) -> Number {
        self.enter(&one())
    }

    pub(super) fn add(&self, one: &Number, other: &Number) -> Number {
        let mut sum = Number::default();
        let mut carry = 0;
        for at in 0..self.words {
            (sum.0[at], carry) = multiply_add(one.0[at], 1, other.0[at], carry);
        }
        self.reduce(sum, carry)
    }

    pub(super) fn triple(&self, value: &Number) -> Number {
        self.add(&self.add(value, value), value)
    }

    pub(super) fn subtract(&self, one: &Number, other: &Number) -> Number {
        self.add(one, &minus(&self.value, other))
    }

    /// The product of two numbers in the form for multiplications, in that form.
    pub(super) fn multiply(&self, one: &Number, other: &Number) -> Number {
        let words = self.words;
        let mut sum = [0; WORDS + 2];
        for factor in &one.0[..words] {
            let mut carry = 0;
            for (place, word) in sum.iter_mut().zip(&other.0[..words]) {
                (*place, carry) = multiply_add(*factor, *word, *place, carry);
            }
            (sum[words], sum[words + 1]) = multiply_add(sum[words], 1, carry, 0);
            let factor = sum[0].wrapping_mul(self.negative_inverse);
            (_, carry) = multiply_add(factor, self.value.0[0], sum[0], 0);
            for at in 1..words {
                (sum[at - 1], carry) = multiply_add(factor, self.value.0[at], sum[at], carry);
            }
            (sum[words - 1], carry) = multiply_add(sum[words], 1, carry, 0);
            sum[words] = sum[words + 1] + carry;
        }
        let mut product = Number::default();
        product.0[..words].copy_from_slice(&sum[..words]);
        self.reduce(product, sum[words])
    }

    /// What a number that is not zero, in the form for multiplications, is to be multiplied with for one: its power to the modulus less two.
    pub(super) fn invert(&self, value: &Number) -> Number {
        let exponent = minus(&self.value, &Number([2, 0, 0, 0, 0, 0, 0, 0, 0]));
        (0..64 * self.words).rev().fold(self.one(), |power, at| {
            let square = self.multiply(&power, &power);
            if bit(&exponent, at) {
                self.multiply(&square, value)
            } else {
                square
            }
        })
    }

    /// A number below twice the modulus, with the word beyond its highest, made smaller than the modulus.
    fn reduce(&self, value: Number, beyond: u64) -> Number {
        if beyond == 0 && is_less(&value, &self.value) {
            return value;
        }
        let mut reduced = minus(&value, &self.value);
        // What was borrowed is the word beyond.
        reduced.0[self.words..].fill(0);
        reduced
    }
}

fn one() -> Number {
    Number([1, 0, 0, 0, 0, 0, 0, 0, 0])
}

/// `one - other`, without what is borrowed beyond the highest word.
fn minus(one: &Number, other: &Number) -> Number {
    let mut difference = Number::default();
    let mut borrow = false;
    for (at, word) in difference.0.iter_mut().enumerate() {
        let (partial, first) = one.0[at].overflowing_sub(other.0[at]);
        let (rest, second) = partial.overflowing_sub(borrow.into());
        *word = rest;
        borrow = first || second;
    }
    difference
}

/// `one · other + third + fourth`, the lower word and the higher one.
fn multiply_add(one: u64, other: u64, third: u64, fourth: u64) -> (u64, u64) {
    let wide = u128::from(one) * u128::from(other) + u128::from(third) + u128::from(fourth);
    #[expect(clippy::cast_possible_truncation, reason = "the lower word is meant")]
    let lower = wide as u64;
    (lower, (wide >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A prime of 61 bits, so that machine numbers can tell.
    const PRIME: u64 = (1 << 61) - 1;

    fn small(value: u64) -> Number {
        Number([value, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    proptest! {
        #[test]
        fn a_small_modulus_computes_as_the_machine_does(one in 0..PRIME, other in 1..PRIME) {
            let modulus = Modulus::new(small(PRIME));
            let wide = |value: u128| small((value % u128::from(PRIME)) as u64);
            let (a, b) = (u128::from(one), u128::from(other));
            prop_assert_eq!(modulus.add(&small(one), &small(other)), wide(a + b));
            prop_assert_eq!(modulus.subtract(&small(one), &small(other)), wide(a + u128::from(PRIME) - b));
            let (entered, inverse) = (modulus.enter(&small(one)), modulus.enter(&small(other)));
            prop_assert_eq!(modulus.leave(&modulus.multiply(&entered, &inverse)), wide(a * b));
            prop_assert_eq!(modulus.multiply(&inverse, &modulus.invert(&inverse)), modulus.one());
        }
    }
}
