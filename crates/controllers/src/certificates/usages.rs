//! Usages by their names in the API: key usages as bits, extended key usages as object identifiers. Pure.

/// Key usages, by their numbers in RFC 5280.
const KEY_USAGES: [(&str, u32); 10] = [
    ("signing", 0),
    ("digital signature", 0),
    ("content commitment", 1),
    ("key encipherment", 2),
    ("data encipherment", 3),
    ("key agreement", 4),
    ("cert sign", 5),
    ("crl sign", 6),
    ("encipher only", 7),
    ("decipher only", 8),
];

/// Extended key usages, in the order in which Go writes them.
const EXTENDED: [(&str, &[u8]); 13] = [
    ("any", &[0x55, 0x1d, 0x25, 0x00]),
    ("server auth", &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01]),
    ("client auth", &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02]),
    ("code signing", &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03]),
    ("email protection", EMAIL),
    ("s/mime", EMAIL),
    ("ipsec end system", &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x05]),
    ("ipsec tunnel", &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x06]),
    ("ipsec user", &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x07]),
    ("timestamping", &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x08]),
    ("ocsp signing", &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x09]),
    (
        "microsoft sgc",
        &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x82, 0x37, 0x0a, 0x03, 0x03],
    ),
    ("netscape sgc", &[0x60, 0x86, 0x48, 0x01, 0x86, 0xf8, 0x42, 0x04, 0x01]),
];
const EMAIL: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x04];

/// The bits and the object identifiers of usages, or what is none.
pub(super) fn usages(names: &[String]) -> Result<(u16, Vec<&'static [u8]>), String> {
    let is_known = |name: &&String| {
        let mut all = KEY_USAGES
            .iter()
            .map(|(known, _)| known)
            .chain(EXTENDED.iter().map(|(known, _)| known));
        all.any(|known| known == name)
    };
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        return Err(format!("unrecognized usage values: [{unknown:?}]"));
    }
    let has = |usage: &str| names.iter().any(|name| name == usage);
    let bits = KEY_USAGES.iter().filter(|(usage, _)| has(usage));
    let bits = bits.fold(0, |bits, (_, number)| bits | 1 << number);
    let mut extended: Vec<&[u8]> = Vec::new();
    for (usage, id) in EXTENDED {
        if has(usage) && extended.last() != Some(&id) {
            extended.push(id);
        }
    }
    Ok((bits, extended))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usages_are_bits_and_identifiers_in_go_s_order() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (bits, extended) = usages(&names(&[
            "s/mime",
            "client auth",
            "cert sign",
            "server auth",
            "signing",
        ]))
        .unwrap();
        assert_eq!(bits, 0b10_0001);
        assert_eq!(extended, [EXTENDED[1].1, EXTENDED[2].1, EMAIL]);
        let both = usages(&names(&["email protection", "s/mime"])).unwrap();
        assert_eq!(both, (0, vec![EMAIL]));
        assert!(usages(&names(&["flying"])).unwrap_err().contains("flying"));
    }
}
