//! The ports that processes listen on, as Linux knows them: the sockets in `/proc/net/tcp` that are among the descriptors of the processes.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::table;

/// The state of a socket that listens.
const LISTENING: &str = "0A";

/// A socket that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    address: SocketAddr,
    inode: u64,
}

/// Where to reach a port of these groups of processes: addresses at which nobody else answers. None if no process of them listens on it.
pub(super) fn addresses(groups: &BTreeSet<u32>, port: u16) -> Vec<SocketAddr> {
    let mut all = Vec::new();
    for file in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        let text = fs::read_to_string(file).unwrap_or_default();
        all.extend(text.lines().skip(1).filter_map(parse));
    }
    all.retain(|socket| socket.address.port() == port);
    if all.is_empty() {
        return Vec::new();
    }
    let own = inodes(groups);
    choose(&all, |socket| own.contains(&socket.inode))
}

/// The addresses of sockets of ours that connections to them are sure to reach.
fn choose(all: &[Socket], is_own: impl Fn(&Socket) -> bool) -> Vec<SocketAddr> {
    let candidates = all.iter().filter(|socket| is_own(socket)).flat_map(|socket| {
        let port = socket.address.port();
        let own = match socket.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
            // It may have both families, if the machine has them.
            IpAddr::V6(ip) if ip.is_unspecified() => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            ip => vec![ip],
        };
        own.into_iter().map(move |ip| SocketAddr::new(ip, port))
    });
    let mut candidates = candidates.collect::<Vec<_>>();
    candidates.sort_by_key(SocketAddr::is_ipv6);
    candidates.dedup();
    candidates.retain(|address| {
        // The socket that is bound most exactly gets the connection. All that could must be ours.
        let mut rivals = all.iter().filter(|socket| answers(socket.address.ip(), address.ip()));
        let best = rivals.clone().map(|socket| exactness(socket.address.ip())).max();
        rivals.all(|socket| Some(exactness(socket.address.ip())) < best || is_own(socket)) && best.is_some()
    });
    candidates
}

/// Whether a socket that is bound to one address may answer at another.
fn answers(bound: IpAddr, asked: IpAddr) -> bool {
    match (bound, asked) {
        (IpAddr::V4(bound), IpAddr::V4(asked)) => bound == asked || bound.is_unspecified(),
        (IpAddr::V6(bound), IpAddr::V6(asked)) => bound == asked || bound.is_unspecified(),
        (IpAddr::V6(bound), IpAddr::V4(asked)) => {
            bound.is_unspecified()
                || bound
                    .to_ipv4_mapped()
                    .is_some_and(|bound| bound == asked || bound.is_unspecified())
        }
        (IpAddr::V4(_), IpAddr::V6(_)) => false,
    }
}

/// How exactly a socket is bound: to an address, to all of its family, to all of both.
fn exactness(bound: IpAddr) -> u8 {
    match bound {
        IpAddr::V6(ip) if ip.is_unspecified() => 0,
        IpAddr::V4(ip) if ip.is_unspecified() => 1,
        _ => 2,
    }
}

/// The sockets that processes of these groups have open. What has left its group but not its session belongs to it, too.
fn inodes(groups: &BTreeSet<u32>) -> BTreeSet<u64> {
    let members =
        table::processes().filter(|process| groups.contains(&process.group) || groups.contains(&process.session));
    let links = members.flat_map(|process| fs::read_dir(format!("/proc/{}/fd", process.id)).into_iter().flatten());
    let targets = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
    let sockets = targets.filter_map(|target| {
        let inode = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        inode.parse().ok()
    });
    sockets.collect()
}

/// A line of `/proc/net/tcp`: `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode`.
fn parse(line: &str) -> Option<Socket> {
    let fields: Vec<&str> = line.split_whitespace().take(10).collect();
    let [_, local, _, state, .., inode] = fields[..] else {
        return None;
    };
    if state != LISTENING || fields.len() < 10 {
        return None;
    }
    let (ip, port) = local.split_once(':')?;
    // Each group of eight digits is four bytes of the address as a number of this machine.
    let mut bytes = Vec::new();
    for at in (0..ip.len()).step_by(8) {
        let number = u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?;
        bytes.extend(number.to_ne_bytes());
    }
    let ip: IpAddr = match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok()?.into(),
        _ => <[u8; 16]>::try_from(bytes).ok()?.into(),
    };
    Some(Socket {
        address: SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?),
        inode: inode.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_port_of_this_process_is_found_and_one_of_nobody_or_of_others_is_not() {
        let own = BTreeSet::from([u32::try_from(rustix::process::getpgrp().as_raw_nonzero().get()).unwrap()]);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let bound = listener.local_addr().unwrap();
        assert_eq!(addresses(&own, bound.port()), [bound]);
        assert_eq!(addresses(&BTreeSet::new(), bound.port()), []);
        drop(listener);
        assert_eq!(addresses(&own, bound.port()), []);
    }

    #[test]
    fn lines_of_the_table_are_read_as_they_are() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000 100 0";
        if cfg!(target_endian = "little") {
            let socket = parse(line).unwrap();
            assert_eq!(
                (socket.address, socket.inode),
                ("127.0.0.1:8080".parse().unwrap(), 4711)
            );
            let line = line.replace("0100007F:1F90", "00000000000000000000000001000000:0016");
            assert_eq!(parse(&line).unwrap().address, "[::1]:22".parse().unwrap());
        }
        assert_eq!(parse(&line.replace(" 0A ", " 01 ")), None);
        for wrong in [
            "",
            "0: 0100007F:1F90 0 0A",
            "0: zz:1 0 0A 0 0 0 0 0 1",
            "0: 01:1 0 0A 0 0 0 0 0 1",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_address_at_which_somebody_else_answers_is_not_chosen() {
        let socket = |address: &str, inode| Socket {
            address: address.parse().unwrap(),
            inode,
        };
        let choose = |all: &[Socket]| choose(all, |socket| socket.inode < 10);
        let at = |addresses: &[&str]| -> Vec<SocketAddr> {
            addresses.iter().map(|address| address.parse().unwrap()).collect()
        };
        assert_eq!(choose(&[socket("0.0.0.0:80", 1)]), at(&["127.0.0.1:80"]));
        assert_eq!(choose(&[socket("[::]:80", 1)]), at(&["127.0.0.1:80", "[::1]:80"]));
        assert_eq!(choose(&[socket("[::1]:80", 1)]), at(&["[::1]:80"]));
        assert_eq!(
            choose(&[socket("127.0.0.2:80", 1), socket("127.0.0.1:80", 10)]),
            at(&["127.0.0.2:80"])
        );
        assert_eq!(choose(&[socket("0.0.0.0:80", 1), socket("127.0.0.1:80", 10)]), at(&[]));
        assert_eq!(
            choose(&[socket("[::]:80", 1), socket("0.0.0.0:80", 10)]),
            at(&["[::1]:80"])
        );
        assert_eq!(choose(&[socket("[::]:80", 1), socket("[::]:80", 10)]), at(&[]));
        assert_eq!(choose(&[socket("127.0.0.1:80", 10)]), at(&[]));
    }
}
