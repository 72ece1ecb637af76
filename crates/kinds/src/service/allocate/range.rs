//! Bounded pools of addresses and ports. The upper part is handed out first, so that small numbers people like to pick
//! by hand stay free for them (KEP-3070, KEP-3668).

use std::collections::BTreeSet;
use std::fmt;
use std::net::Ipv4Addr;

use super::Choose;

/// An IPv4 block and the addresses of it that are taken.
#[derive(Clone, Debug)]
pub struct AddressRange {
    network: u32,
    prefix: u8,
    pool: Pool,
}

impl AddressRange {
    /// The block `network/prefix`; host bits of `network` are ignored and the prefix is at most 30.
    pub fn new(network: Ipv4Addr, prefix: u8) -> Self {
        let prefix = prefix.min(30);
        let size = 1u64 << (32 - u32::from(prefix));
        let network = u32::from(network) & u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
        let reserved = if size <= 16 { 0 } else { (size / 16).clamp(16, 256) };
        // Neither the network's nor the broadcast address is handed out.
        let first = u64::from(network) + 1;
        AddressRange {
            network,
            prefix,
            pool: Pool::new(first, u64::from(network) + size - 2, reserved),
        }
    }

    /// The first address of the block, which is never handed out.
    pub fn network(&self) -> Ipv4Addr {
        Ipv4Addr::from(self.network)
    }

    /// Whether the address can be handed out.
    pub fn contains(&self, address: Ipv4Addr) -> bool {
        self.pool.contains(u64::from(u32::from(address)))
    }

    /// Whether the address is taken.
    pub fn is_taken(&self, address: Ipv4Addr) -> bool {
        self.pool.taken.contains(&u64::from(u32::from(address)))
    }

    /// Takes the address; `false` when it already was.
    pub fn insert(&mut self, address: Ipv4Addr) -> bool {
        self.pool.taken.insert(u64::from(u32::from(address)))
    }

    /// Frees the address.
    pub fn remove(&mut self, address: Ipv4Addr) {
        self.pool.taken.remove(&u64::from(u32::from(address)));
    }

    pub(super) fn take_any(&mut self, choose: Choose<'_>) -> Option<Ipv4Addr> {
        let address = self.pool.take_any(choose)?;
        u32::try_from(address).ok().map(Ipv4Addr::from)
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network(), self.prefix)
    }
}

/// The node ports and which of them are taken.
#[derive(Clone, Debug)]
pub struct PortRange {
    pool: Pool,
}

impl PortRange {
    /// The ports from `first` to `last`, both included.
    pub fn new(first: u16, last: u16) -> Self {
        let size = u64::from(last.saturating_sub(first)) + 1;
        let reserved = if size <= 16 { 0 } else { (size / 32).clamp(16, 128) };
        PortRange {
            pool: Pool::new(u64::from(first), u64::from(first.max(last)), reserved),
        }
    }

    /// Whether the port is one of the range.
    pub fn contains(&self, port: i64) -> bool {
        u64::try_from(port).is_ok_and(|port| self.pool.contains(port))
    }

    /// Whether the port is taken.
    pub fn is_taken(&self, port: i64) -> bool {
        u64::try_from(port).is_ok_and(|port| self.pool.taken.contains(&port))
    }

    /// Takes the port; `false` when it already was or is none of the range.
    pub fn insert(&mut self, port: i64) -> bool {
        self.contains(port) && u64::try_from(port).is_ok_and(|port| self.pool.taken.insert(port))
    }

    /// Frees the port.
    pub fn remove(&mut self, port: i64) {
        if let Ok(port) = u64::try_from(port) {
            self.pool.taken.remove(&port);
        }
    }

    pub(super) fn take_any(&mut self, choose: Choose<'_>) -> Option<i64> {
        self.pool.take_any(choose).and_then(|port| i64::try_from(port).ok())
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.pool.first, self.pool.last)
    }
}

/// Numbers from `first` to `last`; those below `upper` are handed out only when the others are gone.
#[derive(Clone, Debug)]
struct Pool {
    first: u64,
    last: u64,
    upper: u64,
    taken: BTreeSet<u64>,
}

impl Pool {
    fn new(first: u64, last: u64, reserved: u64) -> Self {
        Pool {
            first,
            last,
            upper: first + reserved,
            taken: BTreeSet::new(),
        }
    }

    fn contains(&self, number: u64) -> bool {
        (self.first..=self.last).contains(&number)
    }

    fn take_any(&mut self, choose: Choose<'_>) -> Option<u64> {
        let found = self.free_between(self.upper, self.last, choose).or_else(|| {
            if self.upper > self.first {
                self.free_between(self.first, self.upper - 1, choose)
            } else {
                None
            }
        })?;
        self.taken.insert(found);
        Some(found)
    }

    /// The first free number at or after a chosen one, going round once.
    fn free_between(&self, first: u64, last: u64, choose: Choose<'_>) -> Option<u64> {
        if first > last {
            return None;
        }
        let start = first + choose(last - first + 1).min(last - first);
        self.first_free(start, last).or_else(|| {
            if start > first {
                self.first_free(first, start - 1)
            } else {
                None
            }
        })
    }

    /// Walks the taken numbers, not the range: the search is as long as the first run of them.
    fn first_free(&self, first: u64, last: u64) -> Option<u64> {
        let mut candidate = first;
        for taken in self.taken.range(first..=last) {
            if *taken != candidate {
                break;
            }
            candidate += 1;
        }
        (candidate <= last).then_some(candidate)
    }
}
