//! `authorizer`: checks that a policy makes of what a user may do. The caller's [`Authorize`] decides them.

use std::fmt;
use std::sync::Arc;

use kubewright_apimachinery::names;

use crate::error::EvalError;
use crate::library::{Implementation, Opaque, wrong};
use crate::value::{Outcome, Value};

/// Decides what a user may do.
pub trait Authorize: fmt::Debug + Send + Sync {
    /// Decides one check.
    fn authorize(&self, check: &AuthorizationCheck) -> Decision;
}

/// A check whether a user may do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationCheck {
    /// The namespace and name of a service account; `None` for the user of the request.
    pub service_account: Option<(String, String)>,
    /// What is to be done, such as `get`.
    pub verb: String,
    /// The path or resource.
    pub target: Target,
}

/// What an [`AuthorizationCheck`] is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A path that is no resource, such as `/healthz`.
    Path(String),
    /// An API resource.
    Resource(ResourceCheck),
}

/// An API resource; empty fields are not part of the check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceCheck {
    /// The group, empty for the core one.
    pub group: String,
    /// The resource, such as `pods`.
    pub resource: String,
    /// The subresource.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
    /// Which objects, by their fields.
    pub field_selector: String,
    /// Which objects, by their labels.
    pub label_selector: String,
}

/// The answer to an [`AuthorizationCheck`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it may be done; an authorizer without an opinion does not allow it.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// What went wrong while deciding.
    pub error: Option<String>,
}

/// A value of this library.
#[derive(Debug, Clone)]
pub struct Authorization {
    by: Arc<dyn Authorize>,
    service_account: Option<(String, String)>,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    Authorizer,
    Group(String),
    Check(Target),
    Decision(Decision),
}

impl Authorization {
    pub(super) fn type_name(&self) -> &'static str {
        match self.state {
            State::Authorizer => "kubernetes.authorization.Authorizer",
            State::Group(_) => "kubernetes.authorization.GroupCheck",
            State::Check(Target::Path(_)) => "kubernetes.authorization.PathCheck",
            State::Check(Target::Resource(_)) => "kubernetes.authorization.ResourceCheck",
            State::Decision(_) => "kubernetes.authorization.Decision",
        }
    }

    fn with(&self, state: State) -> Authorization {
        Authorization { state, ..self.clone() }
    }
}

impl Value<'static> {
    /// The value of the variable `authorizer`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use kubewright_cel::authorizer::{AuthorizationCheck, Authorize, Decision, ResourceCheck};
    /// use kubewright_cel::{Env, Limits, Value};
    ///
    /// #[derive(Debug)]
    /// struct ReadOnly;
    ///
    /// impl Authorize for ReadOnly {
    ///     fn authorize(&self, check: &AuthorizationCheck) -> Decision {
    ///         Decision { allowed: check.verb == "get", ..Decision::default() }
    ///     }
    /// }
    ///
    /// let env = Env::kubernetes().with_authorizer();
    /// let program = env.compile("authorizer.group('').resource('pods').check('delete').allowed()")?;
    /// let variables = [("authorizer", Value::authorizer(Arc::new(ReadOnly)))];
    /// assert!(matches!(program.eval(&variables, Limits::default()).outcome, Ok(Value::Bool(false))));
    ///
    /// let program = env.compile("authorizer.requestResource.check('get').allowed()")?;
    /// let pods = ResourceCheck { resource: "pods".into(), ..ResourceCheck::default() };
    /// let variables = [("authorizer.requestResource", Value::resource_check(Arc::new(ReadOnly), pods))];
    /// assert!(matches!(program.eval(&variables, Limits::default()).outcome, Ok(Value::Bool(true))));
    /// # Ok::<(), kubewright_cel::Issues>(())
    /// ```
    pub fn authorizer(by: Arc<dyn Authorize>) -> Self {
        Self::authorization(by, State::Authorizer)
    }

    /// The value of the variable `authorizer.requestResource`: a check of the resource of the request.
    pub fn resource_check(by: Arc<dyn Authorize>, resource: ResourceCheck) -> Self {
        Self::authorization(by, State::Check(Target::Resource(resource)))
    }

    fn authorization(by: Arc<dyn Authorize>, state: State) -> Self {
        value(Authorization {
            by,
            service_account: None,
            state,
        })
    }
}

fn value<'a>(authorization: Authorization) -> Value<'a> {
    Value::Opaque(Arc::new(Opaque::Authorization(authorization)))
}

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "path" => path,
        "group" => group,
        "serviceAccount" => service_account,
        "resource" => resource,
        "subresource" => |args| refine(args, |check| &mut check.subresource),
        "namespace" => |args| refine(args, |check| &mut check.namespace),
        "name" => |args| refine(args, |check| &mut check.name),
        "fieldSelector" => |args| refine(args, |check| &mut check.field_selector),
        "labelSelector" => |args| refine(args, |check| &mut check.label_selector),
        "check" => check,
        "allowed" => |args| decision(args, |decision| Value::Bool(decision.allowed)),
        "reason" => |args| decision(args, |decision| Value::text(decision.reason.as_str())),
        "errored" => |args| decision(args, |decision| Value::Bool(decision.error.is_some())),
        "error" => |args| {
            decision(args, |decision| {
                Value::text(decision.error.as_deref().unwrap_or_default())
            })
        },
        _ => return None,
    })
}

/// The receiver, what it is, and the other arguments, which are all strings.
fn receiver<'v>(args: &'v [Value<'_>]) -> Result<(&'v Authorization, &'v State, Vec<&'v str>), EvalError> {
    let Some((Value::Opaque(opaque), rest)) = args.split_first() else {
        return Err(EvalError::no_such_overload());
    };
    let Opaque::Authorization(own) = &**opaque else {
        return Err(EvalError::no_such_overload());
    };
    let rest: Option<Vec<&str>> = rest.iter().map(Value::as_str).collect();
    Ok((own, &own.state, rest.ok_or_else(EvalError::no_such_overload)?))
}

fn path<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (own, state, texts) = receiver(args)?;
    let (State::Authorizer, [path]) = (state, texts.as_slice()) else {
        return wrong();
    };
    if path.trim().is_empty() {
        return Err(EvalError::fixed("path must not be empty"));
    }
    Ok(value(own.with(State::Check(Target::Path((*path).to_owned())))))
}

fn group<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (own, state, texts) = receiver(args)?;
    let (State::Authorizer, [group]) = (state, texts.as_slice()) else {
        return wrong();
    };
    Ok(value(own.with(State::Group((*group).to_owned()))))
}

fn resource<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (own, state, texts) = receiver(args)?;
    let (State::Group(group), [resource]) = (state, texts.as_slice()) else {
        return wrong();
    };
    if resource.trim().is_empty() {
        return Err(EvalError::fixed("resource must not be empty"));
    }
    let check = ResourceCheck {
        group: group.clone(),
        resource: (*resource).to_owned(),
        ..ResourceCheck::default()
    };
    Ok(value(own.with(State::Check(Target::Resource(check)))))
}

fn check<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (own, state, texts) = receiver(args)?;
    let (State::Check(target), [verb]) = (state, texts.as_slice()) else {
        return wrong();
    };
    let decision = own.by.authorize(&AuthorizationCheck {
        service_account: own.service_account.clone(),
        verb: (*verb).to_owned(),
        target: target.clone(),
    });
    Ok(value(own.with(State::Decision(decision))))
}

fn service_account<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let (own, state, names) = receiver(args)?;
    let (State::Authorizer, [namespace, name]) = (state, names.as_slice()) else {
        return wrong();
    };
    if !names::is_dns1123_subdomain(name) {
        return Err(EvalError::fixed("Invalid service account name"));
    }
    if !names::is_dns1123_label(namespace) {
        return Err(EvalError::fixed("Invalid service account namespace"));
    }
    Ok(value(Authorization {
        service_account: Some(((*namespace).to_owned(), (*name).to_owned())),
        ..own.clone()
    }))
}

fn refine<'a>(args: &[Value<'a>], field: fn(&mut ResourceCheck) -> &mut String) -> Outcome<'a> {
    let (own, state, texts) = receiver(args)?;
    let (State::Check(Target::Resource(check)), [text]) = (state, texts.as_slice()) else {
        return wrong();
    };
    let mut check = check.clone();
    (*text).clone_into(field(&mut check));
    Ok(value(own.with(State::Check(Target::Resource(check)))))
}

fn decision<'a>(args: &[Value<'a>], of: fn(&Decision) -> Value<'a>) -> Outcome<'a> {
    match receiver(args)? {
        (_, State::Decision(decision), rest) if rest.is_empty() => Ok(of(decision)),
        _ => wrong(),
    }
}
