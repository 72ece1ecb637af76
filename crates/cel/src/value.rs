//! Values while evaluating: what JSON holds is borrowed, what expressions compute is shared.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::decl::{Decl, DeclKind, ListKind};
use crate::error::EvalError;
use crate::library::Opaque;
use crate::library::time::Timestamp;
use crate::types::{ObjectType, Type};

/// The result of an evaluation step.
pub type Outcome<'a> = Result<Value<'a>, EvalError>;

/// A value of an expression.
///
/// ```
/// use kubewright_cel::{Env, Key, Limits, Type, Value};
/// use serde_json::json;
///
/// let object = json!({ "name": "web", "ports": [80, 443], "labels": { "app": "web" } });
/// let value = Value::from_json(&object);
/// assert_eq!((value.type_of().to_string().as_str(), value.size()), ("map(dyn, dyn)", 3));
/// let Value::Map(map) = &value else { unreachable!() };
/// assert!(!map.is_empty() && map.len() == 3 && map.keys().len() == 3);
/// let name = map.get(&Value::text("name")).unwrap().unwrap();
/// assert_eq!((name.as_str(), name.key()), (Some("web"), Some(Key::String("web".into()))));
/// let Some(Value::List(ports)) = map.get(&Value::text("ports")).unwrap() else { unreachable!() };
/// assert!(!ports.is_empty() && ports.iter().count() == ports.len());
/// assert!(matches!(ports.get(1), Some(Ok(Value::Int(443)))));
///
/// // Computed values are values too.
/// let program = Env::standard().compile("[1, 2].map(n, n * 2)").unwrap();
/// let doubled = program.eval(&[], Limits::default()).outcome.unwrap();
/// assert_eq!(doubled.to_json().unwrap(), json!([2, 4]));
/// assert_eq!(Value::list(vec![Value::some(Value::Int(1))]).to_json().unwrap(), json!([1]));
/// # assert_ne!(Type::list(Type::Int), Type::Int);
/// ```
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A double.
    Double(f64),
    /// A string.
    String(Text<'a>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A length of time in nanoseconds.
    Duration(i64),
    /// A point in time.
    Timestamp(Timestamp),
    /// A list.
    List(List<'a>),
    /// A map or an object.
    Map(Map<'a>),
    /// A type.
    Type(Arc<Type>),
    /// A value that may be absent.
    Optional(Option<Arc<Value<'a>>>),
    /// A value of one of Kubernetes' libraries.
    Opaque(Arc<Opaque>),
    /// Data without a schema, which can only be compared.
    Preserved(&'a Json),
    /// An object that an expression built.
    Object(Arc<Object<'a>>),
    /// The fields that [`Program::eval_with`](crate::Program::eval_with) was given, which are computed when they are read.
    Lazy,
}

/// An object that an expression built: `Object.spec{replicas: 3}`.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    /// The name of its type.
    pub type_name: Arc<str>,
    /// The fields that were set.
    pub fields: BTreeMap<Box<str>, Value<'a>>,
}

/// A string, borrowed from the object or computed.
#[derive(Clone)]
pub enum Text<'a> {
    /// Part of the object or of the program.
    Borrowed(&'a str),
    /// Computed.
    Shared(Arc<str>),
}

impl Text<'_> {
    /// The characters.
    pub fn as_str(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// A list, borrowed from the object or computed.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// An array of the object with what its schema says.
    Json {
        /// The elements.
        items: &'a [Json],
        /// The schema of the list; `None` for data without one.
        decl: Option<&'a Decl>,
    },
    /// A computed list. With a declaration, one computed from a list of the object whose semantics it keeps.
    Shared(Arc<Vec<Value<'a>>>, Option<&'a Decl>),
}

/// A map, borrowed from the object or computed.
#[derive(Clone, Debug)]
pub enum Map<'a> {
    /// An object of the object with what its schema says.
    Json {
        /// The fields.
        fields: &'a serde_json::Map<String, Json>,
        /// The schema; `None` for data without one.
        decl: Option<&'a Decl>,
    },
    /// A computed map: normalized key to key and value.
    Shared(Arc<BTreeMap<Key, (Value<'a>, Value<'a>)>>),
}

/// A key of a computed map; numbers that are equal are one key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A boolean.
    Bool(bool),
    /// A number without a fraction.
    Number(i128),
    /// A string.
    String(Box<str>),
    /// `null`
    Null,
    /// A number with a fraction, by its bits.
    Fraction(u64),
}

impl<'a> Value<'a> {
    /// A computed string.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Value::String(Text::Shared(text.into()))
    }

    /// A computed list.
    pub fn list(items: Vec<Value<'a>>) -> Self {
        Value::List(List::Shared(Arc::new(items), None))
    }

    /// A present optional value.
    pub fn some(value: Value<'a>) -> Self {
        Value::Optional(Some(Arc::new(value)))
    }

    /// Data without a schema.
    pub fn from_json(json: &'a Json) -> Self {
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => number
                .as_i64()
                .map_or_else(|| Value::Double(number.as_f64().unwrap_or(f64::NAN)), Value::Int),
            Json::String(text) => Value::String(Text::Borrowed(text)),
            Json::Array(items) => Value::List(List::Json { items, decl: None }),
            Json::Object(fields) => Value::Map(Map::Json { fields, decl: None }),
        }
    }

    /// Data as its schema reads it.
    pub fn typed(json: &'a Json, decl: &'a Decl) -> Outcome<'a> {
        decl.read(json)
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text.as_str()),
            _ => None,
        }
    }

    pub(crate) fn is_optional(&self) -> bool {
        matches!(self, Value::Optional(_))
    }

    /// The name of the value's type at run time.
    pub fn type_of(&self) -> Type {
        match self {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Bool,
            Value::Int(_) => Type::Int,
            Value::Uint(_) => Type::Uint,
            Value::Double(_) => Type::Double,
            Value::String(_) => Type::String,
            Value::Bytes(_) => Type::Bytes,
            Value::Duration(_) => Type::Duration,
            Value::Timestamp(_) => Type::Timestamp,
            Value::List(_) => Type::list(Type::Dyn),
            Value::Map(_) => Type::map(Type::Dyn, Type::Dyn),
            Value::Type(_) => Type::Type(None),
            Value::Optional(_) => Type::optional(Type::Dyn),
            Value::Opaque(opaque) => opaque.type_of(),
            Value::Preserved(_) => Type::Dyn,
            Value::Lazy => Type::Object(Arc::new(ObjectType {
                name: crate::lazy::TYPE_NAME.to_owned(),
                fields: None,
            })),
            Value::Object(object) => Type::Object(Arc::new(ObjectType {
                name: object.type_name.as_ref().to_owned(),
                fields: None,
            })),
        }
    }

    /// The size a cost is computed from: characters, bytes, elements or entries; one for everything else.
    pub fn size(&self) -> u64 {
        match self {
            Value::String(text) => text.as_str().chars().count() as u64,
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::List(list) => list.len() as u64,
            Value::Map(map) => map.len() as u64,
            Value::Optional(Some(value)) => value.size(),
            Value::Opaque(opaque) => opaque.size(),
            _ => 1,
        }
    }

    /// The key of a map this value can be.
    pub fn key(&self) -> Option<Key> {
        Some(match self {
            Value::Bool(value) => Key::Bool(*value),
            Value::Int(value) => Key::Number(i128::from(*value)),
            Value::Uint(value) => Key::Number(i128::from(*value)),
            Value::Double(value) if value.fract() == 0.0 && value.abs() < 1e19 => Key::Number(*value as i128),
            Value::Double(value) => Key::Fraction(value.to_bits()),
            Value::String(text) => Key::String(text.as_str().into()),
            Value::Null => Key::Null,
            _ => return None,
        })
    }
}

impl<'a> List<'a> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            List::Json { items, .. } => items.len(),
            List::Shared(items, _) => items.len(),
        }
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at an index.
    pub fn get(&self, index: usize) -> Option<Outcome<'a>> {
        match self {
            List::Json { items, decl } => items.get(index).map(|item| read_item(item, *decl)),
            List::Shared(items, _) => items.get(index).cloned().map(Ok),
        }
    }

    /// The elements in order.
    pub fn iter(&self) -> impl Iterator<Item = Outcome<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// The schema of the list, if it has one.
    pub(crate) fn decl(&self) -> Option<&'a Decl> {
        match self {
            List::Json { decl, .. } | List::Shared(_, decl) => *decl,
        }
    }

    pub(crate) fn list_kind(&self) -> Option<&'a ListKind> {
        match &self.decl()?.kind {
            DeclKind::List { kind, .. } => Some(kind),
            _ => None,
        }
    }

    /// The elements as values.
    pub(crate) fn values(&self) -> Result<Vec<Value<'a>>, EvalError> {
        match self {
            List::Shared(items, _) => Ok((**items).clone()),
            List::Json { .. } => self.iter().collect(),
        }
    }
}

fn read_item<'a>(item: &'a Json, decl: Option<&'a Decl>) -> Outcome<'a> {
    match decl.map(|decl| &decl.kind) {
        Some(DeclKind::List { items, .. }) => items.read(item),
        _ => Ok(Value::from_json(item)),
    }
}

impl<'a> Map<'a> {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        match self {
            Map::Json { fields, .. } => fields.len(),
            Map::Shared(entries) => entries.len(),
        }
    }

    /// Whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a field as an expression names it: of an object by its escaped, of a map by its plain name.
    pub(crate) fn field(&self, name: &str, unescaped: Option<&str>) -> Option<Outcome<'a>> {
        match self {
            Map::Json { fields, decl } => match decl.map(|decl| &decl.kind) {
                None => fields.get(name).map(|value| Ok(Value::from_json(value))),
                Some(DeclKind::Map(values)) => fields.get(name).map(|value| values.read(value)),
                Some(DeclKind::Object { properties }) => {
                    let name = unescaped?;
                    let value = fields.get(name).filter(|value| !value.is_null())?;
                    properties.get(name).map(|property| property.read(value))
                }
                Some(_) => None,
            },
            Map::Shared(entries) => entries
                .get(&Key::String(name.into()))
                .map(|(_, value)| Ok(value.clone())),
        }
    }

    /// The value under a key.
    pub fn get(&self, key: &Value<'_>) -> Result<Option<Value<'a>>, EvalError> {
        match (self, key) {
            (Map::Json { decl, .. }, Value::String(name)) => {
                let name = name.as_str();
                let is_object = decl.is_some_and(|decl| matches!(decl.kind, DeclKind::Object { .. }));
                if is_object && name.contains("__") {
                    let unescaped = crate::names::unescape(name);
                    return self.field(name, unescaped.as_deref()).transpose();
                }
                self.field(name, Some(name)).transpose()
            }
            (Map::Json { decl: Some(_), .. }, _) => Err(EvalError::no_such_overload()),
            (Map::Json { decl: None, .. }, _) => Ok(None),
            (Map::Shared(entries), key) => Ok(key
                .key()
                .and_then(|key| entries.get(&key))
                .map(|(_, value)| value.clone())),
        }
    }

    /// The keys in order.
    pub fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Map::Json { fields, decl } => fields
                .keys()
                .filter_map(|key| match decl.map(|decl| &decl.kind) {
                    None | Some(DeclKind::Map(_)) => Some(Value::String(Text::Borrowed(key))),
                    Some(DeclKind::Object { properties }) => {
                        properties.get(key)?;
                        Some(match crate::names::escape(key) {
                            Some(escaped) if escaped != *key => Value::text(escaped),
                            _ => Value::String(Text::Borrowed(key)),
                        })
                    }
                    Some(_) => None,
                })
                .collect(),
            Map::Shared(entries) => entries.values().map(|(key, _)| key.clone()).collect(),
        }
    }
}

impl fmt::Display for Value<'_> {
    /// The value as messages show it and `string()` converts it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::library::display(self))
    }
}
