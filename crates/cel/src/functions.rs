//! The functions a rule may call: names, overloads and their types.
//! The table is a fact of cel-go and of Kubernetes' libraries; what they do is in [`crate::library`].

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::types::Type;

/// One signature of a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    /// Whether it is called on a receiver, which then is the first parameter.
    pub(crate) member: bool,
    /// Whether Kubernetes has it; the others are extensions of the language.
    pub(crate) kubernetes: bool,
    pub(crate) params: Vec<Type>,
    pub(crate) result: Type,
    /// Whether a type parameter occurs in it.
    pub(crate) generic: bool,
}

/// A function and its signatures in the order they are tried.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) overloads: Vec<Overload>,
}

static TABLE: LazyLock<HashMap<&'static str, Function>> = LazyLock::new(|| {
    let mut table: HashMap<&'static str, Function> = HashMap::new();
    for line in include_str!("functions.tsv").lines() {
        let columns: Vec<&'static str> = line.split('\t').collect();
        let [origin, name, style, id, params, result] = columns[..] else {
            continue;
        };
        let params: Vec<Type> = params
            .split(';')
            .filter(|param| !param.trim().is_empty())
            .filter_map(Type::parse)
            .collect();
        let Some(result) = Type::parse(result) else { continue };
        let generic = params.iter().chain([&result]).any(has_param);
        let overload = Overload {
            id,
            member: style == "m",
            kubernetes: origin == "k",
            params,
            result,
            generic,
        };
        table
            .entry(name)
            .or_insert_with(|| Function {
                name,
                overloads: Vec::new(),
            })
            .overloads
            .push(overload);
    }
    table
});

fn has_param(ty: &Type) -> bool {
    matches!(ty, Type::Param(_)) || ty.params().iter().any(has_param)
}

/// The function with this name, if any overload of it is visible.
pub(crate) fn lookup(name: &str, extensions: bool) -> Option<&'static Function> {
    TABLE
        .get(name)
        .filter(|function| extensions || function.overloads.iter().any(|overload| overload.kubernetes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_signature() {
        let lines = include_str!("functions.tsv").lines().count();
        let overloads: usize = TABLE.values().map(|function| function.overloads.len()).sum();
        assert_eq!(lines, overloads);
    }
}
