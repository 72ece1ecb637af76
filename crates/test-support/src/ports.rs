//! Ports for servers that a test starts by their address.

use std::net::{Ipv4Addr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that Linux and macOS hand out for port 0 and for outgoing connections, which other tests use all the time.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// Neighbouring processes begin that many ports apart.
const APART: u32 = 61;

/// A port on 127.0.0.1 that nobody listens on. A process gets each port once, and the system hands it to nobody else, so that it is
/// still free when the server under test listens on it.
///
/// # Panics
///
/// If no port is free.
pub fn free_port() -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let begin = process::id().wrapping_mul(APART) % u32::from(COUNT);
    (0..COUNT)
        .map(|_| u32::from(TAKEN.fetch_add(1, Ordering::Relaxed)))
        .map(|taken| FIRST + u16::try_from((begin + taken) % u32::from(COUNT)).expect("it is less than COUNT"))
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .expect("a port is free")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_is_another_one_and_free() {
        let ports: Vec<u16> = (0..4).map(|_| free_port()).collect();
        let listeners: Vec<_> = ports
            .iter()
            .map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)))
            .collect();
        assert!(listeners.iter().all(Result::is_ok), "{ports:?}: {listeners:?}");
    }

    #[test]
    fn a_port_that_is_listened_on_is_passed_over() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, free_port())).unwrap();
        let taken = listener.local_addr().unwrap().port();
        assert!((0..20).all(|_| free_port() != taken));
    }
}
