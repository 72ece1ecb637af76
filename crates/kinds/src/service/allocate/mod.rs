//! The cluster IPs and node ports of a cluster: what is taken, what a Service gets, what it gives back (B2).
//!
//! The server owns one [`Allocator`] and calls it around a write: [`Allocator::begin_create`] or
//! [`Allocator::begin_update`] before the strategy and validation, then [`Allocator::commit`] once the object is stored
//! or [`Allocator::revert`] if it is not, and [`Allocator::release`] once a Service is gone. A dry run reserves nothing.
//!
//! Beside each reserved address the API shows an `IPAddress` object ([`ip_address`]), and beside the range a
//! `ServiceCIDR` named `kubernetes` ([`service_cidr`]); a transaction names the addresses to add and to remove.

mod families;
mod links;
mod ports;
mod range;

use std::net::{IpAddr, Ipv4Addr};

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::{Value, json};

use super::spec::{NONE, Spec, spec_mut};
use crate::rules::net::parse_ip_sloppy;
pub use range::{AddressRange, PortRange};

/// Why an allocation failed.
#[derive(Clone, Debug, PartialEq)]
pub enum AllocationError {
    /// 422: the fields that ask for something that cannot be allocated.
    Invalid(Errors),
    /// 500 `InternalError`; the text follows `Internal error occurred: `.
    Internal(String),
    /// 500 without a reason: the text is the whole message.
    Unexpected(String),
}

/// Picks a number below its argument; where a free address or port is searched from.
pub type Choose<'a> = &'a mut dyn FnMut(u64) -> u64;

/// What one write reserved, and what it frees when it is committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    taken_addresses: Vec<Ipv4Addr>,
    freed_addresses: Vec<Ipv4Addr>,
    taken_ports: Vec<i64>,
    freed_ports: Vec<i64>,
}

impl Transaction {
    /// Addresses the write reserved: each gets an `IPAddress` object, which a revert removes again.
    pub fn taken_addresses(&self) -> &[Ipv4Addr] {
        &self.taken_addresses
    }

    /// Addresses a commit gives back: their `IPAddress` objects go with them.
    pub fn freed_addresses(&self) -> &[Ipv4Addr] {
        &self.freed_addresses
    }
}

/// The addresses and ports in use.
#[derive(Clone, Debug)]
pub struct Allocator {
    addresses: AddressRange,
    ports: PortRange,
}

impl Default for Allocator {
    /// 10.0.0.0/24, as envtest configures it, and node ports 30000-32767.
    fn default() -> Self {
        Allocator::new(
            AddressRange::new(Ipv4Addr::new(10, 0, 0, 0), 24),
            PortRange::new(30000, 32767),
        )
    }
}

impl Allocator {
    /// An allocator of the given ranges with nothing taken.
    pub fn new(addresses: AddressRange, ports: PortRange) -> Self {
        Allocator { addresses, ports }
    }

    /// The range cluster IPs come from.
    pub fn addresses(&self) -> &AddressRange {
        &self.addresses
    }

    /// The range node ports come from.
    pub fn ports(&self) -> &PortRange {
        &self.ports
    }

    /// Marks what a stored Service holds as taken; how an allocator is rebuilt from a store.
    pub fn observe(&mut self, service: &Value) {
        let (addresses, ports) = holdings(service);
        for address in addresses {
            self.addresses.insert(address);
        }
        for port in ports {
            self.ports.insert(port);
        }
    }

    /// Takes an address that an `IPAddress` written by a client names; `false` when it already was.
    pub fn reserve_address(&mut self, address: Ipv4Addr) -> bool {
        self.addresses.insert(address)
    }

    /// Frees an address whose `IPAddress` a client deleted: the object is the reservation.
    pub fn free_address(&mut self, address: Ipv4Addr) {
        self.addresses.remove(address);
    }

    /// Gives back what a deleted Service held; the addresses returned lose their `IPAddress` objects.
    pub fn release(&mut self, service: &Value) -> Vec<Ipv4Addr> {
        let (addresses, ports) = holdings(service);
        for address in &addresses {
            self.addresses.remove(*address);
        }
        for port in ports {
            self.ports.remove(port);
        }
        addresses
    }

    /// Fills in the addresses and ports that a new Service does not name, and reserves them.
    pub fn begin_create(
        &mut self,
        service: &mut Value,
        dry_run: bool,
        choose: Choose<'_>,
    ) -> Result<Transaction, AllocationError> {
        links::fill_plural(service);
        families::decide(service, None)?;
        let mut transaction = Transaction::default();
        self.finish(
            |allocator, transaction| {
                allocator.take_addresses(service, dry_run, choose, transaction)?;
                let mut ports = ports::Operation::new(&mut allocator.ports, dry_run, transaction);
                ports.create(service, choose)
            },
            dry_run,
            &mut transaction,
        )?;
        Ok(transaction)
    }

    /// Carries over what the stored Service holds, fills in what the change needs and reserves it.
    pub fn begin_update(
        &mut self,
        service: &mut Value,
        old: &Value,
        dry_run: bool,
        choose: Choose<'_>,
    ) -> Result<Transaction, AllocationError> {
        links::carry_over(service, old);
        links::relink(service, old);
        families::decide(service, Some(old))?;
        let mut transaction = Transaction::default();
        self.finish(
            |allocator, transaction| {
                allocator.update_addresses(service, old, dry_run, choose, transaction)?;
                let mut ports = ports::Operation::new(&mut allocator.ports, dry_run, transaction);
                ports.update(service, old, choose)
            },
            dry_run,
            &mut transaction,
        )?;
        Ok(transaction)
    }

    /// The write was stored: what it gave up is free. Not to be called for a dry run.
    pub fn commit(&mut self, transaction: &Transaction) {
        for address in &transaction.freed_addresses {
            self.addresses.remove(*address);
        }
        for port in &transaction.freed_ports {
            self.ports.remove(*port);
        }
    }

    /// The write was refused: what it took is free again. Not to be called for a dry run.
    pub fn revert(&mut self, transaction: &Transaction) {
        for address in &transaction.taken_addresses {
            self.addresses.remove(*address);
        }
        for port in &transaction.taken_ports {
            self.ports.remove(*port);
        }
    }

    /// Runs a reservation and undoes it whole when a part fails.
    fn finish(
        &mut self,
        reserve: impl FnOnce(&mut Self, &mut Transaction) -> Result<(), AllocationError>,
        dry_run: bool,
        transaction: &mut Transaction,
    ) -> Result<(), AllocationError> {
        let outcome = reserve(self, transaction);
        if outcome.is_err() && !dry_run {
            self.revert(transaction);
        }
        outcome
    }

    fn update_addresses(
        &mut self,
        service: &mut Value,
        old: &Value,
        dry_run: bool,
        choose: Choose<'_>,
        transaction: &mut Transaction,
    ) -> Result<(), AllocationError> {
        let (was, is) = (Spec::of(old), Spec::of(service));
        if families::unchanged_preference(is, was) {
            return Ok(());
        }
        if was.is_external_name() && !is.is_external_name() {
            return self.take_addresses(service, dry_run, choose, transaction);
        }
        if was.cluster_ips().first() == Some(&NONE) {
            return Ok(());
        }
        if !was.is_external_name() && is.is_external_name() {
            transaction.freed_addresses.extend(v4_addresses(&was.cluster_ips()));
        }
        Ok(())
    }

    /// Reserves an address per IP family; the cluster has one family.
    fn take_addresses(
        &mut self,
        service: &mut Value,
        dry_run: bool,
        choose: Choose<'_>,
        transaction: &mut Transaction,
    ) -> Result<(), AllocationError> {
        let spec = Spec::of(service);
        let mut addresses: Vec<String> = spec.cluster_ips().iter().map(ToString::to_string).collect();
        if spec.is_external_name() || addresses.first().is_some_and(|first| first == NONE) {
            return Ok(());
        }
        let Some(index) = spec
            .ip_families()
            .iter()
            .position(|family| *family == families::PRIMARY)
        else {
            return Ok(());
        };
        addresses.resize(addresses.len().max(index + 1), String::new());
        let address = if addresses[index].is_empty() {
            self.take_any_address(service, dry_run, choose)?
        } else {
            self.take_address(&addresses, index, dry_run)?
        };
        if !dry_run {
            transaction.taken_addresses.push(address);
        }
        if addresses[index].is_empty() {
            addresses[index] = address.to_string();
        }
        if let Some(spec) = spec_mut(service) {
            if index == 0 {
                spec.insert("clusterIP".into(), addresses[0].clone().into());
            }
            spec.insert("clusterIPs".into(), addresses.into());
        }
        Ok(())
    }

    fn take_any_address(
        &mut self,
        service: &Value,
        dry_run: bool,
        choose: Choose<'_>,
    ) -> Result<Ipv4Addr, AllocationError> {
        if dry_run {
            // A dry run answers with the network's own address, which nothing is ever given.
            return Ok(self.addresses.network());
        }
        self.addresses.take_any(choose).ok_or_else(|| {
            let name = kubewright_apimachinery::go::quote(
                service
                    .pointer("/metadata/name")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            );
            AllocationError::Internal(format!(
                "failed to allocate a serviceIP for Service {name}: range is full"
            ))
        })
    }

    fn take_address(&mut self, addresses: &[String], index: usize, dry_run: bool) -> Result<Ipv4Addr, AllocationError> {
        let wanted = &addresses[index];
        let Some(IpAddr::V4(parsed)) = parse_ip_sloppy(wanted) else {
            return Err(AllocationError::Internal(format!(
                "failed to parse service IP \"{wanted}\""
            )));
        };
        let problem = if !self.addresses.contains(parsed) {
            // A dry run asks the one range; a real reservation first looks for a range that holds the address.
            Some(if dry_run {
                format!(
                    "the provided IP ({parsed}) is not in the valid range. The range of valid IPs is {}",
                    self.addresses
                )
            } else {
                "the provided network does not match the current range".to_owned()
            })
        } else if !dry_run && !self.addresses.insert(parsed) {
            Some("provided IP is already allocated".to_owned())
        } else {
            None
        };
        match problem {
            None => Ok(parsed),
            Some(problem) => Err(AllocationError::Invalid(vec![FieldError::invalid(
                &PathRef::root("spec").child("clusterIPs"),
                addresses.to_vec(),
                format!("failed to allocate IP {wanted}: {problem}"),
            )])),
        }
    }
}

/// The addresses and ports a stored Service holds.
fn holdings(service: &Value) -> (Vec<Ipv4Addr>, Vec<i64>) {
    let spec = Spec::of(service);
    let cluster_ips = spec.cluster_ips();
    let addresses = if spec.is_external_name() || cluster_ips.first() == Some(&NONE) {
        Vec::new()
    } else {
        v4_addresses(&cluster_ips)
    };
    let mut ports = spec.node_ports();
    if spec.needs_health_check() && spec.number("healthCheckNodePort") > 0 {
        ports.push(spec.number("healthCheckNodePort"));
    }
    (addresses, ports)
}

fn v4_addresses(texts: &[&str]) -> Vec<Ipv4Addr> {
    let parse = |text: &&str| match parse_ip_sloppy(text) {
        Some(IpAddr::V4(address)) => Some(address),
        _ => None,
    };
    texts.iter().filter_map(parse).collect()
}

/// The `IPAddress` object that records a Service's hold on an address.
pub fn ip_address(address: Ipv4Addr, namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {
            "name": address.to_string(),
            "labels": {
                "ipaddress.kubernetes.io/ip-family": "IPv4",
                "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
            },
        },
        "spec": { "parentRef": { "resource": "services", "namespace": namespace, "name": name } },
    })
}

/// The `ServiceCIDR` object a cluster starts with; `now` is an RFC 3339 time.
pub fn service_cidr(range: &AddressRange, now: &str) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": { "name": "kubernetes" },
        "spec": { "cidrs": [range.to_string()] },
        "status": { "conditions": [{
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "",
            "message": "Kubernetes default Service CIDR is ready",
        }] },
    })
}

#[cfg(test)]
mod tests;
