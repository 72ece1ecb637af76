//! The operator that loops as a program.

mod operator;
mod two_colours;

use std::process::ExitCode;

fn main() -> ExitCode {
    two_colours::two_colours().main()
}
