//! The controllers of this operator.

pub mod busybox;
pub mod memcached;
