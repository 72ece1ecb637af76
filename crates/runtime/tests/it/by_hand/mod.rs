//! A controller by hand, the client-go way: what the low-level pieces are for, without `Controller` and `Manager`.

mod foo;
mod support;
