//! Test environments with a small operator in them, on every control plane there is.

mod admission;
mod audit;
mod certificates;
mod connect;
mod controllers;
mod conversion;
mod exec;
mod existing;
mod explore;
mod explore_chance;
mod explore_controllers;
mod explore_edits;
mod explore_nodes;
mod explore_operators;
mod explore_outside;
mod failures;
mod faults;
mod garden;
mod life;
mod logs;
mod nodes;
mod objects;
mod shop;
mod virtual_time;
