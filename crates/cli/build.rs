//! Packs the relocations of the command where its system can read them. Unpacked they are 24 bytes for each pointer in a table, all of which
//! the loader reads: some megabytes of every process, also of those that do little, such as `etcd` of the drop-in for envtest.

use std::env;
use std::process::Command;

/// The first version of glibc that reads packed relocations (`DT_RELR`).
const GLIBC: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let of_target = |name| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let can_read = match (of_target("OS").as_str(), of_target("ENV").as_str()) {
        ("linux", "musl") => true,
        ("linux", "gnu") => {
            env::var("TARGET") == env::var("HOST") && glibc_of_this_machine().is_some_and(|found| found >= GLIBC)
        }
        _ => false,
    };
    if can_read {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

fn glibc_of_this_machine() -> Option<(u32, u32)> {
    let answer = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
