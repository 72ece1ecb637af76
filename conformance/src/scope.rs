//! The behaviours that cases and scripts have to cover: those of `BEHAVIOURS.md` except the ones that are left out here.

/// Every id that a case must cover. Left out: H6 (protobuf), H15 (flow control), R12 (alpha), V10 (conversion of custom
/// resources), V11 (deprecated paths), D7, D10 and D11 (controllers), A13 and A14 (admission policies), A16 (audit).
pub fn of_cases() -> Vec<String> {
    expand(&[
        ("H", &[(1, 5), (7, 14)]),
        ("E", &[(1, 8)]),
        ("M", &[(1, 13)]),
        ("R", &[(1, 11)]),
        ("V", &[(1, 9)]),
        ("W", &[(1, 8)]),
        ("S", &[(1, 14)]),
        ("D", &[(1, 6), (8, 9)]),
        ("C", &[(1, 19)]),
        ("O", &[(1, 4)]),
        ("A", &[(1, 12), (15, 15)]),
        ("Z", &[(1, 6)]),
    ])
}

/// Every id that a script of kubectl must cover. Left out: U7 (exec, attach, port-forward).
pub fn of_kubectl() -> Vec<String> {
    expand(&[("U", &[(1, 6), (8, 8)])])
}

fn expand(ranges: &[(&str, &[(u8, u8)])]) -> Vec<String> {
    ranges
        .iter()
        .flat_map(|(letter, ranges)| ranges.iter().map(move |range| (letter, range)))
        .flat_map(|(letter, (first, last))| (*first..=*last).map(move |number| format!("{letter}{number}")))
        .collect()
}
