//! Conversion between the versions of a kind: one hub, any number of spokes, everything through the hub.
//! Start at [`Conversion`]; [`Conversions`] answers `/convert` for all kinds; [`Convert`] derives what is mechanical.
//!
//! What a conversion may change is the content of an object, its labels and its annotations. The rest of `metadata` is taken
//! over to the letter by [`Conversions`], as the API server demands, whatever the types make of it.
//!
//! Fields that neither of the two types knows are carried over at the place where they were, so that a type which describes
//! only a part of its kind loses nothing. Fields the source's type does not know but the target's does are left out: they
//! would be taken for something they were never checked as. Whoever wants no unknown fields says
//! `#[serde(deny_unknown_fields)]`.
//!
//! Data that a version cannot hold is lost on the way there, unless the kind is [preserving](Hub::preserving).

mod convert;
mod delta;
mod directed;
mod field;
mod hub;
mod preserve;
mod review;
mod round_trip;
mod set;
mod unknown;

#[doc(inline)]
pub use kubewright_macros::ConvertInRuntime as Convert;

pub use field::FieldError;
#[doc(hidden)]
pub use field::support;
pub use hub::{Conversion, ConversionError, Hub};
pub use round_trip::{
    RoundTrip, RoundTripCounts, RoundTripFailure, conversion_round_trips, conversion_round_trips_preserving,
};
pub(crate) use set::MAX_BODY;
pub use set::{Conversions, PATH};
