//! The program. Flags, signals, leader election, metrics and probes come with `main`.

use std::process::ExitCode;

fn main() -> ExitCode {
    observatory::operator().main()
}
