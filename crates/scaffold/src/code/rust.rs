//! Rust code laid out as `rustfmt` would, where the length of a user's names decides.

/// The widest line.
const WIDTH: usize = 100;
/// The widest chain of calls, and the widest list in an attribute, that stay on one line.
const CHAIN: usize = 60;
const ATTRIBUTE: usize = 70;

/// `#[name(arguments)]`, on one line or one argument per line.
pub(crate) fn attribute(name: &str, arguments: &[String]) -> String {
    let list = arguments.join(", ");
    if list.len() <= ATTRIBUTE && name.len() + list.len() + 5 <= WIDTH {
        return format!("#[{name}({list})]");
    }
    format!("#[{name}(\n    {}\n)]", arguments.join(",\n    "))
}

/// A chain of calls, the first part being what they are called on. Lines after the first are indented below `indent`.
pub(crate) fn chain(indent: usize, parts: &[String]) -> String {
    let line = parts.concat();
    // A single call stays with what it is called on for as long as the line has room.
    let room = if parts.len() > 2 { CHAIN } else { WIDTH };
    if line.len() <= room && indent + line.len() <= WIDTH {
        return line;
    }
    parts.join(&format!("\n{}", " ".repeat(indent + 4)))
}

/// `name.call.await;` with a name that is shorter than an indentation, so that the call stays with it.
pub(crate) fn awaited(indent: usize, call: &str) -> String {
    let line = format!("{call}.await;");
    if line.len() <= CHAIN + 1 {
        return line;
    }
    format!("{call}\n{}.await;", " ".repeat(indent + 4))
}

/// `let pattern = chain else {`, as `rustfmt` breaks it.
pub(crate) fn let_else(indent: usize, pattern: &str, parts: &[String]) -> String {
    let value = chain(indent, parts);
    let line = format!("let {pattern} = {value} else {{");
    if !value.contains('\n') && indent + line.len() <= WIDTH {
        return line;
    }
    if value.contains('\n') {
        return format!("let {pattern} = {value}\n{}else {{", " ".repeat(indent));
    }
    let (outer, inner) = (" ".repeat(indent), " ".repeat(indent + 4));
    format!("let {pattern} =\n{inner}{value}\n{outer}else {{")
}

/// `impl Trait for Type {`.
pub(crate) fn implementation(of: &str, by: &str) -> String {
    let line = format!("impl {of} for {by} {{");
    if line.len() <= WIDTH {
        return line;
    }
    format!("impl {of}\n    for {by}\n{{")
}

/// `let name = chain;`, as `rustfmt` breaks it.
pub(crate) fn binding(indent: usize, name: &str, parts: &[String]) -> String {
    format!("let {name} = {};", chain(indent, parts))
}

/// `const NAME: &str = "value";`.
pub(crate) fn constant(name: &str, value: &str) -> String {
    let line = format!("const {name}: &str = {};", quoted(value));
    if line.len() <= WIDTH {
        return line;
    }
    format!("const {name}: &str =\n    {};", quoted(value))
}

/// `function::<types>()`.
pub(crate) fn generic_call(indent: usize, function: &str, types: &[String]) -> String {
    let line = format!("{function}::<{}>()", types.join(", "));
    // A semicolon follows.
    if indent + line.len() < WIDTH {
        return line;
    }
    let (outer, inner) = (" ".repeat(indent), " ".repeat(indent + 4));
    let list = types.join(&format!(",\n{inner}"));
    format!("{function}::<\n{inner}{list},\n{outer}>()")
}

/// Lines of `use`, in order.
pub(crate) fn imports(mut imports: Vec<String>) -> String {
    imports.sort_by(|left, right| order(left, right));
    let lines: Vec<String> = imports.iter().map(|import| format!("use {import};")).collect();
    lines.join("\n")
}

/// What follows `use` for some types of a module.
pub(crate) fn import(module: &str, types: &[String]) -> String {
    match types {
        [one] => format!("{module}::{one}"),
        many => {
            let line = format!("{module}::{{{}}}", many.join(", "));
            // `use ` before and `;` behind.
            if line.len() + 5 <= WIDTH {
                return line;
            }
            let list = many.join(", ");
            let list = if list.len() + 5 <= WIDTH {
                list
            } else {
                many.join(",\n    ")
            };
            format!("{module}::{{\n    {list},\n}}")
        }
    }
}

/// `.method(argument)` in a chain that is indented by `indent`.
pub(crate) fn call(indent: usize, method: &str, argument: &str) -> String {
    let line = format!(".{method}({argument})");
    if indent + line.len() <= WIDTH {
        return line;
    }
    let (outer, inner) = (" ".repeat(indent), " ".repeat(indent + 4));
    // With its comma it must fit, or its own parentheses are broken.
    let argument = match argument.strip_suffix("()") {
        Some(head) if inner.len() + argument.len() + 1 > WIDTH => format!("{head}(\n{inner})"),
        _ => argument.to_owned(),
    };
    format!(".{method}(\n{inner}{argument},\n{outer})")
}

/// `name(arguments) -> returns {` of a function indented by `indent`, on one line or one argument per line.
pub(crate) fn signature(indent: usize, head: &str, arguments: &[String], tail: &str) -> String {
    let line = format!("{head}({}){tail}", arguments.join(", "));
    if indent + line.len() <= WIDTH {
        return line;
    }
    let (outer, inner) = (" ".repeat(indent), " ".repeat(indent + 4));
    let list = arguments.join(&format!(",\n{inner}"));
    format!("{head}(\n{inner}{list},\n{outer}){tail}")
}

/// A string as Rust and JSON both write it.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Orders names as `rustfmt` does: numbers by value, underscores first.
pub(crate) fn order(left: &str, right: &str) -> std::cmp::Ordering {
    parts(left).cmp(&parts(right))
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Underscore,
    Number(u128, usize),
    Letter(char),
}

fn parts(name: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        if digits > 0 {
            parts.push(Part::Number(rest[..digits].parse().unwrap_or(u128::MAX), digits));
            rest = &rest[digits..];
            continue;
        }
        parts.push(if first == '_' {
            Part::Underscore
        } else {
            Part::Letter(first)
        });
        rest = &rest[first.len_utf8()..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_numbers_are_in_the_order_of_the_numbers() {
        let mut names = ["v10", "v2", "v1beta1", "v1", "v1alpha1", "va", "v_b"];
        names.sort_by(|left, right| order(left, right));
        assert_eq!(names, ["v_b", "v1", "v1alpha1", "v1beta1", "v2", "v10", "va"]);
    }

    #[test]
    fn what_is_too_long_for_a_line_is_broken() {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            attribute("rbac", &words(&["groups = \"apps\"", "verbs = \"get\""])),
            "#[rbac(groups = \"apps\", verbs = \"get\")]"
        );
        let long = format!("groups = \"{}\"", "a".repeat(70));
        assert_eq!(
            attribute("rbac", std::slice::from_ref(&long)),
            format!("#[rbac(\n    {long}\n)]")
        );
        assert_eq!(
            chain(8, &words(&["Controller::of::<Bar>()", ".reconcile_with(Self::new)"])),
            "Controller::of::<Bar>().reconcile_with(Self::new)"
        );
        assert_eq!(
            call(8, "controller", &"x".repeat(90)),
            format!(".controller(\n            {},\n        )", "x".repeat(90))
        );
    }
}
