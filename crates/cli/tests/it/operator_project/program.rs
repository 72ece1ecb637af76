//! The operator of the project as a program, for the tests that run a real one.

mod operator;

use std::process::ExitCode;

fn main() -> ExitCode {
    operator::operator().main()
}
