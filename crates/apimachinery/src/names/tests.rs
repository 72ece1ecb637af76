//! What the rules for names promise, in the words of Kubernetes.

use proptest::prelude::*;
use regex::Regex;

use super::*;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

#[test]
fn a_label_with_dots_is_told_so_and_other_faults_are_shown_the_rule() {
    assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
    assert_eq!(dns1123_label("A"), [LABEL]);
    assert_eq!(dns1123_label(""), [LABEL]);
    assert_eq!(dns1123_label(&"a".repeat(64)), ["must be no more than 63 characters"]);
    assert!(dns1123_label("0-a").is_empty());
}

#[test]
fn a_subdomain_is_labels_joined_by_dots() {
    for good in ["a", "a.b-c.0", &"a".repeat(253)] {
        assert!(dns1123_subdomain(good).is_empty(), "{good}");
    }
    for bad in ["", ".", "a.", ".a", "a..b", "a-.b", "A", "a_b", "ä"] {
        assert_eq!(dns1123_subdomain(bad).len(), 1, "{bad}");
    }
    assert_eq!(
        dns1123_subdomain(&"a".repeat(254)),
        ["must be no more than 253 characters"]
    );
}

#[test]
fn a_dns_1035_label_starts_with_a_letter() {
    assert!(dns1035_label("a1").is_empty());
    assert_eq!(
        dns1035_label("1a"),
        [
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
        ]
    );
}

#[test]
fn a_qualified_name_counts_bytes() {
    assert_eq!(
        qualified_name(&"a".repeat(64)),
        ["name part must be no more than 63 bytes"]
    );
    assert_eq!(
        qualified_name(&format!("{}/a", "a".repeat(254))),
        ["prefix part must be no more than 253 bytes"]
    );
    assert!(qualified_name("example.com/My_Name.1").is_empty());
    assert_eq!(label_value(&"a".repeat(64)), ["must be no more than 63 bytes"]);
    assert!(label_value("").is_empty());
}

#[test]
fn a_port_name_is_told_everything_at_once() {
    assert_eq!(
        port_name("-80--80-port-name-"),
        [
            "must be no more than 15 characters",
            "must not contain consecutive hyphens",
            "must not begin or end with a hyphen",
        ]
    );
    assert_eq!(
        port_name(""),
        [
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
            "must contain at least one letter (a-z)",
        ]
    );
    assert!(port_name("http2").is_empty());
    assert_eq!(port_number(0), ["must be between 1 and 65535, inclusive"]);
}

#[test]
fn environment_variables_have_printable_names_without_an_equals_sign() {
    assert!(env_var_name("1 weird-name.").is_empty());
    assert_eq!(env_var_name(""), ["environment variable name must be non-empty"]);
    for bad in ["a=b", "ä", "a\n"] {
        assert_eq!(env_var_name(bad).len(), 1, "{bad}");
    }
}

#[test]
fn small_formats_are_recognised() {
    assert!(percent("93%").is_empty() && !percent("%").is_empty() && !percent("93").is_empty());
    assert!(c_identifier("_a1").is_empty() && !c_identifier("1a").is_empty() && !c_identifier("").is_empty());
    assert!(
        decimal_integer("-12").is_empty() && !decimal_integer("012").is_empty() && !decimal_integer("-").is_empty()
    );
    assert!(decimal_integer("0").is_empty() && !decimal_integer("-0").is_empty());
    assert!(condition_reason("A:b_").is_empty() && !condition_reason("1").is_empty());
    assert!(wildcard_dns1123_subdomain("*.a.b").is_empty() && !wildcard_dns1123_subdomain("*a").is_empty());
    assert!(http_header_name("X-A").is_empty() && !http_header_name("X_A").is_empty());
    assert!(dns1123_subdomain_with_underscore("_tcp.a_b").is_empty());
    assert_eq!(path_segment_name(".."), ["may not be '..'"]);
    assert_eq!(
        path_segment_name("a/b%"),
        ["may not contain '/'", "may not contain '%'"]
    );
}

type Matcher = fn(&str) -> bool;

/// The rules that are one regular expression, with upstream's expression.
const EXPRESSIONS: [(Matcher, &str); 13] = [
    (has_label_form, DNS1123_LABEL),
    (has_subdomain_form, DNS1123_SUBDOMAIN),
    (is_label_key_part, LABEL_KEY),
    (|text| dns1035_label(text).is_empty(), "[a-z]([-a-z0-9]*[a-z0-9])?"),
    (
        |text| label_value(text).is_empty(),
        "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
    ),
    (
        |text| dns1123_subdomain_with_underscore(text).is_empty(),
        r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*",
    ),
    (
        |text| wildcard_dns1123_subdomain(text).is_empty(),
        r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    ),
    (|text| c_identifier(text).is_empty(), "[A-Za-z_][A-Za-z0-9_]*"),
    (|text| percent(text).is_empty(), "[0-9]+%"),
    (|text| http_header_name(text).is_empty(), "[-A-Za-z0-9]+"),
    (
        |text| condition_reason(text).is_empty(),
        "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?",
    ),
    (is_http_path, HTTP_PATH),
    (|text| decimal_integer(text).is_empty(), "0|-?[1-9][0-9]*"),
];

proptest! {
    #[test]
    fn hand_written_matchers_agree_with_upstreams_expressions(text in "[-aA0_.,:/%*=~ é\n1z]{0,12}") {
        for (matches, expression) in EXPRESSIONS {
            let regex = Regex::new(&format!("^(?:{expression})$")).expect("an expression");
            prop_assert_eq!(matches(&text), regex.is_match(&text), "{} on {:?}", expression, text);
        }
    }

    #[test]
    fn no_name_panics(text in "\\PC{0,300}") {
        for rule in [dns1123_label, dns1123_subdomain, dns1035_label, path_segment_name] {
            let _ = (rule(&text), rule(&mask_trailing_dash(&text)));
        }
        let _ = (qualified_name(&text), config_map_key(&text), env_var_name(&text), port_name(&text));
    }

    #[test]
    fn the_predicates_agree_with_the_messages(text in "[-aA0_./é]{0,8}", times in 0_usize..300) {
        for text in [text.clone(), text.repeat(times), format!("{}/{text}", text.repeat(times)), "a".repeat(times)] {
            prop_assert_eq!(is_dns1123_label(&text), dns1123_label(&text).is_empty());
            prop_assert_eq!(is_dns1123_subdomain(&text), dns1123_subdomain(&text).is_empty());
            prop_assert_eq!(is_dns1035_label(&text), dns1035_label(&text).is_empty());
            prop_assert_eq!(is_qualified_name(&text), qualified_name(&text).is_empty());
            prop_assert_eq!(is_label_value(&text), label_value(&text).is_empty());
        }
    }
}
