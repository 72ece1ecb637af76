//! The program. Flags, signals, the certificate, metrics and probes come with `main`.

use std::process::ExitCode;

fn main() -> ExitCode {
    process_api::operator("/proc").main()
}
