//! Records `kubewright demo` as an animated picture, from what it really prints and when:
//!
//! ```sh
//! cargo build
//! cargo run -p kubewright-demo --example demo_svg -- target/debug/kubewright docs/demo.svg
//! ```

mod recording;
mod screen;
mod svg;

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(program), Some(picture), None) = (words.next(), words.next(), words.next()) else {
        eprintln!("usage: demo_svg PATH-OF-KUBEWRIGHT PICTURE.svg");
        return ExitCode::from(2);
    };
    let recorded = match recording::record(&program) {
        Ok(recorded) => recorded,
        Err(error) => {
            eprintln!("error: {} cannot be recorded: {error}", program.display());
            return ExitCode::FAILURE;
        }
    };
    let picture_text = svg::drawn(&recorded);
    if let Err(error) = std::fs::write(&picture, &picture_text) {
        eprintln!("error: cannot write {}: {error}", picture.display());
        return ExitCode::FAILURE;
    }
    println!(
        "{}: {} lines, {:.1} s, {} KB",
        picture.display(),
        recorded.len(),
        recorded.last().map_or(0.0, |line| line.at.as_secs_f64()),
        picture_text.len() / 1024
    );
    ExitCode::SUCCESS
}
