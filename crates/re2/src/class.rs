//! Character classes of Go's regular expressions, written so that no character of them is an operator of the `regex` crate.
//! The names of categories and scripts are those of Go's version of Unicode.

use std::fmt::Write as _;

/// The class that contains no character.
const NOTHING: &str = r"[^\x00-\x{10ffff}]";

/// The class of a Perl escape such as `\d`, without brackets. The letter is in lower case.
pub(crate) fn perl(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "0-9",
        's' => r"\t\n\x0c\r\x20",
        'w' => "0-9A-Za-z_",
        _ => return None,
    })
}

/// The class of a name in `[:name:]`, without brackets.
pub(crate) fn posix(name: &str) -> Option<&'static str> {
    Some(match name {
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "ascii" => r"\x00-\x7f",
        "blank" => r"\t\x20",
        "cntrl" => r"\x00-\x1f\x7f",
        "digit" => "0-9",
        "graph" => "!-~",
        "lower" => "a-z",
        "print" => r"\x20-~",
        "punct" => r"!-/:-@\[-`{-\x7e",
        "space" => r"\t\n\x0b\x0c\r\x20",
        "upper" => "A-Z",
        "word" => "0-9A-Za-z_",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}

/// The general categories in `\p{…}`, in canonical spelling.
const CATEGORIES: &str = "\
    C Casedletter Cc Cf Closepunctuation Cn Cntrl Co Combiningmark Connectorpunctuation Control Cs Currencysymbol \
    Dashpunctuation Decimalnumber Digit Enclosingmark Finalpunctuation Format Initialpunctuation L Lc Letter \
    Letternumber Lineseparator Ll Lm Lo Lowercaseletter Lt Lu M Mark Mathsymbol Mc Me Mn Modifierletter \
    Modifiersymbol N Nd Nl No Nonspacingmark Number Openpunctuation Other Otherletter Othernumber Otherpunctuation \
    Othersymbol P Paragraphseparator Pc Pd Pe Pf Pi Po Privateuse Ps Punct Punctuation S Sc Separator Sk Sm So \
    Spaceseparator Spacingmark Surrogate Symbol Titlecaseletter Unassigned Uppercaseletter Z Zl Zp Zs";

/// The scripts in `\p{…}`, in canonical spelling.
const SCRIPTS: &str = "\
    Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese \
    Buhid Carian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Dogra \
    Duployan Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo \
    Hatran Hebrew Hiragana Inherited Javanese Kaithi Kannada Katakana Kawi Kharoshthi Khmer Khojki Khudawadi Lao \
    Latin Lepcha Limbu Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Medefaidrin Miao \
    Modi Mongolian Mro Multani Myanmar Nabataean Nandinagari Newa Nko Nushu Ogham Oriya Osage Osmanya Palmyrene \
    Phoenician Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham Sinhala Sogdian Soyombo Sundanese Syriac \
    Tagalog Tagbanwa Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai \
    Vithkuqi Wancho Yezidi Yi";

/// A Unicode class by its name in `\p{Name}`: names are read regardless of case, spaces, dashes and underscores.
pub(crate) fn unicode(name: &str, negated: bool) -> Option<String> {
    let mut canonical = String::with_capacity(name.len());
    for c in name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')) {
        canonical.push(if canonical.is_empty() {
            c.to_ascii_uppercase()
        } else {
            c.to_ascii_lowercase()
        });
    }
    let listed = |names: &str| names.split(' ').any(|known| known == canonical);
    let (positive, negative) = match canonical.as_str() {
        "Any" => (r"[\x00-\x{10ffff}]".to_owned(), NOTHING.to_owned()),
        "Ascii" => (r"[\x00-\x7f]".to_owned(), r"[^\x00-\x7f]".to_owned()),
        "Assigned" => (r"\P{Cn}".to_owned(), r"\p{Cn}".to_owned()),
        "" => return None,
        // Where a general category and a script have the same name, Go takes the category.
        _ if listed(CATEGORIES) => (format!(r"\p{{gc={canonical}}}"), format!(r"\P{{gc={canonical}}}")),
        _ if listed(SCRIPTS) => (format!(r"\p{{sc={canonical}}}"), format!(r"\P{{sc={canonical}}}")),
        _ => return None,
    };
    Some(if negated { negative } else { positive })
}

/// Writes a character as a literal, which may stand inside a class or outside.
pub(crate) fn push_literal(c: char, out: &mut String) {
    if c.is_ascii_alphanumeric() || (!c.is_ascii() && !c.is_control()) {
        out.push(c);
    } else {
        // Writing to a string cannot fail.
        let _ = write!(out, "\\x{{{:x}}}", c as u32);
    }
}

/// Writes a range of code points, which may stand inside a class, or outside if it has only one.
pub(crate) fn push_range(low: u32, high: u32, out: &mut String) {
    // Go accepts a surrogate in a class, but no text contains one.
    let first = char::from_u32(low).unwrap_or('\u{e000}');
    let last = char::from_u32(high).unwrap_or('\u{d7ff}');
    if last < first {
        out.push_str(NOTHING);
        return;
    }
    push_literal(first, out);
    if first < last {
        out.push('-');
        push_literal(last, out);
    }
}
