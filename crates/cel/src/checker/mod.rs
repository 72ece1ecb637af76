//! Gives every node its type and every call its overloads, or says what does not fit.
//! The order of checks and the words of messages are cel-go's, since users see them.

mod format_calls;
mod literals;
mod unchecked;
mod unify;
mod validate;

use std::sync::Arc;

use kubewright_re2::Regex;

use crate::ast::{Ast, Comprehension, Expr, ExprKind, Literal, op, qualified_name};
use crate::env::Env;
use crate::functions::Function;
use crate::library::Implementation;
use crate::source::{Issue, Issues, Source};
use crate::types::Type;
use crate::wellknown;

pub(crate) use unchecked::resolve_names;
use unify::{Mapping, instantiate};

/// What a name or call was resolved to.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// A variable.
    Variable(String),
    /// The name of a type, which is a value.
    TypeName(Type),
    /// The overloads that fit the types of the arguments; more than one when these are dynamic.
    Overloads(Vec<&'static str>),
}

/// An expression whose types fit.
///
/// ```
/// use kubewright_cel::{Env, Type};
///
/// let env = Env::kubernetes().with_variable("self", Type::Int);
/// let checked = env.check("self > 2").unwrap();
/// assert_eq!(checked.output_type(), &Type::Bool);
/// assert!(checked.uses("self") && !checked.uses("oldSelf"));
/// let root = checked.ast.root.id;
/// assert_eq!(checked.type_of(root), &Type::Bool);
/// assert!(checked.reference(root).is_some()); // the overload of `_>_`
/// ```
#[derive(Debug, Clone)]
pub struct CheckedAst {
    /// The tree, with names resolved.
    pub ast: Ast,
    pub(crate) types: Vec<Option<Type>>,
    pub(crate) references: Vec<Option<Reference>>,
    /// What functions of the environment do, beside those of the libraries.
    pub(crate) implementations: Vec<(Box<str>, Implementation)>,
    /// The patterns in literals, compiled when they were checked, by the numbers of the literals.
    pub(crate) patterns: Vec<(u32, Arc<Regex>)>,
}

impl CheckedAst {
    /// The type of a node.
    pub fn type_of(&self, id: u32) -> &Type {
        self.types
            .get(id as usize)
            .and_then(Option::as_ref)
            .unwrap_or(&Type::Dyn)
    }

    /// The type of the whole expression.
    pub fn output_type(&self) -> &Type {
        self.type_of(self.ast.root.id)
    }

    /// What a name or call was resolved to.
    pub fn reference(&self, id: u32) -> Option<&Reference> {
        self.references.get(id as usize).and_then(Option::as_ref)
    }

    /// What a function of the environment does.
    pub(crate) fn implementation(&self, function: &str) -> Option<Implementation> {
        let found = self.implementations.iter().find(|(name, _)| **name == *function);
        found.map(|(_, implementation)| *implementation)
    }

    /// The pattern that a literal is, if it was compiled.
    pub(crate) fn pattern(&self, literal: u32) -> Option<Arc<Regex>> {
        let found = self.patterns.iter().find(|(id, _)| *id == literal);
        found.map(|(_, regex)| Arc::clone(regex))
    }

    /// Whether the expression reads a variable.
    pub fn uses(&self, variable: &str) -> bool {
        self.references
            .iter()
            .flatten()
            .any(|reference| matches!(reference, Reference::Variable(name) if name == variable))
    }

    pub(crate) fn overloads(&self, id: u32) -> &[&'static str] {
        match self.reference(id) {
            Some(Reference::Overloads(ids)) => ids,
            _ => &[],
        }
    }
}

/// Checks an expression against the declarations of an environment.
pub(crate) fn check(source: &Source, mut ast: Ast, env: &Env) -> Result<CheckedAst, Issues> {
    let count = ast.len();
    let mut root = std::mem::replace(
        &mut ast.root,
        Expr {
            id: 0,
            kind: ExprKind::Literal(Literal::Null),
        },
    );
    let mut checker = Checker {
        source,
        offsets: &ast.offsets,
        env,
        types: vec![None; count],
        references: vec![None; count],
        mapping: Mapping::default(),
        variables: 0,
        scopes: Vec::new(),
        issues: Vec::new(),
    };
    checker.check(&mut root);
    let Checker {
        mut types,
        references,
        mapping,
        issues,
        ..
    } = checker;
    if !issues.is_empty() {
        return Err(Issues::new(source, issues));
    }
    for ty in types.iter_mut().flatten() {
        *ty = mapping.substitute(ty, true);
    }
    ast.root = root;
    let mut fitting = CheckedAst {
        ast,
        types,
        references,
        implementations: env.implementations(),
        patterns: Vec::new(),
    };
    let issues = validate::validate(source, &mut fitting, env);
    if issues.is_empty() {
        Ok(fitting)
    } else {
        Err(Issues::new(source, issues))
    }
}

struct Checker<'e> {
    source: &'e Source,
    offsets: &'e [u32],
    env: &'e Env,
    types: Vec<Option<Type>>,
    references: Vec<Option<Reference>>,
    mapping: Mapping,
    variables: u32,
    scopes: Vec<(String, Type)>,
    issues: Vec<Issue>,
}

impl<'e> Checker<'e> {
    /// The function of a name as written, which may lack the container's.
    fn function(&self, name: &str) -> Option<&'e Function> {
        let env = self.env;
        if env.container().is_empty() {
            return env.function(name.strip_prefix('.').unwrap_or(name));
        }
        env.candidates(name).iter().find_map(|name| env.function(name))
    }

    fn report(&mut self, id: u32, message: String) {
        let offset = self.offsets.get(id as usize).copied().unwrap_or(0) as usize;
        self.issues.push(Issue {
            position: Some(self.source.position(offset)),
            message,
        });
    }

    fn set(&mut self, id: u32, ty: Type) {
        self.types[id as usize] = Some(ty);
    }

    fn get(&self, expr: &Expr) -> Type {
        self.types[expr.id as usize].clone().unwrap_or(Type::Error)
    }

    fn fresh(&mut self) -> Type {
        self.variables += 1;
        Type::Var(self.variables - 1)
    }

    fn mismatch(&mut self, id: u32, expected: &Type, found: &Type) {
        self.report(id, format!("expected type '{expected}' but found '{found}'"));
    }

    fn undeclared(&mut self, id: u32, name: &str) {
        let container = self.env.container();
        self.report(
            id,
            format!("undeclared reference to '{name}' (in container '{container}')"),
        );
        self.set(id, Type::Error);
    }

    fn check(&mut self, expr: &mut Expr) {
        let id = expr.id;
        match &mut expr.kind {
            ExprKind::Literal(literal) => {
                let ty = literal_type(literal);
                self.set(id, ty);
            }
            ExprKind::Ident(name) => {
                let name = name.clone();
                if !self.resolve_name(expr, &name) {
                    self.undeclared(id, &name);
                }
            }
            ExprKind::Select { .. } => self.check_select(expr),
            ExprKind::Call { .. } => self.check_call(expr),
            ExprKind::List { elements, optionals } => self.check_list(id, elements, optionals),
            ExprKind::Map(entries) => self.check_map(id, entries),
            ExprKind::Struct { name, fields } => self.check_struct(id, name, fields),
            ExprKind::Comprehension(fold) => self.check_comprehension(id, fold),
        }
    }

    /// Makes the node a reference to a variable or type of that name, if there is one.
    fn resolve_name(&mut self, expr: &mut Expr, name: &str) -> bool {
        if self.env.container().is_empty() {
            return self.resolve_candidate(expr, name.strip_prefix('.').unwrap_or(name));
        }
        let candidates = self.env.candidates(name);
        candidates.iter().any(|name| self.resolve_candidate(expr, name))
    }

    fn resolve_candidate(&mut self, expr: &mut Expr, name: &str) -> bool {
        let local = self.scopes.iter().rev().find(|(scoped, _)| scoped == name);
        let (ty, reference) = if let Some((_, ty)) = local {
            (ty.clone(), Reference::Variable(name.to_owned()))
        } else if let Some(ty) = self.env.variable(name) {
            (ty.clone(), Reference::Variable(name.to_owned()))
        } else if let Some(ty) = self.named_type(name) {
            (Type::Type(Some(Arc::new(ty.clone()))), Reference::TypeName(ty))
        } else if name == wellknown::NULL_VALUE {
            self.set(expr.id, Type::Int);
            expr.kind = ExprKind::Literal(Literal::Int(0));
            return true;
        } else {
            return false;
        };
        self.set(expr.id, ty);
        self.references[expr.id as usize] = Some(reference);
        expr.kind = ExprKind::Ident(name.to_owned());
        true
    }

    fn named_type(&self, name: &str) -> Option<Type> {
        type_name(name)
            .or_else(|| wellknown::well_known_type(name).map(wellknown::WellKnownType::value_type))
            .or_else(|| self.env.open_object(name).map(Type::Object))
    }

    fn check_select(&mut self, expr: &mut Expr) {
        if let Some(name) = qualified_name(expr)
            && self.resolve_name(expr, &name)
        {
            return;
        }
        let id = expr.id;
        let ExprKind::Select {
            operand,
            field,
            test_only,
        } = &mut expr.kind
        else {
            return;
        };
        let result = self.check_field(id, operand, field, false);
        let result = if *test_only {
            Type::Bool
        } else {
            self.mapping.substitute(&result, false)
        };
        self.set(id, result);
    }

    fn check_field(&mut self, id: u32, operand: &mut Expr, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand_type = self.mapping.substitute(&self.get(operand), false);
        let target = operand_type.unwrap_optional().unwrap_or(&operand_type).clone();
        let result = match &target {
            Type::Map(pair) => pair.1.clone(),
            Type::Object(object) => match &object.fields {
                None if self.env.open_object(&object.name).is_some() => Type::Dyn,
                None => {
                    self.report(id, format!("unexpected failed resolution of '{}'", object.name));
                    Type::Error
                }
                // A keyword after a dot is no keyword, so the field need not be escaped.
                Some(fields) => fields
                    .get(field)
                    .or_else(|| keyword_field(fields, field))
                    .cloned()
                    .unwrap_or_else(|| {
                        self.report(id, format!("undefined field '{field}'"));
                        Type::Error
                    }),
            },
            Type::Var(_) => {
                self.mapping.assign(&Type::Dyn, &target);
                Type::Dyn
            }
            other => {
                if !other.is_dyn_or_error() {
                    self.report(id, format!("type '{other}' does not support field selection"));
                }
                Type::Dyn
            }
        };
        if optional || operand_type.unwrap_optional().is_some() {
            Type::optional(result)
        } else {
            result
        }
    }

    fn check_call(&mut self, expr: &mut Expr) {
        let id = expr.id;
        let ExprKind::Call { target, function, args } = &mut expr.kind else {
            return;
        };
        if function == op::OPT_SELECT {
            let [operand, field] = args.as_mut_slice() else { return };
            let ExprKind::Literal(Literal::String(name)) = &field.kind else {
                return;
            };
            let name = name.clone();
            self.set(field.id, Type::String);
            let result = self.check_field(id, operand, &name, true);
            let result = self.mapping.substitute(&result, false);
            self.set(id, result);
            self.references[id as usize] = Some(Reference::Overloads(vec!["select_optional_field"]));
            return;
        }
        for arg in args.iter_mut() {
            self.check(arg);
        }
        if let Some(receiver) = target.as_deref_mut() {
            if let Some(prefix) = qualified_name(receiver)
                && let Some(found) = self.function(&format!("{prefix}.{function}"))
            {
                *target = None;
                found.name.as_ref().clone_into(function);
                self.resolve(id, found, None, args);
                return;
            }
            self.check(receiver);
            match self.env.function(function) {
                Some(found) => self.resolve(id, found, Some(&*receiver), args),
                None => self.undeclared(id, function),
            }
            return;
        }
        match self.function(function) {
            Some(found) => {
                found.name.as_ref().clone_into(function);
                self.resolve(id, found, None, args);
            }
            None => self.undeclared(id, function),
        }
    }

    fn resolve(&mut self, id: u32, function: &'e Function, target: Option<&Expr>, args: &[Expr]) {
        let arg_types: Vec<Type> = target.into_iter().chain(args).map(|arg| self.get(arg)).collect();
        if matches!(function.name.as_ref(), op::AND | op::OR) {
            let mut fits = true;
            for (arg, ty) in args.iter().zip(&arg_types) {
                if !self.mapping.assign(ty, &Type::Bool) {
                    self.mismatch(arg.id, &Type::Bool, ty);
                    fits = false;
                }
            }
            self.set(id, if fits { Type::Bool } else { Type::Error });
            self.references[id as usize] = Some(Reference::Overloads(vec![function.overloads[0].id]));
            return;
        }
        let (mut ids, mut result): (Vec<&'static str>, Option<Type>) = (Vec::new(), None);
        for overload in &function.overloads {
            if overload.member != target.is_some() || !self.env.sees(overload) {
                continue;
            }
            let (params, returned) = if overload.generic {
                let mut named: Vec<(String, u32)> = Vec::new();
                let counter = &mut self.variables;
                let mut fresh = |name: &str| {
                    if let Some((_, number)) = named.iter().find(|(known, _)| known == name) {
                        return *number;
                    }
                    *counter += 1;
                    named.push((name.to_owned(), *counter - 1));
                    *counter - 1
                };
                let params: Vec<Type> = overload
                    .params
                    .iter()
                    .map(|param| instantiate(param, &mut fresh))
                    .collect();
                let returned = instantiate(&overload.result, &mut fresh);
                (std::borrow::Cow::Owned(params), returned)
            } else {
                (
                    std::borrow::Cow::Borrowed(overload.params.as_slice()),
                    overload.result.clone(),
                )
            };
            if !self.mapping.assign_all(&arg_types, &params) {
                continue;
            }
            ids.push(overload.id);
            let returned = self.mapping.substitute(&returned, false);
            result = Some(match result {
                None => returned,
                Some(known) if known.is_dyn() || known == returned => known,
                Some(_) => Type::Dyn,
            });
        }
        if let Some(result) = result {
            self.set(id, result);
            self.references[id as usize] = Some(Reference::Overloads(ids));
        } else {
            let shown: Vec<String> = arg_types
                .iter()
                .map(|ty| self.mapping.substitute(ty, true).to_string())
                .collect();
            let signature = match (target, shown.split_first()) {
                (Some(_), Some((receiver, rest))) => format!("{receiver}.({})", rest.join(", ")),
                _ => format!("({})", shown.join(", ")),
            };
            self.report(
                id,
                format!(
                    "found no matching overload for '{}' applied to '{signature}'",
                    function.name
                ),
            );
            self.set(id, Type::Error);
        }
    }

    fn check_comprehension(&mut self, id: u32, fold: &mut Comprehension) {
        self.check(&mut fold.range);
        self.check(&mut fold.init);
        let range = self.mapping.substitute(&self.get(&fold.range), false);
        let accu = self.get(&fold.init);
        let (first, second) = match &range {
            Type::List(element) if fold.var2.is_some() => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Dyn),
            Type::Map(pair) => (pair.0.clone(), pair.1.clone()),
            Type::Dyn | Type::Error | Type::Var(_) => {
                self.mapping.assign(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                self.report(
                    fold.range.id,
                    format!(
                        "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                    ),
                );
                (Type::Error, Type::Error)
            }
        };
        let outer = self.scopes.len();
        self.scopes.push((fold.accu.clone(), accu.clone()));
        let inner = self.scopes.len();
        self.scopes.push((fold.var.clone(), first));
        if let Some(var2) = &fold.var2 {
            self.scopes.push((var2.clone(), second));
        }
        self.check(&mut fold.condition);
        self.assert(&fold.condition, &Type::Bool);
        self.check(&mut fold.step);
        self.assert(&fold.step, &accu);
        self.scopes.truncate(inner);
        self.check(&mut fold.result);
        self.scopes.truncate(outer);
        let result = self.mapping.substitute(&self.get(&fold.result), false);
        self.set(id, result);
    }

    fn assert(&mut self, expr: &Expr, wanted: &Type) {
        let found = self.get(expr);
        if !self.mapping.assign(wanted, &found) {
            self.mismatch(expr.id, wanted, &found);
        }
    }
}

fn keyword_field<'f>(fields: &'f std::collections::BTreeMap<String, Type>, name: &str) -> Option<&'f Type> {
    crate::names::is_keyword(name)
        .then(|| fields.get(&format!("__{name}__")))
        .flatten()
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// The types that rules can name.
pub(crate) fn type_name(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "list" => Type::list(Type::Dyn),
        "map" => Type::map(Type::Dyn, Type::Dyn),
        "null_type" => Type::Null,
        "type" => Type::Type(None),
        "google.protobuf.Duration" => Type::Duration,
        "google.protobuf.Timestamp" => Type::Timestamp,
        "optional_type" => Type::optional(Type::Dyn),
        "net.IP" | "net.CIDR" => return Type::parse(name),
        _ => return None,
    })
}
