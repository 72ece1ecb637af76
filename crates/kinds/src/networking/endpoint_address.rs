//! Addresses that traffic is sent to.

use std::net::IpAddr;

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};

use crate::rules::net::parse_ip_sloppy;

/// Refuses unspecified, loopback, link-local and link-local multicast addresses.
pub(crate) fn validate(text: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(address) = parse_ip_sloppy(text) else {
        errors.push(FieldError::invalid(path, text, "must be a valid IP address"));
        return;
    };
    let (link_local, link_local_multicast) = match address {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => {
            let first = v6.segments()[0];
            (first & 0xffc0 == 0xfe80, first & 0xff0f == 0xff02)
        }
    };
    let mut refuse = |detail: String| errors.push(FieldError::invalid(path, text, detail));
    if address.is_unspecified() {
        refuse(format!("may not be unspecified ({text})"));
    }
    if address.is_loopback() {
        refuse("may not be in the loopback range (127.0.0.0/8, ::1/128)".into());
    }
    if link_local {
        refuse("may not be in the link-local range (169.254.0.0/16, fe80::/10)".into());
    }
    if link_local_multicast {
        refuse("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".into());
    }
}
