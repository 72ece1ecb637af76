//! Quoting, numbers and values, equal to what Go wrote (`conformance/upstream/text`).

use kubewright_apimachinery::go::quote::{
    code_point, is_printable, list_syntax, quote, quote_bytes, quote_for_time, quote_list,
};
use kubewright_apimachinery::go::value::{Numbers, json_kind, plain, syntax, type_name};
use kubewright_apimachinery::go::{float, json};

use crate::tables::{bits, bytes, rows};

#[test]
fn strings_are_quoted_as_go_quotes_them() {
    let mut count = 0;
    for [input, quoted, in_json, for_time] in rows(include_str!("../recorded/quote.tsv")) {
        let input = bytes(input);
        assert_eq!(quote_bytes(&input), quoted);
        if let Ok(text) = std::str::from_utf8(&input) {
            assert_eq!(quote(text), quoted);
            assert_eq!(quote_for_time(text), for_time);
            let mut out = String::new();
            json::write_string(text, &mut out);
            assert_eq!(out, in_json);
            assert_eq!(json::string_length(text), in_json.len(), "{in_json}");
        } else {
            assert_eq!(in_json, "-");
        }
        count += 1;
    }
    assert!(count > 2000, "{count}");
}

#[test]
fn every_single_character_is_quoted_as_go_quotes_it() {
    let mut blocks = 0;
    for [first, digest, printable] in rows(include_str!("../recorded/characters.tsv")) {
        let first = u32::from_str_radix(first, 16).unwrap();
        let characters = (first..first + 0x1000).filter_map(char::from_u32);
        let (mut hash, mut count) = (Fnv1a::default(), 0);
        for c in characters {
            hash.add(quote(c.encode_utf8(&mut [0; 4])).as_bytes());
            count += usize::from(is_printable(c));
        }
        assert_eq!(count.to_string(), printable, "characters from {first:#x}");
        assert_eq!(format!("{:016x}", hash.0), digest, "characters from {first:#x}");
        blocks += 1;
    }
    assert_eq!(blocks, 0x110);
}

struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Fnv1a(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

#[test]
fn characters_have_the_numbers_that_go_prints() {
    for [character, printed] in rows(include_str!("../recorded/points.tsv")) {
        let text = String::from_utf8(bytes(character)).unwrap();
        assert_eq!(text.chars().map(code_point).collect::<Vec<_>>(), [printed]);
    }
}

#[test]
fn lists_are_quoted_as_go_quotes_them() {
    for [items, quoted, in_syntax] in rows(include_str!("../recorded/lists.tsv")) {
        let items: Result<Vec<String>, _> = items
            .split('.')
            .skip(1)
            .map(|item| String::from_utf8(bytes(item)))
            .collect();
        // Lists with bytes of no character are not printed by anyone.
        let Ok(items) = items else { continue };
        assert_eq!(quote_list(&items), quoted);
        assert_eq!(list_syntax(&items), in_syntax);
    }
}

#[test]
fn an_unexpected_byte_is_quoted_as_the_decoder_quotes_it() {
    for [byte, quoted] in rows(include_str!("../recorded/bytes.tsv")) {
        assert_eq!(json::quote_byte(bytes(byte)[0]), quoted);
    }
}

#[test]
fn floats_are_printed_as_go_prints_them() {
    let mut count = 0;
    for [number, general, positional, in_json, as_32] in rows(include_str!("../recorded/floats.tsv")) {
        let number = bits(number);
        assert_eq!(float::general(number), general);
        if positional != "-" {
            assert_eq!(float::positional(number), positional);
        }
        if number.is_finite() {
            let mut out = Vec::new();
            float::write_json(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), in_json);
        } else {
            assert_eq!(in_json, "-");
        }
        assert_eq!(float::general_32(number as f32), as_32, "{general}");
        count += 1;
    }
    assert!(count > 3000, "{count}");
}

#[test]
fn floats_are_rounded_as_go_rounds_them() {
    for [number, digits, fixed, scientific] in rows(include_str!("../recorded/rounded.tsv")) {
        let (number, digits) = (bits(number), digits.parse().unwrap());
        assert_eq!(float::fixed(number, digits), fixed, "{number:e} {digits}");
        assert_eq!(float::scientific(number, digits), scientific, "{number:e} {digits}");
    }
}

#[test]
fn values_are_named_and_printed_as_go_does() {
    for [document, expected_kind, rest @ ..] in rows::<8>(include_str!("../recorded/values.tsv")) {
        let value: serde_json::Value = serde_json::from_str(document).unwrap();
        if expected_kind != "-" {
            assert_eq!(json_kind(&value), expected_kind);
        }
        for (numbers, expected) in [(Numbers::Float64, &rest[..3]), (Numbers::Int64, &rest[3..])] {
            let printed = [
                type_name(&value, numbers).to_owned(),
                plain(&value, numbers),
                syntax(&value, numbers),
            ];
            assert_eq!(printed, expected, "{document} {numbers:?}");
        }
    }
}
