//! The kinds of `v1alpha1`.

mod busybox;
mod memcached;

pub use busybox::*;
pub use memcached::*;
