//! Tables, and the rows that the real server printed.

mod recorded_rows;
mod tables;
