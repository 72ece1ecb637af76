//! The node ports of one write: reserved at once, freed when it is stored.

use std::collections::BTreeMap;

use kubewright_apimachinery::field::{FieldError, PathRef};
use serde_json::Value;

use super::range::PortRange;
use super::{AllocationError, Choose, Transaction};
use crate::service::spec::{Spec, int, spec_mut, text};

const TAKEN: &str = "provided port is already allocated";

/// What a dry run pretends to be the last port handed out.
const DRY_RUN_LAST: i64 = 32768;

pub(super) struct Operation<'a> {
    range: &'a mut PortRange,
    dry_run: bool,
    transaction: &'a mut Transaction,
}

impl<'a> Operation<'a> {
    pub(super) fn new(range: &'a mut PortRange, dry_run: bool, transaction: &'a mut Transaction) -> Self {
        Operation {
            range,
            dry_run,
            transaction,
        }
    }

    /// Ports for a new Service: those it asks for, and one per port number for the rest, whatever the protocol.
    pub(super) fn create(&mut self, service: &mut Value, choose: Choose<'_>) -> Result<(), AllocationError> {
        if matches!(Spec::of(service).service_type(), "NodePort" | "LoadBalancer") {
            let allocate = Spec::of(service).needs_node_ports();
            let mut ports = take_ports(service);
            let outcome = self.create_ports(&mut ports, allocate, choose);
            put_ports(service, ports);
            outcome?;
        }
        if Spec::of(service).needs_health_check() {
            self.health_check(service, choose)?;
        }
        Ok(())
    }

    fn create_ports(&mut self, ports: &mut [Value], allocate: bool, choose: Choose<'_>) -> Result<(), AllocationError> {
        let mut by_port: BTreeMap<i64, i64> = BTreeMap::new();
        for index in 0..ports.len() {
            let (number, own) = (int(&ports[index], "port"), int(&ports[index], "nodePort"));
            if own == 0 && !allocate {
                continue;
            }
            match by_port.get(&number).copied() {
                None => {
                    let wanted = ports
                        .iter()
                        .find(|port| int(port, "port") == number && int(port, "nodePort") != 0)
                        .map_or(0, |port| int(port, "nodePort"));
                    let given = if wanted == 0 {
                        self.any(choose)?
                    } else {
                        self.reserve(wanted, index)?
                    };
                    set_node_port(&mut ports[index], given);
                    by_port.insert(number, given);
                }
                Some(shared) if own == 0 => set_node_port(&mut ports[index], shared),
                Some(shared) if own != shared => {
                    self.reserve(own, index)?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Ports for a changed Service: reserves those that it newly names, fills in missing ones and frees those that it no
    /// longer names.
    pub(super) fn update(
        &mut self,
        service: &mut Value,
        old: &Value,
        choose: Choose<'_>,
    ) -> Result<(), AllocationError> {
        let (was, is) = (Spec::of(old), Spec::of(service));
        let uses_ports = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
        if uses_ports(was.service_type()) && matches!(is.service_type(), "ExternalName" | "ClusterIP") {
            self.transaction.freed_ports.extend(was.node_ports());
        }
        if uses_ports(is.service_type()) {
            let allocate = is.needs_node_ports();
            let held = was.node_ports();
            let mut ports = take_ports(service);
            let outcome = self.update_ports(&mut ports, &held, allocate, choose);
            put_ports(service, ports);
            outcome?;
            let kept = Spec::of(service).node_port_set();
            self.transaction
                .freed_ports
                .extend(held.into_iter().filter(|port| !kept.contains(port)));
        }
        let needs_check = Spec::of(service).needs_health_check();
        match (was.needs_health_check(), needs_check) {
            (false, true) => self.health_check(service, choose)?,
            (true, false) => self.transaction.freed_ports.push(was.number("healthCheckNodePort")),
            _ => {}
        }
        Ok(())
    }

    fn update_ports(
        &mut self,
        ports: &mut [Value],
        held: &[i64],
        allocate: bool,
        choose: Choose<'_>,
    ) -> Result<(), AllocationError> {
        let mut seen: Vec<(String, i64)> = Vec::new();
        let mut reserved: Vec<i64> = Vec::new();
        for (index, port) in ports.iter_mut().enumerate() {
            let mut own = int(port, "nodePort");
            if own == 0 && !allocate {
                continue;
            }
            if own == 0 {
                own = self.any(choose)?;
                set_node_port(port, own);
            } else if !held.contains(&own) && !reserved.contains(&own) {
                self.reserve(own, index)?;
                reserved.push(own);
            }
            let entry = (text(port, "protocol").to_owned(), own);
            if seen.contains(&entry) {
                return Err(AllocationError::Unexpected(format!(
                    "duplicate nodePort: {{{} {}}}",
                    entry.0, entry.1
                )));
            }
            seen.push(entry);
        }
        Ok(())
    }

    fn health_check(&mut self, service: &mut Value, choose: Choose<'_>) -> Result<(), AllocationError> {
        let wanted = Spec::of(service).number("healthCheckNodePort");
        if wanted != 0 {
            return self.take(wanted).map_err(|problem| {
                AllocationError::Internal(format!(
                    "failed to allocate requested HealthCheck NodePort {wanted}: {problem}"
                ))
            });
        }
        let given = self.next(choose).ok_or_else(|| {
            AllocationError::Internal("failed to allocate a HealthCheck NodePort 0: range is full".to_owned())
        })?;
        if let Some(spec) = spec_mut(service) {
            spec.insert("healthCheckNodePort".into(), given.into());
        }
        Ok(())
    }

    fn reserve(&mut self, port: i64, index: usize) -> Result<i64, AllocationError> {
        self.take(port).map(|()| port).map_err(|problem| {
            let (spec, ports) = (PathRef::root("spec"), "ports");
            let path = spec.child(ports);
            AllocationError::Invalid(vec![FieldError::invalid(
                &path.index(index).child("nodePort"),
                port,
                problem,
            )])
        })
    }

    fn any(&mut self, choose: Choose<'_>) -> Result<i64, AllocationError> {
        self.next(choose)
            .ok_or_else(|| AllocationError::Internal("failed to allocate a nodePort: range is full".to_owned()))
    }

    /// A dry run looks only at what is taken, not at the range.
    fn take(&mut self, port: i64) -> Result<(), String> {
        if self.dry_run {
            if self.range.is_taken(port) || self.transaction.taken_ports.contains(&port) {
                return Err(TAKEN.to_owned());
            }
        } else if !self.range.contains(port) {
            let range = &self.range;
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {range}"
            ));
        } else if !self.range.insert(port) {
            return Err(TAKEN.to_owned());
        }
        self.transaction.taken_ports.push(port);
        Ok(())
    }

    fn next(&mut self, choose: Choose<'_>) -> Option<i64> {
        let port = if self.dry_run {
            self.transaction
                .taken_ports
                .iter()
                .max()
                .copied()
                .unwrap_or(DRY_RUN_LAST)
                + 1
        } else {
            self.range.take_any(choose)?
        };
        self.transaction.taken_ports.push(port);
        Some(port)
    }
}

fn set_node_port(port: &mut Value, number: i64) {
    if let Some(port) = port.as_object_mut() {
        port.insert("nodePort".into(), number.into());
    }
}

fn take_ports(service: &mut Value) -> Vec<Value> {
    spec_mut(service)
        .and_then(|spec| spec.get_mut("ports"))
        .and_then(Value::as_array_mut)
        .map(std::mem::take)
        .unwrap_or_default()
}

fn put_ports(service: &mut Value, ports: Vec<Value>) {
    if let Some(slot) = spec_mut(service)
        .and_then(|spec| spec.get_mut("ports"))
        .and_then(Value::as_array_mut)
    {
        *slot = ports;
    }
}
