// SPDX-License-Identifier: Apache-2.0

//! The program. Flags, signals, leader election, metrics and probes come with `main`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cronjob::operator().main()
}
