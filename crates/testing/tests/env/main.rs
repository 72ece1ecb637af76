//! Test environments with a small operator in them, on every control plane there is.

mod audit;
mod conversion;
mod existing;
mod failures;
mod faults;
mod garden;
mod life;
mod objects;
mod virtual_time;
