//! Where the objects of the kinds are that this program serves itself.

pub mod moon;
pub mod sighting;
