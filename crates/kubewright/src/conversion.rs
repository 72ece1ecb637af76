//! Conversion between the versions of a kind, and the derive that writes what is mechanical of it.
//!
//! ```
//! use kubewright::conversion::Convert;
//!
//! mod v1 {
//!     #[derive(Debug, PartialEq)]
//!     pub struct Shop {
//!         pub replicas: i64,
//!     }
//! }
//!
//! #[derive(Convert, Debug, PartialEq)]
//! #[convert(hub = v1::Shop, try_from_hub)]
//! struct Shop {
//!     #[convert(rename = replicas, try_from_hub = i32::try_from)]
//!     size: i32,
//! }
//!
//! assert_eq!(v1::Shop::from(Shop { size: 3 }), v1::Shop { replicas: 3 });
//! ```

pub use kubewright_macros::Convert;
pub use kubewright_runtime::conversion::*;
