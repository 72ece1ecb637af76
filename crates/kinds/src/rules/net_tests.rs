//! What the rules for addresses and blocks promise.

use super::*;

fn complaints(check: fn(&PathRef<'_>, &str, &mut Errors), value: &str) -> Vec<String> {
    let mut errors = Errors::new();
    check(&PathRef::root("ip"), value, &mut errors);
    errors.into_iter().map(|error| error.detail).collect()
}

#[test]
fn addresses_are_read_the_old_way_with_leading_zeros_as_decimal() {
    assert_eq!(
        parse_ip_sloppy("010.0.0.1").map(|ip| ip.to_string()).as_deref(),
        Some("10.0.0.1")
    );
    assert_eq!(
        parse_ip_sloppy("::ffff:1.2.3.4").map(|ip| ip.to_string()).as_deref(),
        Some("1.2.3.4")
    );
    assert_eq!(
        parse_ip_sloppy("2001:0db8::00001").map(|ip| ip.to_string()).as_deref(),
        Some("2001:db8::1")
    );
    for bad in [
        "",
        "1.2.3",
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3.-4",
        "::1%eth0",
        ":::",
        "1::2::3",
        "g::",
    ] {
        assert_eq!(parse_ip_sloppy(bad), None, "{bad}");
    }
}

#[test]
fn new_addresses_are_strict_and_canonical() {
    assert_eq!(complaints(validate_ip, "10.0.0.1"), Vec::<String>::new());
    assert_eq!(
        complaints(validate_ip, "bad"),
        ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    );
    assert_eq!(complaints(validate_ip, "10.0.0.01"), ["must not have leading 0s"]);
    assert_eq!(
        complaints(validate_ip, "::ffff:10.0.0.1"),
        ["must not be an IPv4-mapped IPv6 address"]
    );
    assert_eq!(
        complaints(validate_ip, "2001:DB8::1"),
        ["must be in canonical form (\"2001:db8::1\")"]
    );
}

#[test]
fn new_blocks_are_strict_and_canonical() {
    let words = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
    for bad in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "x/8"] {
        assert_eq!(complaints(validate_cidr, bad), [words], "{bad}");
    }
    assert_eq!(
        complaints(validate_cidr, "10.0.0.0/08"),
        ["must not have leading 0s in IP or prefix length"]
    );
    assert_eq!(
        complaints(validate_cidr, "10.0.0.1/24"),
        ["must not have bits set beyond the prefix length"]
    );
    assert_eq!(
        complaints(validate_cidr, "2001:DB8::/32"),
        ["must be in canonical form (\"2001:db8::/32\")"]
    );
    assert_eq!(complaints(validate_cidr, "0.0.0.0/0"), Vec::<String>::new());
    assert_eq!(complaints(validate_cidr, "::/0"), Vec::<String>::new());
}

#[test]
fn a_block_knows_what_it_holds() {
    let block = parse_cidr_sloppy("10.1.0.0/16").expect("a block");
    assert!(block.contains("10.1.255.255".parse().expect("an address")));
    assert!(!block.contains("10.2.0.0".parse().expect("an address")));
    assert!(!block.contains("::1".parse().expect("an address")));
}

#[test]
fn accepted_but_unusual_notations_cause_warnings() {
    let path = PathRef::root("f");
    assert_eq!(
        ip_warnings(&path, "010.0.0.1"),
        ["f: non-standard IP address \"010.0.0.1\" is invalid: use \"10.0.0.1\""]
    );
    assert_eq!(
        ip_warnings(&path, "2001:DB8::1"),
        ["f: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format (\"2001:db8::1\")"]
    );
    assert_eq!(
        cidr_warnings(&path, "10.0.0.1/24"),
        ["f: CIDR value \"10.0.0.1/24\" is ambiguous in this context (should be \"10.0.0.0/24\" or \"10.0.0.1/32\"?)"]
    );
}
