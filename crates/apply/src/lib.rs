//! Server-side apply of what was set and nothing else: [`Apply`] is an object in the making, [`Part`] what its fields take.
//! `#[kubewright::resource]` and `#[kubewright::schema]` write a twin of each type, whose setters end here.

mod fields;
mod object;
mod part;
#[cfg(test)]
mod tests;

pub use fields::Fields;
pub use object::Apply;
pub use part::{Part, list, map};
