//! What steps cost when they run, by cel-go's model and Kubernetes' costs of its libraries.

use crate::value::{Outcome, Value};

use super::Comparison;

/// A new list.
pub(crate) const LIST: u64 = 10;
/// A new map.
pub(crate) const MAP: u64 = 30;
/// A new object.
pub(crate) const STRUCT: u64 = 40;
/// A check by the authorizer.
pub(crate) const AUTHORIZATION: u64 = 350_000;
/// The cost of a character that is read once.
pub(crate) const PER_CHARACTER: f64 = 0.1;
/// The cost of a character of a regular expression.
pub(crate) const PER_PATTERN_CHARACTER: f64 = 0.25;
/// The longest pattern behind a named format.
pub(crate) const FORMAT_PATTERN: u64 = 128;

/// `size * factor`, rounded up.
pub(crate) fn scaled(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

/// A selector of this length: a list of requirements, each at least two characters long.
pub(crate) fn selector(length: u64) -> u64 {
    let requirements = scaled(length, 0.5).saturating_mul(LIST + STRUCT);
    LIST.saturating_add(scaled(length, PER_CHARACTER))
        .saturating_add(requirements)
}

/// A regular expression over a text, by their sizes.
pub(crate) fn regex(text: u64, pattern: u64) -> u64 {
    scaled(text.saturating_add(1), PER_CHARACTER).saturating_mul(scaled(pattern, PER_PATTERN_CHARACTER))
}

/// A comparison of two values.
pub(crate) fn comparison(comparison: Comparison, left: &Value<'_>, right: &Value<'_>) -> u64 {
    let by_size = match comparison {
        Comparison::Equal | Comparison::NotEqual => !matches!(left, Value::Opaque(_)),
        _ => matches!(
            (left, right),
            (Value::String(_), Value::String(_)) | (Value::Bytes(_), Value::Bytes(_))
        ),
    };
    match (left, right) {
        (
            Value::Int(_) | Value::Bool(_) | Value::Double(_) | Value::Uint(_),
            Value::Int(_) | Value::Bool(_) | Value::Double(_) | Value::Uint(_),
        ) => 1,
        _ if by_size => scaled(left.size().min(right.size()), PER_CHARACTER),
        _ => 1,
    }
}

/// How the cost of a call is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallCost {
    /// One.
    Unit,
    /// Nothing: membership in a constant list is a lookup.
    Free,
    /// The first argument is looked at once.
    Scan,
    /// The first argument is looked at and the result built.
    ScanTwice,
    /// The result is built.
    Join,
    /// Every element of the first argument is looked at, with what it holds.
    Traverse,
    /// As many steps as the second argument has elements.
    Contained,
    /// Both arguments are copied.
    Concatenate,
    /// Pattern times text.
    Regex,
    /// Text times text.
    Substring,
    /// A named format is a regular expression over the second argument.
    Format,
    /// Addresses are compared byte by byte; parsed first when given as text.
    ContainsIp { parsed: bool },
    /// The same for networks.
    ContainsCidr { parsed: bool },
    /// A list as long as the result is made.
    NewList,
    /// A list is flattened as often as the second argument says.
    Flatten,
    /// Every element is compared with every other one.
    CompareAll,
    /// Every element of one list with every one of the other, this many times.
    Sets(u8),
    /// A check by the authorizer; it costs so much that an expression can make two.
    Authorization,
    /// A selector is parsed into its requirements.
    Selector,
}

impl CallCost {
    /// How the cost of a function is computed; `overload` is empty when several fit.
    pub(crate) fn for_call(function: &str, overload: &str) -> CallCost {
        match function {
            // These have costs for one overload only; if several fit, it is not known which one runs.
            "slice" | "lists.range" | "reverse" | "flatten" | "distinct" | "sort" | "@sortByAssociatedKeys"
                if overload.is_empty() =>
            {
                CallCost::Unit
            }
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => CallCost::Traverse,
            "url"
            | "jsonpatch.escapeKey"
            | "lowerAscii"
            | "upperAscii"
            | "substring"
            | "trim"
            | "cidr"
            | "isIP"
            | "isCIDR"
            | "quantity"
            | "isQuantity"
            | "semver"
            | "isSemver" => CallCost::Scan,
            "ip" if overload != "cidr_ip" => CallCost::Scan,
            "replace" | "split" | "ip.isCanonical" => CallCost::ScanTwice,
            "check" => CallCost::Authorization,
            "fieldSelector" | "labelSelector" => CallCost::Selector,
            "join" => CallCost::Join,
            "find" | "findAll" => CallCost::Regex,
            "containsIP" => CallCost::ContainsIp {
                parsed: overload.ends_with("_string"),
            },
            "containsCIDR" => CallCost::ContainsCidr {
                parsed: overload.ends_with("_string"),
            },
            "validate" => CallCost::Format,
            "slice" | "lists.range" => CallCost::NewList,
            "reverse" if overload != "string_reverse" => CallCost::NewList,
            "flatten" => CallCost::Flatten,
            "distinct" | "sort" | "@sortByAssociatedKeys" => CallCost::CompareAll,
            "sets.contains" | "sets.intersects" => CallCost::Sets(1),
            "sets.equivalent" => CallCost::Sets(2),
            _ => match overload {
                "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string" | "strings_quote"
                | "string_format" => CallCost::Scan,
                "in_list" => CallCost::Contained,
                "add_string" | "add_bytes" => CallCost::Concatenate,
                "matches_string" => CallCost::Regex,
                "contains_string" => CallCost::Substring,
                _ => CallCost::Unit,
            },
        }
    }

    pub(super) fn of(self, args: &[Value<'_>], result: &Outcome<'_>) -> u64 {
        let size = |index: usize| args.get(index).map_or(1, Value::size);
        match self {
            CallCost::Unit => 1,
            CallCost::Free => 0,
            CallCost::Authorization => AUTHORIZATION,
            CallCost::Selector => selector(size(1)),
            CallCost::Scan => scaled(size(0), PER_CHARACTER),
            CallCost::ScanTwice => scaled(size(0), 2.0 * PER_CHARACTER),
            CallCost::Join => result
                .as_ref()
                .map_or(1, |result| scaled(result.size(), 2.0 * PER_CHARACTER)),
            CallCost::Traverse => args.first().map_or(0, traversal),
            CallCost::Contained => size(1),
            CallCost::Concatenate => scaled(size(0).saturating_add(size(1)), PER_CHARACTER),
            CallCost::Regex => regex(size(0), size(1)),
            CallCost::Substring => scaled(size(0), PER_CHARACTER).saturating_mul(scaled(size(1), PER_CHARACTER)),
            CallCost::Format => {
                let pattern = match args.first() {
                    Some(Value::Opaque(opaque)) => opaque.pattern_size(),
                    _ => FORMAT_PATTERN,
                };
                regex(size(1), pattern)
            }
            CallCost::NewList => result.as_ref().map_or(1, Value::size).saturating_add(1 + LIST),
            CallCost::Flatten => {
                let depth = if let Some(Value::Int(depth)) = args.get(1) {
                    (*depth).max(0) as u64
                } else {
                    1
                };
                size(0).saturating_mul(depth).saturating_add(1 + LIST)
            }
            CallCost::CompareAll => compare_all(args.last()),
            CallCost::Sets(times) => size(0)
                .saturating_mul(size(1))
                .saturating_mul(u64::from(times))
                .saturating_add(1),
            CallCost::ContainsIp { parsed } => {
                let parse = if parsed { scaled(size(1), PER_CHARACTER) } else { 0 };
                scaled(size(0).saturating_mul(2), PER_CHARACTER) + parse
            }
            CallCost::ContainsCidr { parsed } => {
                let parse = if parsed { scaled(size(1), PER_CHARACTER) } else { 0 };
                scaled(size(0).saturating_mul(2), PER_CHARACTER) + scaled(size(0), PER_CHARACTER) + 1 + parse
            }
        }
    }
}

fn compare_all(list: Option<&Value<'_>>) -> u64 {
    let Some(Value::List(list)) = list else { return 1 + LIST };
    let texts = matches!(list.get(0), Some(Ok(Value::String(_) | Value::Bytes(_))));
    let factor = if texts { 2.0 + PER_CHARACTER } else { 2.0 };
    let size = list.len() as u64;
    (size.saturating_mul(size) as f64 * factor) as u64 + 1 + LIST
}

/// What looking at everything in a value costs.
fn traversal(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => (text.as_str().len() as f64 * PER_CHARACTER) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * PER_CHARACTER) as u64,
        Value::List(list) => list.iter().map(|item| item.as_ref().map_or(1, traversal)).sum(),
        Value::Map(map) => map
            .keys()
            .iter()
            .map(|key| {
                let value = map.get(key).ok().flatten();
                traversal(key) + value.as_ref().map_or(1, traversal)
            })
            .sum(),
        _ => 1,
    }
}
