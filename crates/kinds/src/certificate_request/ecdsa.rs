//! Verifies ECDSA on the curves of NIST that Go knows, with any digest: ring does so for two curves with two digests. Everything here is
//! public (keys of requests, signatures), so nothing keeps the time that a computation takes secret; never sign with it.

use super::modulus::{Modulus, Number, bit, is_less, is_zero, number};

/// A curve `y² = x³ - 3x + b` over a prime field.
pub(super) struct Curve {
    /// What Go's mistakes call it.
    name: &'static str,
    /// How many bytes a coordinate has.
    bytes: usize,
    prime: &'static str,
    /// How many points there are.
    order: &'static str,
    b: &'static str,
    /// The point that the others are multiples of.
    base: [&'static str; 2],
}

pub(super) static P224: Curve = Curve {
    name: "P224",
    bytes: 28,
    prime: "ffffffffffffffffffffffffffffffff000000000000000000000001",
    order: "ffffffffffffffffffffffffffff16a2e0b8f03e13dd29455c5c2a3d",
    b: "b4050a850c04b3abf54132565044b0b7d7bfd8ba270b39432355ffb4",
    base: [
        "b70e0cbd6bb4bf7f321390b94a03c1d356c21122343280d6115c1d21",
        "bd376388b5f723fb4c22dfe6cd4375a05a07476444d5819985007e34",
    ],
};

pub(super) static P256: Curve = Curve {
    name: "P256",
    bytes: 32,
    prime: "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
    order: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    b: "5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b",
    base: [
        "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
        "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
    ],
};

pub(super) static P384: Curve = Curve {
    name: "P384",
    bytes: 48,
    prime: "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff",
    order: "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
    b: "b3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aef",
    base: [
        "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7",
        "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f",
    ],
};

pub(super) static P521: Curve = Curve {
    name: "P521",
    bytes: 66,
    prime: "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
            ffffffffffffffffffffffffff",
    order: "01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9\
            b8899c47aebb6fb71e91386409",
    b: "0051953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df88\
        3d2c34f1ef451fd46b503f00",
    base: [
        "00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1\
         856a429bf97e7e31c2e5bd66",
        "011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761353c7086\
         a272c24088be94769fd16650",
    ],
};

/// A point in homogeneous coordinates, in the field's form for multiplications.
type Point = [Number; 3];

/// A key: a point of a curve.
pub(super) struct Key {
    arithmetic: Arithmetic,
    point: Point,
}

impl Key {
    /// Reads an uncompressed point. The error is Go's sentence.
    pub(super) fn read(curve: &'static Curve, bytes: &[u8]) -> Result<Self, String> {
        let Some((4, coordinates)) = bytes.split_first() else {
            return Err("ecdsa: invalid uncompressed public key".to_owned());
        };
        let name = curve.name;
        if coordinates.len() != 2 * curve.bytes {
            return Err(format!("invalid {name} point encoding"));
        }
        let (x, y) = coordinates.split_at(curve.bytes);
        let (x, y) = (number(x), number(y));
        let arithmetic = Arithmetic::of(curve);
        if [x, y]
            .iter()
            .any(|coordinate| !is_less(coordinate, arithmetic.field.value()))
        {
            // Go computes on this curve in assembly, which has words of its own.
            let space = if name == P256.name { " e" } else { "E" };
            return Err(format!("invalid {name}{space}lement encoding"));
        }
        let point = arithmetic.point(&x, &y);
        let point = point.ok_or_else(|| format!("{name} point not on curve"))?;
        Ok(Key { arithmetic, point })
    }

    /// Whether a signature, two numbers, is of a message with this digest (FIPS 186-5, section 6.4.2).
    pub(super) fn verifies(&self, digest: &[u8], [r, s]: [&[u8]; 2]) -> bool {
        let Arithmetic {
            curve, field, scalars, ..
        } = &self.arithmetic;
        let is_scalar = |bytes: &[u8]| {
            bytes.len() <= curve.bytes && !is_zero(&number(bytes)) && is_less(&number(bytes), scalars.value())
        };
        if !is_scalar(r) || !is_scalar(s) {
            return false;
        }
        let r = number(r);
        // The orders with fewer bits than a digest have a whole number of bytes.
        let digest = number(&digest[..digest.len().min(curve.bytes)]);
        let inverse = scalars.invert(&scalars.enter(&number(s)));
        let times = |factor: &Number| scalars.leave(&scalars.multiply(&scalars.enter(factor), &inverse));
        let [x, _, z] = self
            .arithmetic
            .sum_of_multiples(&times(&digest), &times(&r), &self.point);
        if is_zero(&z) {
            return false;
        }
        let x = field.leave(&field.multiply(&x, &field.invert(&z)));
        scalars.leave(&scalars.enter(&x)) == r
    }
}

/// A curve, ready to compute with.
struct Arithmetic {
    curve: &'static Curve,
    /// The field of the coordinates.
    field: Modulus,
    /// By how much points are multiplied.
    scalars: Modulus,
    b: Number,
}

impl Arithmetic {
    fn of(curve: &'static Curve) -> Self {
        let field = Modulus::new(constant(curve.prime));
        let b = field.enter(&constant(curve.b));
        let scalars = Modulus::new(constant(curve.order));
        Arithmetic {
            curve,
            field,
            scalars,
            b,
        }
    }

    /// The point with these coordinates, if it is on the curve.
    fn point(&self, x: &Number, y: &Number) -> Option<Point> {
        let field = &self.field;
        let (x, y) = (field.enter(x), field.enter(y));
        let cube = field.multiply(&field.multiply(&x, &x), &x);
        let right = field.add(&field.subtract(&cube, &field.triple(&x)), &self.b);
        (field.multiply(&y, &y) == right).then(|| [x, y, field.one()])
    }

    /// `base · one + point · other`.
    fn sum_of_multiples(&self, one: &Number, other: &Number, point: &Point) -> Point {
        let [x, y] = self
            .curve
            .base
            .map(|coordinate| self.field.enter(&constant(coordinate)));
        let base = [x, y, self.field.one()];
        let both = self.add(&base, point);
        let mut sum = [Number::default(), self.field.one(), Number::default()];
        for at in (0..8 * self.curve.bytes).rev() {
            sum = self.add(&sum, &sum);
            sum = match (bit(one, at), bit(other, at)) {
                (false, false) => sum,
                (true, false) => self.add(&sum, &base),
                (false, true) => self.add(&sum, point),
                (true, true) => self.add(&sum, &both),
            };
        }
        sum
    }

    /// The complete law of addition of Renes, Costello and Batina for `a = -3`: there are no exceptions for equal points or for infinity.
    fn add(&self, [x1, y1, z1]: &Point, [x2, y2, z2]: &Point) -> Point {
        let field = &self.field;
        let times = |one: &Number, other: &Number| field.multiply(one, other);
        let plus = |one: &Number, other: &Number| field.add(one, other);
        let minus = |one: &Number, other: &Number| field.subtract(one, other);
        let (xx, yy, zz) = (times(x1, x2), times(y1, y2), times(z1, z2));
        let xy = plus(&times(x1, y2), &times(x2, y1));
        let xz = plus(&times(x1, z2), &times(x2, z1));
        let yz = plus(&times(y1, z2), &times(y2, z1));
        let u = field.triple(&minus(&times(&self.b, &zz), &xz));
        let v = field.triple(&minus(&xx, &zz));
        let w = field.triple(&minus(&minus(&times(&self.b, &xz), &xx), &field.triple(&zz)));
        let (more, less) = (plus(&yy, &u), minus(&yy, &u));
        [
            minus(&times(&xy, &less), &times(&yz, &w)),
            plus(&times(&v, &w), &times(&more, &less)),
            plus(&times(&yz, &more), &times(&xy, &v)),
        ]
    }
}

/// A constant in hexadecimal digits.
fn constant(digits: &str) -> Number {
    let mut value = Number::default();
    for (at, digit) in digits.bytes().rev().enumerate() {
        let digit = char::from(digit).to_digit(16).unwrap_or_default();
        value.0[at / 16] |= u64::from(digit) << (at % 16 * 4);
    }
    value
}

#[cfg(test)]
mod tests {
    use ring::digest::{SHA256, SHA384, digest};
    use ring::rand::SystemRandom;
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    };

    use super::*;

    #[test]
    fn what_ring_signs_is_verified_and_nothing_else() {
        let random = SystemRandom::new();
        for (curve, signing, hash) in [
            (&P256, &ECDSA_P256_SHA256_FIXED_SIGNING, &SHA256),
            (&P384, &ECDSA_P384_SHA384_FIXED_SIGNING, &SHA384),
        ] {
            let pkcs8 = EcdsaKeyPair::generate_pkcs8(signing, &random).unwrap();
            let pair = EcdsaKeyPair::from_pkcs8(signing, pkcs8.as_ref(), &random).unwrap();
            let key = Key::read(curve, pair.public_key().as_ref()).unwrap();
            for message in [&b"one"[..], b"another"] {
                let signature = pair.sign(&random, message).unwrap();
                let (r, s) = signature.as_ref().split_at(curve.bytes);
                let hashed = digest(hash, message);
                assert!(key.verifies(hashed.as_ref(), [r, s]));
                assert!(!key.verifies(hashed.as_ref(), [s, r]));
                assert!(!key.verifies(digest(hash, b"else").as_ref(), [r, s]));
                assert!(!key.verifies(hashed.as_ref(), [&[], s]));
                assert!(!key.verifies(hashed.as_ref(), [r, &[]]));
                // A number that is larger by the order is no second signature.
                let order = constant(curve.order);
                let larger: Vec<u8> = (0..curve.bytes).rev().map(|at| byte(&order, at)).collect();
                assert!(!key.verifies(hashed.as_ref(), [&larger, s]));
            }
        }
    }

    fn byte(number: &Number, at: usize) -> u8 {
        (0..8).fold(0, |byte, place| byte | u8::from(bit(number, 8 * at + place)) << place)
    }

    #[test]
    fn every_curve_has_its_base_and_comes_back_after_its_order() {
        for curve in [&P224, &P256, &P384, &P521] {
            let arithmetic = Arithmetic::of(curve);
            let [x, y] = curve.base.map(constant);
            let base = arithmetic.point(&x, &y).unwrap();
            let [_, _, z] = arithmetic.sum_of_multiples(&constant(curve.order), &Number::default(), &base);
            assert!(is_zero(&z), "{}", curve.bytes);
            assert!(arithmetic.point(&y, &x).is_none());
        }
    }
}
