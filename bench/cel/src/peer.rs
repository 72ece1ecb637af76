//! The peer: a small Go program, built here and run on the same cases.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::cases::{Figures, TEXT};
use crate::measure::Effort;

/// Builds the peer next to our own binary, runs it and reads its answer.
pub(crate) fn run(effort: Effort) -> Result<Figures, Box<dyn Error>> {
    let binary = std::env::current_exe()?.with_file_name("bench-cel-peer");
    let built = Command::new("go")
        .args(["build", "-trimpath", "-o"])
        .arg(&binary)
        .arg(".")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("peer"))
        .status()
        .map_err(|error| format!("the peer needs Go 1.26 or newer (--only-ours leaves it out): {error}"))?;
    if !built.success() {
        return Err("the peer does not build".into());
    }
    let mut cases: serde_json::Value = serde_json::from_str(TEXT)?;
    cases["batches"] = json!(effort.batches);
    cases["batchMs"] = json!(effort.batch_ms);
    let mut child = Command::new(binary)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(cases.to_string().as_bytes())?;
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err("the peer failed".into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
