//! The program that the tests of processes load as an image.

#[cfg(unix)]
mod roles;

fn main() {
    #[cfg(unix)]
    roles::run();
}
