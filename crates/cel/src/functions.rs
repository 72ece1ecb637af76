//! The functions a rule may call: names, overloads and their types.
//! The table is a fact of cel-go and of Kubernetes' libraries; what they do is in [`crate::library`].

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use crate::types::Type;
use crate::value::Value;

/// One signature of a function.
#[derive(Debug, Clone)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    /// Whether it is called on a receiver, which then is the first parameter.
    pub(crate) member: bool,
    pub(crate) origin: Origin,
    pub(crate) params: Vec<Type>,
    pub(crate) result: Type,
    /// Whether a type parameter occurs in it.
    pub(crate) generic: bool,
}

/// Which environments have a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Every environment of Kubernetes.
    Kubernetes,
    /// Policies that mutate objects.
    Mutation,
    /// The language beyond what Kubernetes takes of it.
    Extension,
    /// One environment.
    Declared,
}

/// A function and its signatures in the order they are tried.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: Cow<'static, str>,
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
            origin: match origin {
                "k" => Origin::Kubernetes,
                "m" => Origin::Mutation,
                _ => Origin::Extension,
            },
            params,
            result,
            generic,
        };
        table
            .entry(name)
            .or_insert_with(|| Function {
                name: Cow::Borrowed(name),
                overloads: Vec::new(),
            })
            .overloads
            .push(overload);
    }
    table
});

pub(crate) fn has_param(ty: &Type) -> bool {
    matches!(ty, Type::Param(_)) || ty.params().iter().any(has_param)
}

impl Function {
    /// Whether an overload takes values of these types, parameters of lists and maps left aside.
    pub(crate) fn takes(&self, args: &[Value<'_>]) -> bool {
        self.overloads.iter().any(|overload| {
            let fits = |(param, arg): (&Type, &Value<'_>)| {
                matches!(param, Type::Dyn | Type::Param(_)) || param.runtime_name() == arg.type_of().runtime_name()
            };
            overload.params.len() == args.len() && overload.params.iter().zip(args).all(fits)
        })
    }
}

/// Whether a function is one of the language itself; those report wrong arguments themselves.
pub(crate) fn is_standard(name: &str) -> bool {
    const METHODS: [&str; 15] = [
        "size",
        "type",
        "dyn",
        "bool",
        "bytes",
        "double",
        "duration",
        "int",
        "string",
        "timestamp",
        "uint",
        "contains",
        "endsWith",
        "matches",
        "startsWith",
    ];
    !name.starts_with(|c: char| c.is_ascii_alphabetic()) || name.starts_with("get") || METHODS.contains(&name)
}

/// The function of the libraries with this name.
pub(crate) fn lookup(name: &str) -> Option<&'static Function> {
    TABLE.get(name)
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
