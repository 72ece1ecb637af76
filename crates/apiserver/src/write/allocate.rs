//! Cluster IPs and node ports: reserved before a Service is checked, kept once it is stored (B2).

use kubewright_kinds::service::allocate::{
    AddressRange, AllocationError, Allocator, PortRange, Transaction, ip_address,
};
use kubewright_store::Store;
use kubewright_system::clock::Clock;
use kubewright_system::random::Random;
use parking_lot::Mutex;
use serde_json::Value;

use crate::object::{self, meta_text, set_meta};
use crate::registry::{BuiltInId, Resource};
use crate::wire::status::{Result, Status};
use crate::write::managed_fields::FieldWriter;

/// The addresses and ports of a server's Services.
pub(crate) struct Allocations(Mutex<Allocator>);

/// What a write has reserved; given back unless it is kept.
pub(crate) struct Allocation<'a> {
    from: &'a Allocations,
    transaction: Option<Transaction>,
}

/// The range Services get their addresses from: `10.0.0.0/24`, as envtest has it.
pub(crate) fn service_range() -> AddressRange {
    AddressRange::new([10, 0, 0, 0].into(), 24)
}

fn is_services(resource: &Resource) -> bool {
    resource.is(BuiltInId::Services)
}

impl Allocations {
    /// What the Services and the `IPAddresses` of a store hold.
    pub(crate) fn observing(store: &Store) -> Self {
        let mut allocator = Allocator::new(service_range(), PortRange::new(30000, 32767));
        let services = BuiltInId::Services.resource();
        for record in store.snapshot(services.table).records(None, None) {
            allocator.observe(&object::to_value(services, record, record.revision));
        }
        let addresses = BuiltInId::IpAddresses.resource();
        for record in store.snapshot(addresses.table).records(None, None) {
            if let Ok(address) = record.name().parse() {
                allocator.reserve_address(address);
            }
        }
        Allocations(Mutex::new(allocator))
    }

    pub(crate) fn for_create(
        &self,
        resource: &Resource,
        object: &mut Value,
        dry_run: bool,
        random: &Random,
    ) -> Result<Allocation<'_>> {
        let mut choose = |limit: u64| random.below(usize::try_from(limit).unwrap_or(usize::MAX)) as u64;
        let begin =
            |allocator: &mut Allocator, object: &mut Value| allocator.begin_create(object, dry_run, &mut choose);
        self.begin(resource, object, dry_run, begin)
    }

    pub(crate) fn for_update(
        &self,
        resource: &Resource,
        object: &mut Value,
        old: &Value,
        dry_run: bool,
        random: &Random,
    ) -> Result<Allocation<'_>> {
        let mut choose = |limit: u64| random.below(usize::try_from(limit).unwrap_or(usize::MAX)) as u64;
        let begin =
            |allocator: &mut Allocator, object: &mut Value| allocator.begin_update(object, old, dry_run, &mut choose);
        self.begin(resource, object, dry_run, begin)
    }

    /// What a write reserves that needs no address and no port.
    pub(crate) fn nothing(&self) -> Allocation<'_> {
        Allocation {
            from: self,
            transaction: None,
        }
    }

    fn begin(
        &self,
        resource: &Resource,
        object: &mut Value,
        dry_run: bool,
        begin: impl FnOnce(&mut Allocator, &mut Value) -> std::result::Result<Transaction, AllocationError>,
    ) -> Result<Allocation<'_>> {
        if !is_services(resource) {
            return Ok(self.nothing());
        }
        let transaction = begin(&mut self.0.lock(), object).map_err(|refusal| match refusal {
            AllocationError::Invalid(errors) => {
                Status::invalid(&resource.group, &resource.kind, meta_text(object, "name"), &errors)
            }
            AllocationError::Internal(why) => Status::internal(&why),
            AllocationError::Unexpected(message) => Status::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message),
        })?;
        Ok(Allocation {
            from: self,
            transaction: (!dry_run).then_some(transaction),
        })
    }

    /// A Service is gone, and with it its hold on addresses and ports.
    pub(crate) fn release(&self, store: &Store, service: &Value) {
        let freed = self.0.lock().release(service);
        forget(store, &freed);
    }

    /// An `IPAddress` made by hand keeps its address from Services.
    pub(crate) fn reserve(&self, address: &str) {
        if let Ok(address) = address.parse() {
            self.0.lock().reserve_address(address);
        }
    }

    /// Frees the address of a deleted `IPAddress`, even if a Service still uses it.
    pub(crate) fn free(&self, address: &str) {
        if let Ok(address) = address.parse() {
            self.0.lock().free_address(address);
        }
    }
}

impl Allocation<'_> {
    /// The write was stored: what it reserved is its own, and shows as `IPAddress` objects.
    pub(crate) fn keep(mut self, store: &Store, service: &Value, clock: &Clock, random: &Random) {
        let Some(transaction) = self.transaction.take() else {
            return;
        };
        self.from.0.lock().commit(&transaction);
        forget(store, transaction.freed_addresses());
        for address in transaction.taken_addresses() {
            let object = ip_address(*address, meta_text(service, "namespace"), meta_text(service, "name"));
            remember(store, object, &clock.stamp(), random);
        }
    }
}

impl Drop for Allocation<'_> {
    fn drop(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            self.from.0.lock().revert(&transaction);
        }
    }
}

/// Stores the object that shows who holds an address.
fn remember(store: &Store, mut object: Value, time: &str, random: &Random) {
    let addresses = BuiltInId::IpAddresses.resource();
    set_meta(&mut object, "uid", random.uuid());
    set_meta(&mut object, "creationTimestamp", time);
    set_meta(&mut object, "generation", 1);
    let writer = FieldWriter {
        resource: addresses,
        subresource: None,
        manager: "kube-apiserver",
        time,
    };
    let object = writer.update_built_in(None, object);
    // An object of that name is there already only if a client made it by hand; it then shows the client's claim.
    let _ = store.create(
        addresses.table,
        meta_text(&object, "name"),
        object::to_built_in_draft(addresses, &object),
    );
}

fn forget(store: &Store, freed: &[std::net::Ipv4Addr]) {
    let addresses = BuiltInId::IpAddresses.resource();
    for address in freed {
        let name = address.to_string();
        if let Some(record) = store.get(addresses.table, &name) {
            let _ = store.delete(addresses.table, &name, record.revision);
        }
    }
}
