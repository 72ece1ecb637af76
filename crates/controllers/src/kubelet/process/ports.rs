//! The ports of this machine that processes listen on: all Pods share them, so each belongs to one Pod at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, TcpListener};

use k8s_openapi::api::core::v1::Container;
use kubewright_runtime::object::ObjectKey;

/// The Pod of each port, and the Pods that wait for one.
#[derive(Debug, Default)]
pub(super) struct Ports {
    held: BTreeMap<u16, ObjectKey>,
    waiting: BTreeSet<ObjectKey>,
}

/// Why a container cannot have its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PortConflict {
    /// A process of this Pod has one.
    Pod(u16, ObjectKey),
    /// Another program has one.
    OtherProgram(u16),
}

/// The ports that a container says it listens on.
pub(super) fn of(container: &Container) -> Vec<u16> {
    let ports = container.ports.iter().flatten();
    let tcp = ports.filter(|port| port.protocol.as_deref().is_none_or(|protocol| protocol == "TCP"));
    tcp.filter_map(|port| u16::try_from(port.container_port).ok()).collect()
}

impl Ports {
    /// Gives a Pod these ports, or none.
    pub(super) fn claim(
        &mut self,
        pod: &ObjectKey,
        ports: &[u16],
        is_free: impl Fn(u16) -> bool,
    ) -> Result<(), PortConflict> {
        for port in ports {
            let conflict = match self.held.get(port) {
                // If two containers of a Pod have the same port, the second fails to listen, and its log says so.
                Some(holder) if holder == pod => continue,
                Some(holder) => PortConflict::Pod(*port, holder.clone()),
                None if is_free(*port) => continue,
                None => PortConflict::OtherProgram(*port),
            };
            self.waiting.insert(pod.clone());
            return Err(conflict);
        }
        self.waiting.remove(pod);
        self.held.extend(ports.iter().map(|port| (*port, pod.clone())));
        Ok(())
    }

    /// Takes ports back. Those who wait for some may try again.
    pub(super) fn release(&mut self, pod: &ObjectKey, ports: &[u16]) -> Vec<ObjectKey> {
        if ports.is_empty() {
            return Vec::new();
        }
        for port in ports {
            if self.held.get(port) == Some(pod) {
                self.held.remove(port);
            }
        }
        std::mem::take(&mut self.waiting).into_iter().collect()
    }

    /// Whether a port is a Pod's.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn is_held_by(&self, pod: &ObjectKey, port: u16) -> bool {
        self.held.get(&port) == Some(pod)
    }

    /// Removes a deleted Pod from those that wait.
    pub(super) fn forget(&mut self, pod: &ObjectKey) {
        self.waiting.remove(pod);
    }
}

/// Whether a port of this machine is free.
pub(super) fn is_free(port: u16) -> bool {
    let is_taken = |address: Ipv4Addr| {
        let bound = TcpListener::bind((address, port));
        bound.is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
    };
    !is_taken(Ipv4Addr::LOCALHOST) && !is_taken(Ipv4Addr::UNSPECIFIED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_pods_until_it_gives_it_back() {
        let (one, two) = (ObjectKey::namespaced("a", "one"), ObjectKey::namespaced("a", "two"));
        let mut ports = Ports::default();
        let free = |_: u16| true;
        assert_eq!(ports.claim(&one, &[80, 81], free), Ok(()));
        assert_eq!(ports.claim(&one, &[80], free), Ok(()));
        assert_eq!(
            ports.claim(&two, &[79, 81], free),
            Err(PortConflict::Pod(81, one.clone()))
        );
        assert_eq!(
            ports.claim(&two, &[79], |port| port != 79),
            Err(PortConflict::OtherProgram(79))
        );
        assert_eq!(ports.release(&one, &[80, 81]).as_slice(), std::slice::from_ref(&two));
        assert_eq!(ports.claim(&two, &[79, 81], free), Ok(()));
    }

    #[test]
    fn a_port_somebody_listens_on_is_not_free() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(!is_free(port));
        drop(listener);
        assert!(is_free(port));
    }
}
