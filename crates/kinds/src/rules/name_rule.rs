//! The rules that the names of objects follow, by kind (M11).

use kubewright_apimachinery::field::{Errors, PathRef};
use kubewright_apimachinery::names::{
    dns1035_label, dns1123_label, dns1123_subdomain, mask_trailing_dash, path_segment_name, path_segment_prefix,
};

use super::net;

/// The rule an object's own name follows (M11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// [`dns1123_subdomain`], most kinds.
    DnsSubdomain,
    /// `dns1123_label`, for example namespaces.
    DnsLabel,
    /// [`dns1035_label`].
    Dns1035Label,
    /// [`path_segment_name`], the rule every kind's names follow at least.
    PathSegment,
    /// [`path_segment_name`] for prefixes too: roles and bindings.
    StrictPathSegment,
    /// An IP address in canonical form.
    IpAddress,
    /// Any name that is a path segment: the kind itself has no rule.
    Any,
}

impl NameRule {
    /// Everything wrong with a whole name.
    pub fn name(self, name: &str) -> Vec<String> {
        match self {
            NameRule::DnsSubdomain => dns1123_subdomain(name),
            NameRule::DnsLabel => dns1123_label(name),
            NameRule::Dns1035Label => dns1035_label(name),
            NameRule::PathSegment | NameRule::StrictPathSegment => path_segment_name(name),
            NameRule::IpAddress => {
                let mut errors = Errors::new();
                net::validate_ip(&PathRef::root("name"), name, &mut errors);
                errors.into_iter().map(|error| error.detail).collect()
            }
            NameRule::Any => Vec::new(),
        }
    }

    /// Everything wrong with a prefix of names (`generateName`), which may end in a dash.
    pub fn prefix(self, prefix: &str) -> Vec<String> {
        match self {
            NameRule::PathSegment => path_segment_prefix(prefix),
            NameRule::StrictPathSegment | NameRule::IpAddress => self.name(prefix),
            _ => self.name(&mask_trailing_dash(prefix)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_trailing_dash_is_fine_in_a_prefix_and_not_in_a_name() {
        assert!(NameRule::DnsSubdomain.prefix("web-").is_empty());
        assert!(!NameRule::DnsSubdomain.name("web-").is_empty());
        assert!(!NameRule::DnsSubdomain.prefix("-").is_empty());
    }

    #[test]
    fn an_address_has_its_canonical_form() {
        assert_eq!(NameRule::IpAddress.name("10.0.0.01"), ["must not have leading 0s"]);
    }

    proptest! {
        #[test]
        fn no_name_panics(text in "\\PC{0,300}") {
            for rule in [
                NameRule::DnsSubdomain,
                NameRule::DnsLabel,
                NameRule::Dns1035Label,
                NameRule::PathSegment,
                NameRule::StrictPathSegment,
                NameRule::IpAddress,
                NameRule::Any,
            ] {
                let _ = (rule.name(&text), rule.prefix(&text));
            }
        }
    }
}
