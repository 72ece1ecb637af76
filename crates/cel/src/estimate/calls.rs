//! What calls cost at most, from the sizes their arguments may have.

use crate::ast::{Expr, ExprKind, Literal, op};
use crate::eval::cost::{AUTHORIZATION, FORMAT_PATTERN, LIST, PER_CHARACTER, PER_PATTERN_CHARACTER, selector};
use crate::types::Type;

use super::{Argument, EntrySize, Estimator, PathElement, Range};

/// What a call costs without its arguments, and the size of its result if known.
struct CallEstimate {
    cost: Range,
    size: Option<Range>,
}

impl CallEstimate {
    #[expect(clippy::unnecessary_wraps, reason = "the arms of a match return options")]
    fn of(cost: Range) -> Option<CallEstimate> {
        Some(CallEstimate { cost, size: None })
    }

    #[expect(clippy::unnecessary_wraps, reason = "the arms of a match return options")]
    fn sized(cost: Range, size: Range) -> Option<CallEstimate> {
        Some(CallEstimate { cost, size: Some(size) })
    }
}

const ONE: Range = Range::fixed(1);

impl Estimator<'_> {
    pub(super) fn call(&mut self, expr: &Expr, target: Option<&Expr>, function: &str, args: &[Expr]) -> Range {
        if function == "dyn"
            && let [arg] = args
        {
            let cost = self.cost(arg);
            let (size, entry) = (self.size(arg), self.entry(arg));
            self.remember(expr.id, size, entry);
            return cost.add(ONE);
        }
        let mut costs = Vec::with_capacity(args.len());
        let mut arguments = Vec::with_capacity(args.len());
        for arg in args {
            costs.push(self.cost(arg));
            arguments.push(self.argument(arg));
        }
        let overloads = self.checked.overloads(expr.id);
        if overloads.is_empty() {
            return Range::ZERO;
        }
        let (target_cost, receiver) = match target {
            Some(target) => (self.cost(target), Some(self.argument(target))),
            None => (Range::ZERO, None),
        };
        let mut total = Range { min: u64::MAX, max: 0 };
        let mut size: Option<Range> = None;
        for overload in overloads {
            let estimate = self.estimate_call(expr, function, overload, receiver.as_ref(), &arguments, &costs);
            total = total.union(estimate.cost);
            size = match (size, estimate.size) {
                (Some(known), Some(found)) => Some(known.union(found)),
                (known, found) => known.or(found),
            };
            let step = match *overload {
                "index_list" => Some(PathElement::Items),
                "index_map" => Some(PathElement::Values),
                _ => None,
            };
            if let (Some(step), Some(operand)) = (step, args.first()) {
                size = self.entry(operand).map(|entry| entry.value);
                let mut path = self.path(operand);
                path.push(step);
                self.paths.insert(expr.id, path);
            }
            if size.is_none() {
                size = self.size(expr);
            }
        }
        self.remember(expr.id, size, None);
        target_cost.add(total)
    }

    fn argument<'e>(&mut self, expr: &'e Expr) -> Argument<'e> {
        let mut path = self.path(expr);
        if matches!(path.first(), Some(PathElement::Variable(name)) if name == op::ACCUMULATOR) {
            path.clear();
        }
        Argument {
            expr: Some(expr),
            path,
            ty: self.checked.type_of(expr.id).clone(),
            size: self.size(expr),
        }
    }

    fn estimate_call(
        &mut self,
        expr: &Expr,
        function: &str,
        overload: &str,
        target: Option<&Argument<'_>>,
        args: &[Argument<'_>],
        costs: &[Range],
    ) -> CallEstimate {
        let arguments = costs.iter().copied().fold(Range::ZERO, Range::add);
        let with_arguments = |estimate: CallEstimate| CallEstimate {
            cost: estimate.cost.add(arguments),
            size: estimate.size,
        };
        if let Some(estimate) = self.library_estimate(function, overload, target, args) {
            return with_arguments(estimate);
        }
        let size =
            |argument: Option<&Argument<'_>>| argument.and_then(|argument| argument.size).unwrap_or(Range::UNKNOWN);
        let (first, second) = (size(args.first()), size(args.get(1)));
        let estimate = match overload {
            "string_format" => CallEstimate::of(size(target).scale(PER_CHARACTER)),
            "string_to_bytes" => {
                let result = Range {
                    min: first.min,
                    max: first.max.wrapping_mul(4),
                };
                CallEstimate::sized(first.scale(PER_CHARACTER), result)
            }
            "bytes_to_string" => CallEstimate::sized(
                first.scale(PER_CHARACTER),
                Range {
                    min: first.min / 4,
                    max: first.max,
                },
            ),
            "strings_quote" => {
                let result = Range {
                    min: first.min.wrapping_add(2),
                    max: first.max.wrapping_mul(2).wrapping_add(2),
                };
                CallEstimate::sized(first.scale(PER_CHARACTER), result)
            }
            "starts_with_string" | "ends_with_string" => CallEstimate::of(first.scale(PER_CHARACTER)),
            "in_list" => CallEstimate::of(second.scale(1.0)),
            "matches_string" => CallEstimate::of(
                size(target)
                    .add(ONE)
                    .scale(PER_CHARACTER)
                    .multiply(first.scale(PER_PATTERN_CHARACTER)),
            ),
            "contains_string" => {
                CallEstimate::of(size(target).scale(PER_CHARACTER).multiply(first.scale(PER_CHARACTER)))
            }
            "logical_or" | "logical_and" => {
                let (Some(left), Some(right)) = (costs.first(), costs.get(1)) else {
                    return unit(arguments);
                };
                return CallEstimate {
                    cost: Range {
                        min: left.min,
                        max: left.max.saturating_add(right.max),
                    },
                    size: None,
                };
            }
            "conditional" => return self.conditional(expr, args, costs),
            "add_string" | "add_bytes" | "add_list" => {
                let result = first.add(second);
                let entry = |argument: &Argument<'_>| argument.expr.and_then(|expr| self.entry(expr));
                let entry = EntrySize::union(args.first().and_then(entry), args.get(1).and_then(entry));
                self.remember(expr.id, None, entry);
                let cost = if overload == "add_list" {
                    ONE
                } else {
                    result.scale(PER_CHARACTER)
                };
                CallEstimate::sized(cost, result)
            }
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "equals"
            | "not_equals" => {
                let smallest = first.max.min(second.max);
                CallEstimate::of(
                    Range {
                        min: u64::from(smallest > 0),
                        max: smallest,
                    }
                    .scale(PER_CHARACTER),
                )
            }
            _ => None,
        };
        estimate.map_or_else(|| unit(arguments), with_arguments)
    }

    fn conditional(&mut self, expr: &Expr, args: &[Argument<'_>], costs: &[Range]) -> CallEstimate {
        let ([_, then, otherwise], [condition, then_cost, otherwise_cost]) = (args, costs) else {
            return unit(Range::ZERO);
        };
        let size = then
            .size
            .unwrap_or(Range::UNKNOWN)
            .union(otherwise.size.unwrap_or(Range::UNKNOWN));
        let entry = |argument: &Argument<'_>| argument.expr.and_then(|expr| self.entry(expr));
        let entry = EntrySize::union(entry(then), entry(otherwise));
        self.remember(expr.id, None, entry);
        CallEstimate {
            cost: condition.add(then_cost.union(*otherwise_cost)),
            size: Some(size),
        }
    }

    /// What Kubernetes adds: a size from the schema if the expression has none.
    fn estimated(&self, argument: &Argument<'_>) -> Range {
        argument
            .size
            .or_else(|| self.declared_size(&argument.path))
            .unwrap_or(Range::UNKNOWN)
    }

    fn element<'e>(list: &Argument<'e>) -> Option<Argument<'e>> {
        let ty = list.ty.params().into_iter().next()?;
        let mut path = list.path.clone();
        if !path.is_empty() {
            path.push(PathElement::Items);
        }
        Some(Argument {
            expr: None,
            path,
            ty,
            size: None,
        })
    }

    /// Calls of cel-go's libraries of lists and sets, by overload.
    fn list_estimate(
        &self,
        overload: &str,
        target: Option<&Argument<'_>>,
        args: &[Argument<'_>],
    ) -> Option<CallEstimate> {
        let allocating =
            |factor: f64, size: Range| CallEstimate::sized(size.scale(factor).add(ONE).add(Range::fixed(LIST)), size);
        match (overload, target, args) {
            ("list_slice", Some(list), [start, end]) => {
                let start = literal_int(start).unwrap_or(0);
                let end = literal_int(end).unwrap_or(self.estimated(list).max);
                allocating(1.0, Range::fixed(end.wrapping_sub(start)))
            }
            ("lists_range", None, [count]) => allocating(1.0, Range::fixed(literal_int(count).unwrap_or(u64::MAX))),
            ("list_reverse" | "list_flatten", Some(list), []) => allocating(1.0, self.estimated(list)),
            ("list_flatten_int", Some(list), [depth]) => {
                allocating(literal_int(depth).unwrap_or(u64::MAX) as f64, self.estimated(list))
            }
            ("list_distinct", Some(list), []) => {
                let size = self.estimated(list);
                allocating(2.0, size.multiply(size))
            }
            (sort, Some(list), keys) if sort.ends_with("_sort") || sort.ends_with("_sortByAssociatedKeys") => {
                let size = self.estimated(keys.first().unwrap_or(list));
                let texts = sort.starts_with("list_string_") || sort.starts_with("list_bytes_");
                allocating(if texts { 2.0 + PER_CHARACTER } else { 2.0 }, size.multiply(size))
            }
            (
                "list_sets_contains_list" | "list_sets_intersects_list" | "list_sets_equivalent_list",
                None,
                [left, right],
            ) => {
                let times = if overload == "list_sets_equivalent_list" {
                    2.0
                } else {
                    1.0
                };
                CallEstimate::of(
                    self.estimated(left)
                        .multiply(self.estimated(right))
                        .scale(times)
                        .add(ONE),
                )
            }
            _ => None,
        }
    }

    /// Calls of Kubernetes' libraries, by function.
    fn library_estimate(
        &self,
        function: &str,
        overload: &str,
        target: Option<&Argument<'_>>,
        args: &[Argument<'_>],
    ) -> Option<CallEstimate> {
        let scan = |argument: &Argument<'_>, factor: f64| self.estimated(argument).scale(factor);
        if let Some(estimate) = self.list_estimate(overload, target, args) {
            return Some(estimate);
        }
        match function {
            "check" => CallEstimate::of(Range::fixed(AUTHORIZATION)),
            "fieldSelector" | "labelSelector" => {
                let [text] = args else { return None };
                let length = self.estimated(text);
                CallEstimate::of(Range {
                    min: selector(length.min),
                    max: selector(length.max),
                })
            }
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
                let target = target?;
                match Self::element(target) {
                    Some(element) => {
                        let mut each = ONE;
                        if matches!(element.ty, Type::String | Type::Bytes) {
                            each = each.add(scan(&element, PER_CHARACTER));
                        }
                        CallEstimate::of(self.estimated(target).multiply(each))
                    }
                    None => CallEstimate::of(scan(target, PER_CHARACTER)),
                }
            }
            "url" | "jsonpatch.escapeKey" => {
                let [arg] = args else { return None };
                CallEstimate::sized(scan(arg, PER_CHARACTER), self.estimated(arg))
            }
            "lowerAscii" | "upperAscii" | "substring" | "trim" => {
                CallEstimate::sized(scan(target?, PER_CHARACTER), self.estimated(target?))
            }
            "replace" => {
                let [old, new, ..] = args else { return None };
                let text = self.estimated(target?);
                let result = replaced_size(text, self.estimated(old), self.estimated(new));
                CallEstimate::sized(text.scale(2.0 * PER_CHARACTER), result)
            }
            "split" => {
                let text = self.estimated(target?);
                let mut max = text.max;
                if let Some(ExprKind::Literal(Literal::Int(limit))) =
                    args.get(1).and_then(|limit| limit.expr).map(|expr| &expr.kind)
                {
                    max = limit.cast_unsigned();
                }
                CallEstimate::sized(text.scale(2.0 * PER_CHARACTER), Range { min: 0, max })
            }
            "join" => {
                let count = self.estimated(target?);
                let mut size = Range::ZERO;
                if let Some(element) = Self::element(target?) {
                    size = count.multiply(self.estimated(&element));
                }
                if let Some(separator) = args.first() {
                    let separators = Range {
                        min: count.min.saturating_sub(1),
                        max: count.max.saturating_sub(1),
                    };
                    size = size.add(self.estimated(separator).multiply(separators));
                }
                CallEstimate::sized(size.scale(PER_CHARACTER), size)
            }
            "find" | "findAll" => {
                let text = self.estimated(target?);
                let pattern = scan(args.first()?, PER_PATTERN_CHARACTER);
                let cost = text.add(ONE).scale(PER_CHARACTER).multiply(pattern);
                CallEstimate::sized(cost, Range { min: 0, max: text.max })
            }
            "ip" if overload == "cidr_ip" => CallEstimate::of(ONE),
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
                CallEstimate::of(scan(args.first()?, PER_CHARACTER))
            }
            "ip.isCanonical" => CallEstimate::of(scan(args.first()?, 2.0 * PER_CHARACTER)),
            "serviceAccount"
            | "path"
            | "group"
            | "resource"
            | "subresource"
            | "namespace"
            | "name"
            | "allowed"
            | "reason"
            | "error"
            | "errored"
            | "masked"
            | "prefixLength"
            | "family"
            | "isUnspecified"
            | "isLoopback"
            | "isLinkLocalMulticast"
            | "isLinkLocalUnicast"
            | "isGlobalUnicast"
            | "format.named"
            | "sign"
            | "asInteger"
            | "isInteger"
            | "asApproximateFloat"
            | "isGreaterThan"
            | "isLessThan"
            | "compareTo"
            | "add"
            | "sub"
            | "major"
            | "minor"
            | "patch"
            | "getScheme"
            | "getHostname"
            | "getHost"
            | "getPort"
            | "getEscapedPath"
            | "getQuery" => CallEstimate::of(ONE),
            "containsIP" | "containsCIDR" => {
                let other = args.first()?;
                let address = Range { min: 4, max: 16 };
                let mut cost = address.add(address).scale(PER_CHARACTER);
                if function == "containsCIDR" {
                    cost = cost.add(address.scale(PER_CHARACTER)).add(ONE);
                }
                if overload.ends_with("_string") {
                    cost = cost.add(scan(other, PER_CHARACTER));
                }
                CallEstimate::of(cost)
            }
            "validate" => {
                let pattern = FORMAT_PATTERN as f64 * PER_PATTERN_CHARACTER;
                CallEstimate::of(scan(args.first()?, PER_CHARACTER).scale(pattern))
            }
            op::EQUALS => equality(args),
            _ => None,
        }
    }
}

/// A whole number written as a constant; negative ones count as zero.
fn literal_int(argument: &Argument<'_>) -> Option<u64> {
    match argument.expr.map(|expr| &expr.kind) {
        Some(ExprKind::Literal(Literal::Int(value))) => Some((*value).max(0) as u64),
        _ => None,
    }
}

fn unit(arguments: Range) -> CallEstimate {
    CallEstimate {
        cost: ONE.add(arguments),
        size: None,
    }
}

/// Comparing values of libraries costs one step, whatever their size.
fn equality(args: &[Argument<'_>]) -> Option<CallEstimate> {
    let [left, right] = args else { return None };
    if left.ty != right.ty {
        return None;
    }
    match &left.ty {
        Type::Opaque(name, _) if matches!(&**name, "net.IP" | "net.CIDR") => CallEstimate::of(ONE),
        Type::Object(object) => match object.name.as_str() {
            "kubernetes.NamedFormat" => CallEstimate::of(Range { min: 1, max: 64 }.scale(PER_CHARACTER)),
            "kubernetes.URL" => {
                let max = right.size.map_or(1, |size| size.max);
                CallEstimate::of(Range { min: 1, max }.scale(PER_CHARACTER))
            }
            name if name.starts_with("kubernetes.") => CallEstimate::of(ONE),
            _ => None,
        },
        _ => None,
    }
}

/// The size of a text after replacing `old` by `new`, at least and at most.
fn replaced_size(text: Range, old: Range, new: Range) -> Range {
    let times = |size: u64, part: u64| (size as f64 / part as f64).ceil() as u64;
    let (max_count, max_kept) = if old.min == 0 {
        (text.max.saturating_add(1), text.max)
    } else if new.max <= old.min {
        (0, text.max)
    } else {
        (times(text.max, old.min), 0)
    };
    let (min_count, min_kept) = if old.max == 0 {
        (text.min.saturating_add(1), text.min)
    } else if old.max <= new.min {
        (0, text.min)
    } else {
        (times(text.min, old.max), 0)
    };
    Range {
        min: min_count,
        max: max_count,
    }
    .multiply(new)
    .add(Range {
        min: min_kept,
        max: max_kept,
    })
}
