//! What an expression may refer to: variables, object types, functions and the libraries.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::functions::{self, Function, Origin, Overload, has_param};
use crate::library::Implementation;
use crate::parser::ParseOptions;
use crate::types::{ObjectType, Type};
use crate::wellknown;

/// The type of the operations of a JSON patch.
pub(crate) const JSON_PATCH: &str = "JSONPatch";
/// The type of objects that policies build; those of their fields are named after it, as in `Object.spec`.
const OBJECT: &str = "Object";

/// The declarations an expression is checked against.
///
/// ```
/// use kubewright_cel::{Env, Limits, Type, Value};
///
/// let env = Env::kubernetes().with_variable("replicas", Type::Int);
/// let program = env.compile("replicas > 1 ? 'many' : 'one'")?;
/// let evaluation = program.eval(&[("replicas", Value::Int(3))], Limits::default());
/// assert_eq!(evaluation.outcome.unwrap().as_str(), Some("many"));
/// assert!(env.compile("replica > 1").is_err());
/// # Ok::<(), kubewright_cel::Issues>(())
/// ```
///
/// ```
/// use kubewright_cel::{Env, Limits, Type, Value};
///
/// let env = Env::kubernetes().with_variable("self", Type::list(Type::Int));
/// assert!(env.has_variable("self") && !env.has_variable("oldSelf"));
/// let program = env.compile("self.sum() > 5").unwrap();
/// let numbers = serde_json::json!([1, 2, 3]);
/// let outcome = program.eval(&[("self", Value::from_json(&numbers))], Limits::default()).outcome;
/// assert!(matches!(outcome, Ok(Value::Bool(true))));
///
/// // A rule of a CRD may not have lists of several types and may not use `authorizer`.
/// assert!(env.check("[1, 'a']").is_err() && Env::standard().check("[1, 'a']").is_ok());
/// assert!(env.with_authorizer().check("authorizer.path('/healthz').check('get').allowed()").is_ok());
/// let inside = Env::standard().with_container("shop").with_variable("shop.open", Type::Bool);
/// assert!(inside.check("open").is_ok());
/// ```
#[derive(Debug, Clone)]
pub struct Env {
    variables: BTreeMap<String, Type>,
    objects: BTreeMap<String, Arc<ObjectType>>,
    functions: BTreeMap<String, Arc<Function>>,
    implementations: Vec<(Box<str>, Implementation)>,
    container: String,
    extensions: bool,
    mutation: bool,
    options: ParseOptions,
}

/// What a function that an environment declares takes and gives.
#[derive(Debug, Clone)]
pub struct Signature {
    /// Whether it is called on a receiver, which then is the first parameter.
    pub member: bool,
    /// The types of the parameters; `Type::Param` is one that may be anything.
    pub params: Vec<Type>,
    /// The type of the value.
    pub result: Type,
}

impl Env {
    /// What Kubernetes 1.36 offers: its libraries, lists and maps of one type.
    pub fn kubernetes() -> Self {
        Self {
            variables: BTreeMap::new(),
            objects: BTreeMap::new(),
            functions: BTreeMap::new(),
            implementations: Vec::new(),
            container: String::new(),
            extensions: false,
            mutation: false,
            options: ParseOptions::KUBERNETES,
        }
    }

    /// Everything this crate knows, with lists and maps of mixed types, as the specification has it.
    pub fn standard() -> Self {
        Self {
            extensions: true,
            options: ParseOptions::ALL,
            ..Self::kubernetes()
        }
    }

    /// Declares a variable and the object types it brings along.
    pub fn with_variable(mut self, name: &str, ty: Type) -> Self {
        self.collect_objects(&ty);
        self.variables.insert(name.to_owned(), ty);
        self
    }

    /// Declares a function or one more signature of it. Without an implementation it can be checked, not run.
    ///
    /// ```
    /// use kubewright_cel::{Env, EvalError, Limits, Signature, Type, Value};
    ///
    /// let signature = Signature { member: true, params: vec![Type::Int], result: Type::Int };
    /// let env = Env::kubernetes().with_function("double", signature, Some(|args| match args {
    ///     [Value::Int(value)] => Ok(Value::Int(value.wrapping_mul(2))),
    ///     _ => Err(EvalError::new("no such overload")),
    /// }));
    /// let program = env.compile("21.double()")?;
    /// assert!(matches!(program.eval(&[], Limits::default()).outcome, Ok(Value::Int(42))));
    /// # Ok::<(), kubewright_cel::Issues>(())
    /// ```
    pub fn with_function(mut self, name: &str, signature: Signature, implementation: Option<Implementation>) -> Self {
        let Signature { member, params, result } = signature;
        let generic = params.iter().chain([&result]).any(has_param);
        let overload = Overload {
            id: "",
            member,
            origin: Origin::Declared,
            params,
            result,
            generic,
        };
        let mut overloads = match self.functions.get(name) {
            Some(declared) => declared.overloads.clone(),
            None => functions::lookup(name).map_or_else(Vec::new, |known| known.overloads.clone()),
        };
        overloads.push(overload);
        let function = Function {
            name: Cow::Owned(name.to_owned()),
            overloads,
        };
        self.functions.insert(name.to_owned(), Arc::new(function));
        if let Some(implementation) = implementation {
            self.implementations.push((name.into(), implementation));
        }
        self
    }

    /// Declares what a `MutatingAdmissionPolicy` may use beyond the rest: the types `JSONPatch`, `Object` and
    /// `Object.<field>…`, which it builds, and `jsonpatch.escapeKey`.
    pub fn with_mutation(mut self) -> Self {
        self.mutation = true;
        let field = |name: &str, ty: Type| (name.to_owned(), ty);
        let patch = ObjectType {
            name: JSON_PATCH.to_owned(),
            fields: Some(BTreeMap::from([
                field("op", Type::String),
                field("path", Type::String),
                field("from", Type::String),
                field("value", Type::Dyn),
            ])),
        };
        self.objects.insert(JSON_PATCH.to_owned(), Arc::new(patch));
        self
    }

    /// The same for objects of a type: `Object` and `Object.<field>…` have the fields that it has, of any value. What is within its
    /// `metadata`, within maps and within values of any type stays open.
    pub fn with_mutation_of(mut self, object: &Type) -> Self {
        self = self.with_mutation();
        self.declare_built(OBJECT.to_owned(), object);
        self
    }

    fn declare_built(&mut self, name: String, ty: &Type) {
        match ty {
            Type::List(elements) => self.declare_built(name, elements),
            Type::Object(object) => {
                let Some(fields) = &object.fields else { return };
                let is_root = name == OBJECT;
                for (field, ty) in fields {
                    if !(is_root && field == "metadata") {
                        self.declare_built(format!("{name}.{field}"), ty);
                    }
                }
                let own = fields.keys().cloned();
                let of_root = is_root.then(|| "metadata".to_owned());
                let built = ObjectType {
                    name: name.clone(),
                    fields: Some(own.chain(of_root).map(|field| (field, Type::Dyn)).collect()),
                };
                self.objects.insert(name, Arc::new(built));
            }
            _ => {}
        }
    }

    /// Declares `authorizer`, which admission policies ask what the user may do, and `authorizer.requestResource`.
    /// Rules of a CRD have neither.
    pub fn with_authorizer(self) -> Self {
        let ty = |name: &str| {
            Type::Object(Arc::new(ObjectType {
                name: format!("kubernetes.authorization.{name}"),
                fields: None,
            }))
        };
        self.with_variable("authorizer", ty("Authorizer"))
            .with_variable("authorizer.requestResource", ty("ResourceCheck"))
    }

    /// The namespace in which names are looked up first; `a.b` finds `x` as `a.b.x`, `a.x` or `x`.
    pub fn with_container(mut self, container: &str) -> Self {
        container.clone_into(&mut self.container);
        self
    }

    fn collect_objects(&mut self, ty: &Type) {
        if let Type::Object(object) = ty
            && let Some(fields) = &object.fields
            && self.objects.insert(object.name.clone(), object.clone()).is_none()
        {
            for field in fields.values() {
                self.collect_objects(field);
            }
        }
        for param in &ty.params() {
            self.collect_objects(param);
        }
    }

    /// Whether a variable of this name is declared.
    pub fn has_variable(&self, name: &str) -> bool {
        self.variables.contains_key(name)
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Type> {
        self.variables.get(name)
    }

    pub(crate) fn object(&self, name: &str) -> Option<&Arc<ObjectType>> {
        self.objects.get(name)
    }

    /// The type of this name that has every field, if policies may build it.
    pub(crate) fn open_object(&self, name: &str) -> Option<Arc<ObjectType>> {
        let is_object = name
            .strip_prefix(OBJECT)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        (self.mutation && is_object).then(|| {
            Arc::new(ObjectType {
                name: name.to_owned(),
                fields: None,
            })
        })
    }

    /// Whether an object literal of this name can be built.
    pub(crate) fn knows_object(&self, name: &str) -> bool {
        self.object(name).is_some() || wellknown::well_known_type(name).is_some() || self.open_object(name).is_some()
    }

    /// The function with this name, if any overload of it is visible.
    pub(crate) fn function(&self, name: &str) -> Option<&Function> {
        if let Some(declared) = self.functions.get(name) {
            return Some(declared);
        }
        functions::lookup(name).filter(|function| function.overloads.iter().any(|overload| self.sees(overload)))
    }

    pub(crate) fn implementations(&self) -> Vec<(Box<str>, Implementation)> {
        self.implementations.clone()
    }

    /// Whether an overload is one of this environment.
    pub(crate) fn sees(&self, overload: &Overload) -> bool {
        match overload.origin {
            Origin::Kubernetes | Origin::Declared => true,
            Origin::Mutation => self.mutation,
            Origin::Extension => self.extensions,
        }
    }

    pub(crate) fn container(&self) -> &str {
        &self.container
    }

    /// What a name may stand for, the innermost namespace first; a leading dot means the root.
    pub(crate) fn candidates(&self, name: &str) -> Vec<String> {
        if let Some(absolute) = name.strip_prefix('.') {
            return vec![absolute.to_owned()];
        }
        let mut container = self.container.as_str();
        let mut candidates = Vec::new();
        while !container.is_empty() {
            candidates.push(format!("{container}.{name}"));
            container = container.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        candidates.push(name.to_owned());
        candidates
    }

    /// Whether literals may mix types.
    pub(crate) fn mixed_aggregates(&self) -> bool {
        self.extensions
    }

    pub(crate) fn options(&self) -> ParseOptions {
        self.options
    }
}
