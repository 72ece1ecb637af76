//! The operator's debug endpoint, from which the page reads its trace.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use kubewright_system::listen::free_ports;

use super::extension::value_of;

const ADDRESS: &str = "debug-bind-address";
const BYTES: &str = "debug-trace-bytes";

/// How much of what happens an operator keeps for the page.
const TRACE_BYTES: usize = 8 << 20;

/// Where an operator serves its trace. It stays when the operator is started anew.
#[derive(Clone, Copy, Debug)]
pub(super) struct DebugEndpoint(SocketAddr);

impl DebugEndpoint {
    /// Where these flags say, or at a free port.
    pub(super) fn choose(given: &[String]) -> io::Result<Self> {
        let said = value_of(given, ADDRESS).and_then(|said| said.replace("localhost", "127.0.0.1").parse().ok());
        if let Some(said) = said {
            return Ok(DebugEndpoint(said));
        }
        let [free] = free_ports::<1>()?;
        Ok(DebugEndpoint(SocketAddr::from((Ipv4Addr::LOCALHOST, free))))
    }

    pub(super) fn address(self) -> SocketAddr {
        self.0
    }

    /// The flags of the operator beside these. A flag that is given twice would be refused.
    pub(super) fn flags(self, given: &[String]) -> Vec<String> {
        let own = [(ADDRESS, self.0.to_string()), (BYTES, TRACE_BYTES.to_string())];
        own.into_iter()
            .filter(|(name, _)| value_of(given, name).is_none())
            .map(|(name, value)| format!("--{name}={value}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_says_of_it_counts() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let free = DebugEndpoint::choose(&[]).unwrap();
        assert!(free.address().ip().is_loopback() && free.address().port() > 0);
        assert_eq!(
            free.flags(&[]),
            [
                format!("--debug-bind-address={}", free.address()),
                "--debug-trace-bytes=8388608".to_owned()
            ]
        );
        let given = words("-debug-bind-address localhost:7000 --debug-trace-bytes=1000");
        let said = DebugEndpoint::choose(&given).unwrap();
        assert_eq!(said.address().to_string(), "127.0.0.1:7000");
        assert_eq!(said.flags(&given), Vec::<String>::new());
    }
}
