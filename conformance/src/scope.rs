//! The behaviours that must each be covered by a case: those of `BEHAVIOURS.md` without what later work brings.

/// Every id in scope. Left out: H6 (protobuf), H7 (Tables), H15 (flow control), E8 (RBAC), R12 (alpha), V10 (custom
/// resources), V11 (deprecated paths), D7, D10 and D11 (controllers).
pub fn ids() -> Vec<String> {
    const RANGES: [(&str, &[(u8, u8)]); 8] = [
        ("H", &[(1, 5), (8, 14)]),
        ("E", &[(1, 7)]),
        ("M", &[(1, 13)]),
        ("R", &[(1, 11)]),
        ("V", &[(1, 9)]),
        ("W", &[(1, 8)]),
        ("S", &[(1, 14)]),
        ("D", &[(1, 6), (8, 9)]),
    ];
    RANGES
        .iter()
        .flat_map(|(letter, ranges)| ranges.iter().map(move |range| (letter, range)))
        .flat_map(|(letter, (first, last))| (*first..=*last).map(move |number| format!("{letter}{number}")))
        .collect()
}
