//! IP addresses and CIDR blocks, with upstream's two parsers: the sloppy one for old fields (leading zeros read as
//! decimal) and the strict one that 1.36 uses for new values.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;

/// An address read the old way: leading zeros are decimal, an IPv4-mapped IPv6 address is its IPv4 address.
pub(crate) fn parse_ip_sloppy(text: &str) -> Option<IpAddr> {
    let address = parse_unmapped(text)?;
    Some(address.to_canonical())
}

fn parse_unmapped(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        parse_v6(text).map(IpAddr::V6)
    } else {
        parse_v4(text).map(IpAddr::V4)
    }
}

fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        *octet = parse_digits(parts.next()?, 255)? as u8;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

fn parse_digits(text: &str, max: u32) -> Option<u32> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.trim_start_matches('0').bytes().try_fold(0u32, |number, byte| {
        let number = number * 10 + u32::from(byte - b'0');
        (number <= max).then_some(number)
    })
}

fn parse_v6(text: &str) -> Option<Ipv6Addr> {
    // The standard parser refuses what the sloppy one reads: zeros in front of a group or an octet.
    let mut plain = String::with_capacity(text.len());
    let groups: Vec<&str> = text.split(':').collect();
    let last = groups.len() - 1;
    for (position, group) in groups.into_iter().enumerate() {
        if position > 0 {
            plain.push(':');
        }
        if position == last && group.contains('.') {
            plain.push_str(&parse_v4(group)?.to_string());
        } else if !group.is_empty() {
            let digits = group.trim_start_matches('0');
            plain.push_str(if digits.is_empty() { "0" } else { digits });
        }
    }
    plain.parse().ok()
}

/// An address block: the address as written and the number of leading bits that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    /// The address, bits behind the prefix included.
    pub address: IpAddr,
    /// The length of the prefix.
    pub prefix: u32,
}

impl Cidr {
    /// The block's first address.
    pub(crate) fn network(self) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - self.prefix).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from(u32::from(address) & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - self.prefix).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask))
            }
        }
    }

    /// Whether the block holds `address`.
    pub(crate) fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && Cidr { address, ..self }.network() == self.network()
    }

    /// The block in canonical form, bits behind the prefix cleared.
    pub(crate) fn canonical(self) -> String {
        let (network, mut prefix) = (self.network(), self.prefix);
        // A mapped block is printed as the IPv4 block it is.
        if network.is_ipv6() && network.to_canonical().is_ipv4() && prefix >= 96 {
            prefix -= 96;
        }
        format!("{}/{prefix}", network.to_canonical())
    }
}

/// A block read the old way.
pub(crate) fn parse_cidr_sloppy(text: &str) -> Option<Cidr> {
    let (address, prefix) = text.split_once('/')?;
    let address = parse_unmapped(address)?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    Some(Cidr {
        address,
        prefix: parse_digits(prefix, bits)?,
    })
}

/// A valid address of a network interface: an address with the length of its network's prefix, in canonical form.
pub(crate) fn validate_interface_address(path: &PathRef<'_>, value: &str, errors: &mut Errors) {
    let Some(Cidr { address, mut prefix }) = parse_cidr_sloppy(value) else {
        let words = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
        errors.push(FieldError::invalid(path, value, words));
        return;
    };
    let address = address.to_canonical();
    if address.is_ipv4() && prefix > 32 {
        prefix -= 96;
    }
    let canonical = format!("{address}/{prefix}");
    if value != canonical {
        let words = format!("must be in canonical form (\"{canonical}\")");
        errors.push(FieldError::invalid(path, value, words));
    }
}

const NOT_AN_IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const NOT_A_CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// A valid address in an old field: strict, but not necessarily canonical. `old` holds what the stored object already
/// has; those values stay accepted.
pub(crate) fn validate_ip_of_old_field(path: &PathRef<'_>, value: &str, old: &[&str], errors: &mut Errors) {
    if !old.contains(&value) {
        strict_ip(path, value, errors);
    }
}

/// A valid address in a new field: strict and canonical.
pub(crate) fn validate_ip(path: &PathRef<'_>, value: &str, errors: &mut Errors) {
    if let Some(address) = strict_ip(path, value, errors) {
        require_canonical(path, value, &address.to_string(), errors);
    }
}

fn strict_ip(path: &PathRef<'_>, value: &str, errors: &mut Errors) -> Option<IpAddr> {
    let Some(address) = parse_unmapped(value) else {
        errors.push(FieldError::invalid(path, value, NOT_AN_IP));
        return None;
    };
    if !is_strict(value) {
        errors.push(FieldError::invalid(path, value, "must not have leading 0s"));
        return None;
    }
    if is_mapped(address) {
        errors.push(FieldError::invalid(
            path,
            value,
            "must not be an IPv4-mapped IPv6 address",
        ));
        return None;
    }
    Some(address)
}

/// Whether the standard, strict notation was used.
fn is_strict(address: &str) -> bool {
    address.parse::<IpAddr>().is_ok()
}

fn is_mapped(address: IpAddr) -> bool {
    address.is_ipv6() && address.to_canonical().is_ipv4()
}

fn require_canonical(path: &PathRef<'_>, value: &str, canonical: &str, errors: &mut Errors) {
    if value != canonical {
        errors.push(FieldError::invalid(
            path,
            value,
            format!("must be in canonical form ({})", quote(canonical)),
        ));
    }
}

/// A valid block in an old field: strict, but not necessarily canonical. `old` is what the stored object already has.
pub(crate) fn validate_cidr_of_old_field(path: &PathRef<'_>, value: &str, old: &[&str], errors: &mut Errors) {
    if !old.contains(&value) {
        strict_cidr(path, value, errors);
    }
}

/// A valid block in a new field: strict and canonical.
pub(crate) fn validate_cidr(path: &PathRef<'_>, value: &str, errors: &mut Errors) {
    if let Some(cidr) = strict_cidr(path, value, errors) {
        require_canonical(path, value, &cidr.canonical(), errors);
    }
}

fn strict_cidr(path: &PathRef<'_>, value: &str, errors: &mut Errors) -> Option<Cidr> {
    let Some(cidr) = parse_cidr_sloppy(value) else {
        errors.push(FieldError::invalid(path, value, NOT_A_CIDR));
        return None;
    };
    let (address, prefix) = value.split_once('/').unwrap_or((value, ""));
    let complaint = if !is_strict(address) || (prefix.len() > 1 && prefix.starts_with('0')) {
        "must not have leading 0s in IP or prefix length"
    } else if is_mapped(cidr.address) {
        "must not have an IPv4-mapped IPv6 address"
    } else if cidr.network() != cidr.address {
        "must not have bits set beyond the prefix length"
    } else {
        return Some(cidr);
    };
    errors.push(FieldError::invalid(path, value, complaint));
    None
}

/// Warnings about an address that is accepted but not written the recommended way.
pub(crate) fn ip_warnings(path: &PathRef<'_>, value: &str) -> Vec<String> {
    let Some(address) = parse_unmapped(value) else {
        return Vec::new();
    };
    if !is_strict(value) || is_mapped(address) {
        let better = quote(&address.to_canonical().to_string());
        return vec![format!(
            "{path}: non-standard IP address {} is invalid: use {better}",
            quote(value)
        )];
    }
    let canonical = address.to_string();
    if address.is_ipv6() && canonical != value {
        return vec![format!(
            "{path}: IPv6 address {} should be in RFC 5952 canonical format ({})",
            quote(value),
            quote(&canonical)
        )];
    }
    Vec::new()
}

/// Warnings about a block that is accepted but not written the recommended way.
pub(crate) fn cidr_warnings(path: &PathRef<'_>, value: &str) -> Vec<String> {
    let Some(cidr) = parse_cidr_sloppy(value) else {
        return Vec::new();
    };
    let quoted = quote(value);
    let mut warnings = Vec::new();
    let bits = if cidr.address.is_ipv4() { 32 } else { 128 };
    if cidr.network() != cidr.address {
        let single = format!("{}/{bits}", cidr.address.to_canonical());
        warnings.push(format!(
            "{path}: CIDR value {quoted} is ambiguous in this context (should be {} or {}?)",
            quote(&cidr.canonical()),
            quote(&single)
        ));
    }
    let (address, prefix) = value.split_once('/').unwrap_or((value, ""));
    if !is_strict(address) || (prefix.len() > 1 && prefix.starts_with('0')) || is_mapped(cidr.address) {
        let better = quote(&cidr.canonical());
        warnings.push(format!(
            "{path}: non-standard CIDR value {quoted} is invalid: use {better}"
        ));
    }
    let canonical = format!("{}/{}", cidr.address, cidr.prefix);
    if warnings.is_empty() && cidr.address.is_ipv6() && canonical != value {
        warnings.push(format!(
            "{path}: IPv6 CIDR value {quoted} should be in RFC 5952 canonical format ({})",
            quote(&canonical)
        ));
    }
    warnings
}

#[cfg(test)]
#[path = "net_tests.rs"]
mod tests;
