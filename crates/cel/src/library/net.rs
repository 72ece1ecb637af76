//! IP addresses and networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use kubewright_apimachinery::go::quote;

use crate::error::EvalError;
use crate::library::{Implementation, Opaque, wrong};
use crate::value::{Outcome, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "ip" => ip,
        "isIP" => |args| test_text(args, |text| parse_ip(text).is_ok()),
        "ip.isCanonical" => is_canonical,
        "cidr" => cidr,
        "isCIDR" => |args| test_text(args, |text| parse_cidr(text).is_ok()),
        "family" => |args| match address(args)? {
            IpAddr::V4(_) => Ok(Value::Int(4)),
            IpAddr::V6(_) => Ok(Value::Int(6)),
        },
        "isUnspecified" => |args| address(args).map(|address| Value::Bool(address.is_unspecified())),
        "isLoopback" => |args| address(args).map(|address| Value::Bool(address.is_loopback())),
        "isLinkLocalMulticast" => |args| address(args).map(|address| Value::Bool(link_local_multicast(&address))),
        "isLinkLocalUnicast" => |args| address(args).map(|address| Value::Bool(link_local_unicast(&address))),
        "isGlobalUnicast" => |args| address(args).map(|address| Value::Bool(global_unicast(&address))),
        "containsIP" => contains_ip,
        "containsCIDR" => contains_cidr,
        "masked" => |args| network(args).map(|(address, prefix)| opaque(Opaque::Cidr(mask(address, prefix), prefix))),
        "prefixLength" => |args| network(args).map(|(_, prefix)| Value::Int(i64::from(prefix))),
        _ => return None,
    })
}

pub(super) fn opaque<'a>(value: Opaque) -> Value<'a> {
    Value::Opaque(Arc::new(value))
}

fn test_text<'a>(args: &[Value<'a>], holds: fn(&str) -> bool) -> Outcome<'a> {
    match args {
        [Value::String(text)] => Ok(Value::Bool(holds(text.as_str()))),
        _ => wrong(),
    }
}

fn address(args: &[Value<'_>]) -> Result<IpAddr, EvalError> {
    match args {
        [Value::Opaque(value)] => match &**value {
            Opaque::Ip(address) => Ok(*address),
            _ => Err(EvalError::no_such_overload()),
        },
        _ => Err(EvalError::no_such_overload()),
    }
}

fn network(args: &[Value<'_>]) -> Result<(IpAddr, u8), EvalError> {
    match args {
        [Value::Opaque(value), ..] => match &**value {
            Opaque::Cidr(address, prefix) => Ok((*address, *prefix)),
            _ => Err(EvalError::no_such_overload()),
        },
        _ => Err(EvalError::no_such_overload()),
    }
}

/// How many bits an address of this family has.
pub(super) fn bits(address: &IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

pub(super) fn text(value: &Opaque) -> String {
    match value {
        Opaque::Ip(address) => address.to_string(),
        Opaque::Cidr(address, prefix) => format!("{address}/{prefix}"),
        other => format!("{other:?}"),
    }
}

fn parse_ip(text: &str) -> Result<IpAddr, EvalError> {
    let refuse = |why: String| {
        EvalError::new(format!(
            "IP Address {} parse error during conversion from string: {why}",
            quote(text)
        ))
    };
    let (bare, zone) = text
        .split_once('%')
        .map_or((text, None), |(bare, zone)| (bare, Some(zone)));
    let address: IpAddr = bare.parse().map_err(|_| refuse(parse_failure(text)))?;
    match zone {
        Some(_) if address.is_ipv4() => return Err(refuse(parse_failure(text))),
        Some("") => {
            return Err(refuse(format!(
                "ParseAddr({}): zone must be a non-empty string",
                quote(text)
            )));
        }
        Some(_) => {
            return Err(EvalError::new(format!(
                "IP address {} with zone value is not allowed",
                quote(text)
            )));
        }
        None => {}
    }
    refuse_mapped(text, &address)?;
    Ok(address)
}

fn refuse_mapped(text: &str, address: &IpAddr) -> Result<(), EvalError> {
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => Err(EvalError::new(format!(
            "IPv4-mapped IPv6 address {} is not allowed",
            quote(text)
        ))),
        _ => Ok(()),
    }
}

/// The message of Go's parser for a text that is not an address.
fn parse_failure(text: &str) -> String {
    let shown = quote(text);
    for c in text.chars() {
        match c {
            '.' => return format!("ParseAddr({shown}): {}", v4_failure(text)),
            ':' => return format!("ParseAddr({shown}): {}", v6_failure(text)),
            '%' => return format!("ParseAddr({shown}): missing IPv6 address"),
            _ => {}
        }
    }
    format!("ParseAddr({shown}): unable to parse IP")
}

fn v4_failure(text: &str) -> String {
    let fields: Vec<&str> = text.split('.').collect();
    let mut offset = 0;
    for (index, field) in fields.iter().enumerate() {
        if let Some(at) = field.find(|c: char| !c.is_ascii_digit()) {
            return format!("unexpected character (at {})", quote(&text[offset + at..]));
        }
        if field.is_empty() {
            return format!(
                "IPv4 field must have at least one digit (at {})",
                quote(&text[offset.saturating_sub(usize::from(index > 0 && offset == text.len()))..])
            );
        }
        if field.len() > 1 && field.starts_with('0') {
            return "IPv4 field has octet with leading zero".to_owned();
        }
        if field.parse::<u32>().is_ok_and(|value| value > 255) || field.len() > 3 {
            return "IPv4 field has value >255".to_owned();
        }
        offset += field.len() + 1;
    }
    if fields.len() > 4 {
        "IPv4 address too long".to_owned()
    } else {
        "IPv4 address too short".to_owned()
    }
}

fn v6_failure(text: &str) -> String {
    let mut offset = 0;
    for field in text.split(':') {
        if let Some(at) = field.find(|c: char| !c.is_ascii_hexdigit() && c != '.') {
            return format!(
                "each colon-separated field must have at least one digit (at {})",
                quote(&text[offset + at..])
            );
        }
        if field.len() > 4 && !field.contains('.') {
            return format!("each group must have 4 or less digits (at {})", quote(&text[offset..]));
        }
        offset += field.len() + 1;
    }
    "address string too short".to_owned()
}

fn ip<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::String(text)] => parse_ip(text.as_str()).map(|address| opaque(Opaque::Ip(address))),
        [Value::Opaque(_)] => network(args).map(|(address, _)| opaque(Opaque::Ip(address))),
        _ => wrong(),
    }
}

fn is_canonical<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::String(text)] => {
            let address = parse_ip(text.as_str())?;
            Ok(Value::Bool(address.to_string() == text.as_str()))
        }
        _ => wrong(),
    }
}

fn parse_cidr(text: &str) -> Result<(IpAddr, u8), EvalError> {
    let refuse = |why: &str| {
        EvalError::new(format!(
            "network address parse error during conversion from string: netip.ParsePrefix({}): {why}",
            quote(text)
        ))
    };
    let (address, prefix) = text.rsplit_once('/').ok_or_else(|| refuse("no '/'"))?;
    if address.contains('%') {
        return Err(refuse("IPv6 zones cannot be present in a prefix"));
    }
    let parsed: IpAddr = address.parse().map_err(|_| refuse(&parse_failure(address)))?;
    let plain = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || (prefix.len() > 1 && prefix.starts_with('0')) {
        return Err(refuse(&format!("bad bits after slash: {}", quote(prefix))));
    }
    let length = prefix.parse::<u32>().ok().filter(|length| *length <= bits(&parsed));
    let length = length.ok_or_else(|| refuse("prefix length out of range"))?;
    refuse_mapped(text, &parsed)?;
    Ok((parsed, length as u8))
}

/// The conversion of a text repeats what its parser says.
fn convert_cidr(text: &str) -> Result<(IpAddr, u8), EvalError> {
    parse_cidr(text).map_err(|error| {
        EvalError::new(format!(
            "network address parse error during conversion from string: {error}"
        ))
    })
}

fn cidr<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::String(text)] => {
            convert_cidr(text.as_str()).map(|(address, prefix)| opaque(Opaque::Cidr(address, prefix)))
        }
        _ => wrong(),
    }
}

fn mask(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
        }
    }
}

fn contains(network: (IpAddr, u8), address: IpAddr) -> bool {
    network.0.is_ipv4() == address.is_ipv4() && mask(network.0, network.1) == mask(address, network.1)
}

fn contains_ip<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let outer = network(args)?;
    let inner = match args {
        // Upstream returns the error of its parser as if it were an address.
        [_, Value::String(text)] => parse_ip(text.as_str()).map_err(|_| EvalError::no_such_overload())?,
        [_, other] => address(std::slice::from_ref(other))?,
        _ => return wrong(),
    };
    Ok(Value::Bool(contains(outer, inner)))
}

fn contains_cidr<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let outer = network(args)?;
    let inner = match args {
        [_, Value::String(text)] => convert_cidr(text.as_str())?,
        [_, other] => network(std::slice::from_ref(other))?,
        _ => return wrong(),
    };
    Ok(Value::Bool(outer.1 <= inner.1 && contains(outer, inner.0)))
}

fn link_local_multicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets()[..3] == [224, 0, 0],
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    }
}

fn link_local_unicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn global_unicast(address: &IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !broadcast
        && !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && !link_local_unicast(address)
}
