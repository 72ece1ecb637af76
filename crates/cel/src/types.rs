//! The types of expressions and how they are written in messages.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The type of an expression.
///
/// ```
/// use kubewright_cel::Type;
///
/// let ports = Type::map(Type::String, Type::list(Type::Int));
/// assert_eq!(ports.to_string(), "map(string, list(int))");
/// assert_eq!(Type::optional(Type::Int).unwrap_optional(), Some(&Type::Int));
/// assert_eq!(ports.unwrap_optional(), None);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// Anything; checked when evaluated.
    Dyn,
    /// The type of an expression with a mistake, so that one mistake is reported once.
    Error,
    /// The type of `null`.
    Null,
    /// Booleans.
    Bool,
    /// 64-bit signed integers.
    Int,
    /// 64-bit unsigned integers.
    Uint,
    /// Doubles.
    Double,
    /// Strings.
    String,
    /// Bytes.
    Bytes,
    /// Lengths of time.
    Duration,
    /// Points in time.
    Timestamp,
    /// Lists of one element type.
    List(Arc<Type>),
    /// Maps of one key and one value type.
    Map(Arc<(Type, Type)>),
    /// Objects with named fields.
    Object(Arc<ObjectType>),
    /// Types of libraries, such as `net.IP` and `optional_type(int)`.
    Opaque(Arc<str>, Arc<[Type]>),
    /// The type of a type.
    Type(Option<Arc<Type>>),
    /// A type parameter of a declaration.
    Param(Arc<str>),
    /// A type parameter of one call, found while checking.
    Var(u32),
}

/// An object type: a name and, unless it is opaque to selection, its fields.
#[derive(Debug)]
pub struct ObjectType {
    /// The name, which identifies an object type.
    pub name: String,
    /// The fields under the names rules use; `None` for types of libraries.
    pub fields: Option<BTreeMap<String, Type>>,
}

impl PartialEq for ObjectType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

pub(crate) const OPTIONAL: &str = "optional_type";
/// Messages that hold one value or none.
pub(crate) const WRAPPER: &str = "wrapper";

impl Type {
    /// `list(element)`
    pub fn list(element: Type) -> Self {
        Type::List(Arc::new(element))
    }

    /// `map(key, value)`
    pub fn map(key: Type, value: Type) -> Self {
        Type::Map(Arc::new((key, value)))
    }

    /// `optional_type(value)`
    pub fn optional(value: Type) -> Self {
        Type::Opaque(OPTIONAL.into(), Arc::new([value]))
    }

    /// The value type of an optional type.
    pub fn unwrap_optional(&self) -> Option<&Type> {
        match self {
            Type::Opaque(name, params) if &**name == OPTIONAL => params.first(),
            _ => None,
        }
    }

    /// What a wrapper holds; every other type itself.
    pub(crate) fn unwrapped(&self) -> &Type {
        match self {
            Type::Opaque(name, params) if &**name == WRAPPER => params.first().unwrap_or(self),
            _ => self,
        }
    }

    /// The name of the type of values at run time, where parameters are gone.
    pub(crate) fn runtime_name(&self) -> String {
        match self.unwrapped() {
            Type::List(_) => "list".to_owned(),
            Type::Map(_) => "map".to_owned(),
            Type::Type(_) => "type".to_owned(),
            Type::Null => "null_type".to_owned(),
            Type::Duration => "google.protobuf.Duration".to_owned(),
            Type::Timestamp => "google.protobuf.Timestamp".to_owned(),
            Type::Opaque(name, _) => name.as_ref().to_owned(),
            other => other.to_string(),
        }
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Type::Dyn)
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Type::Dyn | Type::Error)
    }

    /// The type parameters, in order.
    pub(crate) fn params(&self) -> Vec<Type> {
        match self {
            Type::List(element) => vec![(**element).clone()],
            Type::Map(pair) => vec![pair.0.clone(), pair.1.clone()],
            Type::Opaque(_, params) => params.to_vec(),
            Type::Type(Some(inner)) => vec![(**inner).clone()],
            _ => Vec::new(),
        }
    }

    /// Reads a type as messages and the function table write it.
    pub(crate) fn parse(text: &str) -> Option<Type> {
        let text = text.trim();
        if let Some((name, rest)) = text.split_once('(') {
            let inner = rest.strip_suffix(')')?;
            let params = split_params(inner)
                .into_iter()
                .map(Type::parse)
                .collect::<Option<Vec<_>>>()?;
            return match (name, params.as_slice()) {
                ("list", [element]) => Some(Type::list(element.clone())),
                ("map", [key, value]) => Some(Type::map(key.clone(), value.clone())),
                ("type", [inner]) => Some(Type::Type(Some(Arc::new(inner.clone())))),
                _ => Some(Type::Opaque(name.into(), params.into())),
            };
        }
        Some(match text {
            "dyn" | "any" => Type::Dyn,
            "null" => Type::Null,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "duration" => Type::Duration,
            "timestamp" => Type::Timestamp,
            "type" => Type::Type(None),
            name if name.len() == 1 => Type::Param(name.into()),
            name if name.starts_with("net.") => Type::Opaque(name.into(), Arc::new([])),
            name => Type::Object(Arc::new(ObjectType {
                name: name.to_owned(),
                fields: None,
            })),
        })
    }
}

fn split_params(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dyn => f.write_str("dyn"),
            Type::Error => f.write_str("!error!"),
            Type::Null => f.write_str("null"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::Uint => f.write_str("uint"),
            Type::Double => f.write_str("double"),
            Type::String => f.write_str("string"),
            Type::Bytes => f.write_str("bytes"),
            Type::Duration => f.write_str("duration"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::List(element) => write!(f, "list({element})"),
            Type::Map(pair) => write!(f, "map({}, {})", pair.0, pair.1),
            Type::Object(object) => f.write_str(&object.name),
            Type::Opaque(name, params) if params.is_empty() => f.write_str(name),
            Type::Opaque(name, params) => {
                let params: Vec<String> = params.iter().map(ToString::to_string).collect();
                write!(f, "{name}({})", params.join(", "))
            }
            Type::Type(None) => f.write_str("type"),
            Type::Type(Some(inner)) => write!(f, "type({inner})"),
            Type::Param(name) => f.write_str(name),
            Type::Var(number) => write!(f, "_var{number}"),
        }
    }
}
