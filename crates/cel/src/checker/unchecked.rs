//! Names with dots in an expression that is not checked: which of them is a variable follows from the environment.

use crate::ast::{Expr, ExprKind, qualified_name};
use crate::env::Env;

/// Turns `a.b.c` into the variable of that name where the environment declares one.
pub(crate) fn resolve_names(expr: &mut Expr, env: &Env, locals: &mut Vec<String>) {
    if let Some(name) = qualified_name(expr) {
        let first = name.split('.').next().unwrap_or_default();
        let hidden = locals.iter().any(|local| local == first);
        let candidates = env.candidates(&name);
        if !hidden && let Some(variable) = candidates.into_iter().find(|name| env.has_variable(name)) {
            expr.kind = ExprKind::Ident(variable);
            return;
        }
    }
    match &mut expr.kind {
        ExprKind::Literal(_) | ExprKind::Ident(_) => {}
        ExprKind::Select { operand, .. } => resolve_names(operand, env, locals),
        ExprKind::Call { target, args, .. } => {
            for part in target.as_deref_mut().into_iter().chain(args) {
                resolve_names(part, env, locals);
            }
        }
        ExprKind::List { elements, .. } => {
            for element in elements {
                resolve_names(element, env, locals);
            }
        }
        ExprKind::Map(entries) => {
            for entry in entries {
                resolve_names(&mut entry.key, env, locals);
                resolve_names(&mut entry.value, env, locals);
            }
        }
        ExprKind::Struct { name, fields } => {
            let known = env.candidates(name).into_iter().find(|name| env.knows_object(name));
            *name = known.unwrap_or_else(|| std::mem::take(name));
            for field in fields {
                resolve_names(&mut field.value, env, locals);
            }
        }
        ExprKind::Comprehension(fold) => {
            resolve_names(&mut fold.range, env, locals);
            resolve_names(&mut fold.init, env, locals);
            let outer = locals.len();
            locals.push(fold.accu.clone());
            let inner = locals.len();
            locals.push(fold.var.clone());
            locals.extend(fold.var2.clone());
            resolve_names(&mut fold.condition, env, locals);
            resolve_names(&mut fold.step, env, locals);
            locals.truncate(inner);
            resolve_names(&mut fold.result, env, locals);
            locals.truncate(outer);
        }
    }
}
