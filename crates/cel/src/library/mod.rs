//! What the functions do. Each file is one library of cel-go or Kubernetes.
//! Overloads are distinguished by the kinds of the arguments, so that one function implements all overloads.

mod arithmetic;
pub(crate) mod authorizer;
mod conversion;
mod encoders;
mod format_string;
mod formats;
mod lists;
mod math;
mod net;
mod optional;
mod quantity;
pub(crate) mod regex;
mod semver;
mod sets;
mod strings;
pub(crate) mod time;
mod url;
mod zones;

use kubewright_apimachinery::url::Url;
use kubewright_quantity::Quantity;

use crate::error::EvalError;
use crate::eval::ops;
use crate::types::Type;
use crate::value::{Outcome, Value};

/// A function of its arguments; the receiver of a method is the first one.
pub type Implementation = for<'a> fn(&[Value<'a>]) -> Outcome<'a>;

pub(crate) use conversion::display;

/// A value of one of Kubernetes' types.
#[derive(Debug)]
pub enum Opaque {
    /// A resource quantity.
    Quantity(Quantity),
    /// An IP address.
    Ip(std::net::IpAddr),
    /// A network: address and length of its prefix.
    Cidr(std::net::IpAddr, u8),
    /// A URL.
    Url(Url),
    /// A semantic version.
    Semver(semver::Semver),
    /// A named format.
    Format(&'static formats::Format),
    /// `authorizer`, or a value that its methods return.
    Authorization(authorizer::Authorization),
}

impl Opaque {
    pub(crate) fn type_of(&self) -> Type {
        let name = match self {
            Opaque::Quantity(_) => "kubernetes.Quantity",
            Opaque::Ip(_) => "net.IP",
            Opaque::Cidr(..) => "net.CIDR",
            Opaque::Url(_) => "kubernetes.URL",
            Opaque::Semver(_) => "kubernetes.Semver",
            Opaque::Format(_) => "kubernetes.NamedFormat",
            Opaque::Authorization(authorization) => authorization.type_name(),
        };
        Type::parse(name).unwrap_or(Type::Dyn)
    }

    /// The size costs are computed from.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Opaque::Ip(address) => u64::from(net::bits(address)).div_ceil(8),
            Opaque::Cidr(_, prefix) => u64::from(*prefix).div_ceil(8),
            _ => 1,
        }
    }

    /// The length of the pattern a named format is checked with.
    pub(crate) fn pattern_size(&self) -> u64 {
        match self {
            Opaque::Format(format) => format.pattern_size,
            _ => 1,
        }
    }

    pub(crate) fn equals(&self, other: &Opaque) -> Result<bool, EvalError> {
        Ok(match (self, other) {
            (Opaque::Quantity(left), Opaque::Quantity(right)) => left == right,
            (Opaque::Ip(left), Opaque::Ip(right)) => left == right,
            (Opaque::Cidr(left, left_bits), Opaque::Cidr(right, right_bits)) => {
                left == right && left_bits == right_bits
            }
            (Opaque::Url(left), Opaque::Url(right)) => left == right,
            (Opaque::Semver(left), Opaque::Semver(right)) => left.order(right).is_eq(),
            (Opaque::Format(left), Opaque::Format(right)) => left.name == right.name,
            _ => return Err(EvalError::no_such_overload()),
        })
    }
}

pub(crate) fn wrong<'a>() -> Outcome<'a> {
    Err(EvalError::no_such_overload())
}

/// The implementation of a function by its name.
pub(crate) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "_+_" => arithmetic::add,
        "_-_" => arithmetic::subtract,
        "_*_" => arithmetic::multiply,
        "_/_" => arithmetic::divide,
        "_%_" => arithmetic::modulo,
        "-_" => arithmetic::negate,
        "!_" => arithmetic::not,
        "@in" => ops::contains,
        "size" => conversion::size,
        "type" => conversion::type_of,
        "dyn" => conversion::dynamic,
        "bool" => conversion::bool,
        "int" => conversion::int,
        "uint" => conversion::uint,
        "double" => conversion::double,
        "string" => conversion::string,
        "bytes" => conversion::bytes,
        "duration" => conversion::duration,
        "timestamp" => conversion::timestamp,
        _ => {
            return strings::implementation(name)
                .or_else(|| lists::implementation(name))
                .or_else(|| time::implementation(name))
                .or_else(|| kubernetes(name))
                .or_else(|| extensions(name));
        }
    })
}

fn kubernetes(name: &str) -> Option<Implementation> {
    net::implementation(name)
        .or_else(|| authorizer::implementation(name))
        .or_else(|| url::implementation(name))
        .or_else(|| quantity::implementation(name))
        .or_else(|| formats::implementation(name))
}

fn extensions(name: &str) -> Option<Implementation> {
    regex::implementation(name)
        .or_else(|| sets::implementation(name))
        .or_else(|| optional::implementation(name))
        .or_else(|| math::implementation(name))
        .or_else(|| encoders::implementation(name))
}
