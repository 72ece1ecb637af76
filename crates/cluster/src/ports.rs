//! The ports an operator listens on: where its default ones are taken, others are found for it.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use kubewright_system::listen::free_ports;

/// A flag of the operator that names a port.
struct Port {
    flag: &'static str,
    usual: u16,
    /// The flag's value for another port.
    value: fn(u16) -> String,
    /// What listens there, with its verb.
    what: &'static str,
}

const PORTS: [Port; 3] = [
    Port {
        flag: "--health-probe-bind-address",
        usual: 8081,
        value: |port| format!(":{port}"),
        what: "health probes are",
    },
    Port {
        flag: "--debug-bind-address",
        usual: 8082,
        value: |port| format!("127.0.0.1:{port}"),
        what: "the debug page is",
    },
    Port {
        flag: "--webhook-port",
        usual: 9443,
        value: |port| port.to_string(),
        what: "webhooks are",
    },
];

/// The flags an operator needs beside those it is given, because a port is taken; and what to say of it.
pub fn flags(given: &[String], serves_webhooks: bool) -> Vec<(String, String)> {
    let others = free_ports::<{ PORTS.len() }>().map_or_else(|_| Vec::new(), Vec::from);
    flags_if(given, serves_webhooks, is_free, others)
}

fn flags_if(
    given: &[String],
    serves_webhooks: bool,
    is_free: impl Fn(u16) -> bool,
    others: Vec<u16>,
) -> Vec<(String, String)> {
    let mut flags = Vec::new();
    let mut others = others.into_iter();
    for Port {
        flag,
        usual,
        value,
        what,
    } in PORTS
    {
        let is_used = flag != "--webhook-port" || serves_webhooks;
        if !is_used || is_given(given, flag) || is_free(usual) {
            continue;
        }
        // Without another one the operator will say itself that it cannot listen.
        if let Some(other) = others.next() {
            let told = format!("port {usual} is in use: {what} on {other} ({flag})");
            flags.push((format!("{flag}={}", value(other)), told));
        }
    }
    flags
}

/// Whether a flag is among those given, with one dash or two.
fn is_given(given: &[String], flag: &str) -> bool {
    let name = flag.trim_start_matches('-');
    given.iter().any(|word| {
        let word = word.trim_start_matches('-');
        word == name || word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
    })
}

fn is_free(port: u16) -> bool {
    let everywhere = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    // A machine without IPv6 has only the other.
    let is_taken = |address: SocketAddr| {
        TcpListener::bind(address).is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
    };
    !is_taken(everywhere) && !is_taken(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_port_that_is_taken_is_replaced_unless_the_user_chose_it() {
        let found = |given: &str, serves| flags_if(&words(given), serves, |port| port == 8082, vec![5000, 5001]);
        let flags: Vec<String> = found("", true).into_iter().map(|(flag, _)| flag).collect();
        assert_eq!(flags, ["--health-probe-bind-address=:5000", "--webhook-port=5001"]);
        let flags = found("-health-probe-bind-address=:8081", false);
        assert_eq!(flags, []);
        assert!(found("--webhook-port 9443", true)[0].1.contains("port 8081 is in use"));
    }

    #[test]
    fn each_message_is_a_sentence() {
        let told = flags_if(&[], true, |_| false, vec![5000, 5001, 5002]);
        let told: Vec<&str> = told.iter().map(|(_, told)| told.as_str()).collect();
        assert_eq!(
            told,
            [
                "port 8081 is in use: health probes are on 5000 (--health-probe-bind-address)",
                "port 8082 is in use: the debug page is on 5001 (--debug-bind-address)",
                "port 9443 is in use: webhooks are on 5002 (--webhook-port)",
            ]
        );
    }

    #[test]
    fn what_listens_takes_a_port() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(!is_free(listener.local_addr().unwrap().port()));
    }
}
