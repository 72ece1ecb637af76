//! Exact resource quantities (`100m`, `1.5Gi`, `2e3`): parsed, compared, added and printed as the API machinery does.
//!
//! ```
//! use kubewright_quantity::{Format, ParseError, Quantity};
//!
//! let mut wanted = Quantity::parse("1.5Gi").unwrap();
//! wanted.add(&Quantity::parse("512Mi").unwrap());
//! assert_eq!(wanted.to_string(), "2Gi");
//! assert_eq!((wanted.format(), wanted.value()), (Format::BinarySi, 2 << 30));
//!
//! // Nothing is rounded on the way: 0.1 three times is 0.3.
//! let tenth = Quantity::parse("100m").unwrap();
//! let mut sum = Quantity::from_int(0);
//! for _ in 0..3 {
//!     sum.add(&tenth);
//! }
//! assert_eq!(sum, Quantity::parse("0.3").unwrap());
//! assert_eq!((sum.to_string().as_str(), sum.milli_value(), sum.as_i64()), ("300m", 300, None));
//! sum.round_up(0); // whole ones
//! assert!(sum.is_integer() && sum > tenth && !sum.is_zero() && sum.sign() == 1);
//! sum.sub(&Quantity::from_int(2));
//! assert!(sum.is_negative());
//!
//! assert!(matches!(Quantity::parse("much"), Err(ParseError::Format)));
//! ```

mod decimal;
mod quantity;

pub use quantity::{Format, ParseError, Quantity};
