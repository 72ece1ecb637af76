//! Decimal numbers of any length: a sign, digits and a power of ten. The value of a quantity is one of them.
//! Every operation takes time linear in the number of digits: it compares exponents and never writes one out as zeros,
//! except where the digits of two summands have to be aligned.

use std::cmp::Ordering;

/// `± digits × 10^power`, without leading or trailing zeros; zero has no digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    /// Values 0 to 9, the most significant first.
    digits: Vec<u8>,
    /// The power of ten of the last digit.
    power: i64,
}

/// The distance in powers of ten beyond which a sum keeps the larger summand and drops the smaller. Two numbers that fit in a
/// request are this far apart only if one of them has an enormous exponent.
const SUM_SPAN: i64 = 1 << 20;

impl Decimal {
    /// Makes a number from ASCII digits and the power of ten of the last digit.
    pub(crate) fn new(negative: bool, digits: &str, power: i32) -> Self {
        let digits = digits.bytes().map(|byte| byte.wrapping_sub(b'0')).collect();
        Self::normal(negative, digits, i64::from(power))
    }

    pub(crate) fn from_int(value: i64) -> Self {
        Self::new(value < 0, &value.unsigned_abs().to_string(), 0)
    }

    fn normal(negative: bool, mut digits: Vec<u8>, mut power: i64) -> Self {
        while digits.last() == Some(&0) {
            digits.pop();
            power += 1;
        }
        let leading = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..leading);
        if digits.is_empty() {
            return Decimal {
                negative: false,
                digits,
                power: 0,
            };
        }
        Decimal {
            negative,
            digits,
            power,
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(crate) fn sign(&self) -> i32 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    pub(crate) fn negated(&self) -> Self {
        Decimal {
            negative: !self.negative && !self.is_zero(),
            ..self.clone()
        }
    }

    /// The power of ten just above the first digit: the number of digits before the point.
    fn top(&self) -> i64 {
        self.power + self.digits.len() as i64
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match self.sign().cmp(&other.sign()) {
            Ordering::Equal if self.negative => other.compare_magnitude(self),
            Ordering::Equal => self.compare_magnitude(other),
            different => different,
        }
    }

    fn compare_magnitude(&self, other: &Self) -> Ordering {
        if self.is_zero() || other.is_zero() {
            return other.is_zero().cmp(&self.is_zero());
        }
        // There are no leading or trailing zeros, so digits that begin at the same power of ten compare like text.
        self.top()
            .cmp(&other.top())
            .then_with(|| self.digits.cmp(&other.digits))
    }

    pub(crate) fn magnitude_at_least(&self, bound: i64) -> bool {
        self.compare_magnitude(&Self::from_int(bound)) != Ordering::Less
    }

    pub(crate) fn is_multiple_of_power(&self, power: i32) -> bool {
        self.is_zero() || self.power >= i64::from(power)
    }

    /// Rounded away from zero to a multiple of `10^power`.
    pub(crate) fn rounded_up(&self, power: i32) -> Self {
        let power = i64::from(power);
        if self.is_zero() || self.power >= power {
            return self.clone();
        }
        let kept = usize::try_from(self.top() - power).unwrap_or(0).min(self.digits.len());
        // The digits that are cut off are not all zero, since the last one is not.
        Self::normal(self.negative, increment(self.digits[..kept].to_vec()), power)
    }

    /// The value in units of `10^power`, rounded away from zero; the nearest bound where an i64 cannot hold it.
    pub(crate) fn scaled(&self, power: i32) -> i64 {
        let rounded = self.rounded_up(power);
        let zeros = if rounded.is_zero() {
            0
        } else {
            rounded.power - i64::from(power)
        };
        let bound = if self.negative { i64::MIN } else { i64::MAX };
        if zeros + rounded.digits.len() as i64 > 19 {
            return bound;
        }
        let magnitude = rounded
            .digits
            .iter()
            .copied()
            .chain(std::iter::repeat_n(0, zeros as usize))
            .fold(0i128, |number, digit| number * 10 + i128::from(digit));
        i64::try_from(if self.negative { -magnitude } else { magnitude }).unwrap_or(bound)
    }

    pub(crate) fn times(&self, factor: u64) -> Self {
        let mut product = Vec::with_capacity(self.digits.len() + 20);
        let mut carry = 0u128;
        for digit in self.digits.iter().rev() {
            carry += u128::from(*digit) * u128::from(factor);
            product.push((carry % 10) as u8);
            carry /= 10;
        }
        while carry > 0 {
            product.push((carry % 10) as u8);
            carry /= 10;
        }
        product.reverse();
        Self::normal(self.negative, product, self.power)
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return if self.is_zero() { other.clone() } else { self.clone() };
        }
        let (high, low) = if self.compare_magnitude(other) == Ordering::Less {
            (other, self)
        } else {
            (self, other)
        };
        let power = high.power.min(low.power);
        if high.top() - power > SUM_SPAN {
            return high.clone();
        }
        let (mut sum, summand) = (high.aligned(power), low.aligned(power));
        let subtract = high.negative != low.negative;
        let mut carry = 0i8;
        for (place, digit) in sum.iter_mut().enumerate() {
            let other = summand.get(place).copied().unwrap_or(0) as i8;
            let result = if subtract {
                *digit as i8 - other - carry
            } else {
                *digit as i8 + other + carry
            };
            carry = i8::from(!(0..10).contains(&result));
            *digit = result.rem_euclid(10) as u8;
        }
        if carry > 0 {
            sum.push(1);
        }
        sum.reverse();
        Self::normal(high.negative, sum, power)
    }

    /// The digits down to `10^power`, the least significant first.
    fn aligned(&self, power: i64) -> Vec<u8> {
        let zeros = usize::try_from(self.power - power).unwrap_or(0);
        std::iter::repeat_n(0, zeros)
            .chain(self.digits.iter().rev().copied())
            .collect()
    }

    /// The number, or `bound` with the number's sign where the number is further from zero than that.
    pub(crate) fn capped(self, bound: i64) -> Self {
        let bound = Decimal {
            negative: self.negative,
            ..Self::from_int(bound)
        };
        if self.compare_magnitude(&bound) == Ordering::Greater {
            bound
        } else {
            self
        }
    }

    /// The number as `digits × 10^power`, where the power is the largest multiple of three that leaves whole digits.
    pub(crate) fn in_powers_of_1000(&self) -> (String, i32) {
        let extra = self.power.rem_euclid(3);
        let mut text = String::with_capacity(self.digits.len() + 3);
        if self.negative {
            text.push('-');
        }
        text.extend(self.digits.iter().map(|digit| char::from(b'0' + digit)));
        text.extend(std::iter::repeat_n('0', extra as usize));
        (text, (self.power - extra) as i32)
    }

    /// A whole number with the largest binary suffix that leaves a whole number; `None` beyond 128 bits, which only
    /// sums reach.
    pub(crate) fn in_powers_of_1024(&self) -> Option<String> {
        if self.power < 0 || self.top() > 38 {
            return None;
        }
        let digits = self
            .digits
            .iter()
            .copied()
            .chain(std::iter::repeat_n(0, self.power as usize));
        let mut value = digits.fold(0u128, |number, digit| number * 10 + u128::from(digit));
        let mut times = 0;
        while value != 0 && value.is_multiple_of(1024) {
            value /= 1024;
            times += 1;
        }
        let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
            .get(times)
            .copied()
            .unwrap_or_default();
        Some(format!("{}{value}{suffix}", if self.negative { "-" } else { "" }))
    }
}

/// Adds one to the last digit.
fn increment(mut digits: Vec<u8>) -> Vec<u8> {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return digits;
        }
        *digit = 0;
    }
    digits.insert(0, 1);
    digits
}
