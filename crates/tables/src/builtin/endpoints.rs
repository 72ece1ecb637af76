//! Where a service's traffic goes: endpoints and their slices.

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, name, with_more};
use crate::age;
use crate::read::{int, list, strings, text};
use crate::row::Cell;

/// How many addresses or ports are shown.
const MOST: usize = 3;

pub(super) fn endpoints(object: &Value, now: Timestamp) -> Vec<Cell> {
    cells![name(object), subsets(&object["subsets"]), age::of(object, now)]
}

/// Every ready address with every port; addresses alone where there are no ports.
fn subsets(subsets: &Value) -> String {
    if list(subsets).is_empty() {
        return "<none>".into();
    }
    let mut shown = Vec::new();
    let mut all = 0;
    for subset in list(subsets) {
        let addresses = list(&subset["addresses"]);
        let ports = list(&subset["ports"]);
        all += addresses.len() * ports.len().max(1);
        if ports.is_empty() {
            let room = MOST - shown.len();
            shown.extend(
                addresses
                    .iter()
                    .take(room)
                    .map(|address| text(&address["ip"]).to_owned()),
            );
        }
        for port in ports {
            let room = MOST - shown.len();
            let number = int(&port["port"]);
            shown.extend(addresses.iter().take(room).map(|address| host_port(address, number)));
        }
    }
    with_more(&shown, all, MOST)
}

fn host_port(address: &Value, port: i64) -> String {
    let ip = text(&address["ip"]);
    if ip.contains(':') {
        format!("[{ip}]:{port}")
    } else {
        format!("{ip}:{port}")
    }
}

pub(super) fn endpoint_slice(object: &Value, now: Timestamp) -> Vec<Cell> {
    let ports = list(&object["ports"]).iter().map(|port| match port["port"].as_i64() {
        Some(number) => number.to_string(),
        None => port["name"].as_str().unwrap_or("*").to_owned(),
    });
    let addresses = list(&object["endpoints"])
        .iter()
        .flat_map(|endpoint| strings(&endpoint["addresses"]))
        .map(str::to_owned);
    cells![
        name(object),
        text(&object["addressType"]),
        or_unset(ports),
        or_unset(addresses),
        age::of(object, now)
    ]
}

fn or_unset(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    let shown = with_more(&items[..items.len().min(MOST)], items.len(), MOST);
    if shown.is_empty() { "<unset>".into() } else { shown }
}
