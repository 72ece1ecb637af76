//! Patterns that Go refuses, patterns that it compiles and what they match, and patterns that would exhaust memory or stack.

use kubewright_re2::{compile, mistake};

const MEMORY: usize = 32 << 20;

fn matches(pattern: &str, text: &str) -> bool {
    match compile(pattern, MEMORY) {
        Ok(regex) => regex.is_match(text),
        Err(why) => panic!("{pattern}: {why}"),
    }
}

/// Recorded from Go's regexp package: the pattern, and what follows `error parsing regexp: `.
const REFUSED: &[(&str, &str)] = &[
    (r"\p{Old_Italic}", r"invalid character class range: `\p{Old_Italic}`"),
    (r"a{2}{3}", r"invalid nested repetition operator: `{2}{3}`"),
    (r"a**", r"invalid nested repetition operator: `**`"),
    (r"(a", r"missing closing ): `(a`"),
    (r"a)", r"unexpected ): `a)`"),
    (r"[a", r"missing closing ]: `[a`"),
    (r"[b-a]", r"invalid character class range: `b-a`"),
    (r"\8", r"invalid escape sequence: `\8`"),
    (r"\1", r"invalid escape sequence: `\1`"),
    (r"*a", r"missing argument to repetition operator: `*`"),
    (r"a|*", r"missing argument to repetition operator: `*`"),
    (r"(?=a)", r"invalid or unsupported Perl syntax: `(?=`"),
    (r"(?!a)", r"invalid or unsupported Perl syntax: `(?!`"),
    (r"x{1001}", r"invalid repeat count: `{1001}`"),
    (r"(x{100}){11}", r"invalid repeat count: `{11}`"),
    (r"\xZZ", r"invalid escape sequence: `\xZZ`"),
    (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
    (r"[[:foo:]]", r"invalid character class range: `[:foo:]`"),
    (r"(?P<>a)", r"invalid named capture: `(?P<>`"),
    (r"(?i-)a", r"invalid or unsupported Perl syntax: `(?i-)`"),
    (r"(?P<n", r"invalid named capture: `(?P<n`"),
    (r"\", r"trailing backslash at end of expression: ``"),
    (r"[\", r"trailing backslash at end of expression: ``"),
    (r"\p{Foo", r"invalid character class range: `\p{Foo`"),
    (r"\pZ\pX", r"invalid character class range: `\pX`"),
    (r"a{5,2}", r"invalid repeat count: `{5,2}`"),
    (r"\C", r"invalid escape sequence: `\C`"),
    (r"(?i)*", r"missing argument to repetition operator: `*`"),
    (r"a???", r"invalid nested repetition operator: `???`"),
    (r"[]", r"missing closing ]: `[]`"),
    (r"(?P=n)", r"invalid or unsupported Perl syntax: `(?P`"),
    (r"\Z", r"invalid escape sequence: `\Z`"),
    (r"\cA", r"invalid escape sequence: `\c`"),
    (r"[a-\d]", r"invalid escape sequence: `\d`"),
    (r"[a-[:alpha:]]", r"invalid character class range: `a-[`"),
    (r"\x", r"invalid escape sequence: `\x`"),
    (r"\x1", r"invalid escape sequence: `\x1`"),
    (r"(?x)a", r"invalid or unsupported Perl syntax: `(?x`"),
    (r"[a-z]+(", r"missing closing ): `[a-z]+(`"),
    (r"a*?+", r"invalid nested repetition operator: `*?+`"),
    (r"(|+)", r"missing argument to repetition operator: `+`"),
    (r"(a{100}){100}", r"invalid repeat count: `{100}`"),
    (r"(?P<a-b>c)", r"invalid named capture: `(?P<a-b>`"),
    (r"\p{Klingon}", r"invalid character class range: `\p{Klingon}`"),
];

const ACCEPTED: &[&str] = &[
    r"\p{latin}",
    r"\p{LC}",
    r"\p{^Greek}",
    r"\pN",
    r"(?<n>a)",
    r"a{,5}",
    r"[\d-z]",
    r"\Qab*\E+",
    r"^*",
    r"a??",
    r"[]a]",
    r"\z\A\b\B",
    r"\_\-\/",
    r"(?<n>a)(?<n>b)",
    r"()*",
    r"(|)*",
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
    r"(x{10}){100}",
    r"a{0}{",
    r"\x{10FFFF}\012\07",
    r"",
    r"a{x",
    r"(?i:a)|b",
    r"[^]]",
    r"\Qa(b\E",
    r"\101",
    r"[a-]",
    r"\x{d800}",
    r"a(?i)*",
];

#[test]
fn a_pattern_is_refused_in_gos_words() {
    for (pattern, words) in REFUSED {
        let expected = format!("error parsing regexp: {words}");
        assert_eq!(mistake(pattern).as_deref(), Some(expected.as_str()), "{pattern}");
    }
}

#[test]
fn a_pattern_that_go_compiles_is_accepted() {
    for pattern in ACCEPTED {
        assert_eq!(mistake(pattern), None, "{pattern}");
    }
}

#[test]
fn patterns_mean_what_they_mean_to_go() {
    for (pattern, text, expected) in [
        (r"^\d+$", "123", true),
        (r"^\d+$", "١٢٣", false),
        (r"^\w$", "é", false),
        (r"^[\w-.]+$", "a-b.c", true),
        (r"^[\W]$", "é", true),
        (r"^[^\W]$", "é", false),
        (r"^\s$", "\u{b}", false),
        (r"^\S$", "\u{a0}", true),
        (r"^\Qa.b*\E+$", "a.b**", true),
        (r"^\Qa.b\E$", "axb", false),
        (r"^a{,2}$", "a{,2}", true),
        (r"^a{$", "a{", true),
        (r"^x{2,3}$", "xx", true),
        (r"^[a&&b]+$", "a&b", true),
        (r"^[+--b]+$", "+,-b", true),
        (r"^[[a]+$", "[a", true),
        (r"^[]a]+$", "]a", true),
        (r"^[^]a]+$", "b", true),
        (r"^[[:alpha:][:^digit:]]+$", "é", true),
        (r"^\pL+$", "é", true),
        (r"^\p{^Greek}$", "α", false),
        (r"^\P{Greek}$", "a", true),
        (r"^[\p{Lu}x]+$", "Éx", true),
        (r"(?i)^straße$", "STRAßE", true),
        (r"(?i)^k$", "\u{212a}", true),
        (r"(?i)^[^x]$", "X", false),
        (r"^(?i:a)b$", "Ab", true),
        (r"(?s)^a.b$", "a\nb", true),
        (r"^a.b$", "a\nb", false),
        (r"(?m)^b$", "a\nb", true),
        (r"^b$", "a\nb", false),
        (r"a$", "a\n", false),
        (r"\Aa\z", "a", true),
        (r"\bword\b", "a word", true),
        (r"\bé", "é", false),
        (r"^\Bé", "é", true),
        (r"a\Bb", "ab", true),
        (r"^\101\x42\x{43}$", "ABC", true),
        (r"^\a\f\n\r\t\v$", "\u{7}\u{c}\n\r\t\u{b}", true),
        (r"^\_\-\/\#\ \~$", "_-/# ~", true),
        (r"^(?P<name>a)(?<other>b)$", "ab", true),
        (r"(?U)^a+?$", "aa", true),
        (r"^#a b$", "#a b", true),
        (r"^(|a)$", "", true),
        (r"^[\d\-x]+$", "1-x", true),
        (r"^[\x00-\x{10FFFF}]$", "é", true),
        (r"^\p{Any}$", "\u{e000}", true),
        (r"^\p{Letter}$", "é", true),
        (r"^\p{ASCII}$", "é", false),
        (r"^a(?i)*b$", "aaB", true),
        (r"^a(?i){2}$", "aA", false),
        (r"^ab(?)+$", "abb", true),
        (r"^\x{d800}?a$", "a", true),
        (r"\x{dfff}", "\u{e000}", false),
        (r"^[\x{d7ff}-\x{e000}]$", "\u{e000}", true),
        (r"^[^\x{d800}-\x{dfff}]$", "a", true),
    ] {
        assert_eq!(matches(pattern, text), expected, "{pattern} on {text:?}");
    }
}

#[test]
fn a_pattern_of_any_height_is_compiled_or_refused_on_a_small_stack() {
    let run = || {
        for height in [1, 100, 300, 999, 1000, 1001, 20_000] {
            for (open, close) in [("(", ")"), ("(?i:", ")*"), ("(a|", "b)"), ("(?:x", "y){1}")] {
                let pattern = format!("{}a{}", open.repeat(height), close.repeat(height));
                let is_refused = compile(&pattern, MEMORY).is_err();
                assert_eq!(
                    mistake(&pattern).is_some(),
                    height > 1000 && is_refused,
                    "{height} {open}"
                );
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(run);
    thread.expect("a thread").join().expect("no overflow");
}

#[test]
fn a_program_larger_than_allowed_is_refused() {
    let pattern = r"(\pL{10}){100}";
    assert_eq!(
        compile(pattern, 1 << 15).err(),
        Some(format!("error parsing regexp: expression too large: `{pattern}`"))
    );
    assert_eq!(mistake(pattern), None);
}
