//! URLs as Go's parser reads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_apimachinery::url::{Url, query_pairs};

use crate::error::EvalError;
use crate::library::{Implementation, Opaque, net, wrong};
use crate::value::{Key, Map, Outcome, Value};

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "url" => |args| match args {
            [Value::String(text)] => parse(text.as_str())
                .map(|url| net::opaque(Opaque::Url(url)))
                .map_err(|why| EvalError::new(format!("URL parse error during conversion from string: {why}"))),
            _ => wrong(),
        },
        "isURL" => |args| match args {
            [Value::String(text)] => Ok(Value::Bool(parse(text.as_str()).is_ok())),
            _ => wrong(),
        },
        "getScheme" => |args| text(args, |url| &url.scheme),
        "getHost" => |args| text(args, |url| &url.host),
        "getHostname" => |args| text(args, Url::hostname),
        "getPort" => |args| text(args, Url::port),
        "getEscapedPath" => |args| text(args, |url| &url.escaped_path),
        "getQuery" => query,
        _ => return None,
    })
}

/// Reads an absolute URL or an absolute path. As upstream, one parser accepts it and another one, which knows fragments,
/// takes it apart.
fn parse(text: &str) -> Result<Url, String> {
    Url::parse_request(text)?;
    Url::parse(text)
}

fn url<'v>(args: &'v [Value<'_>]) -> Result<&'v Url, EvalError> {
    match args {
        [Value::Opaque(value)] => match &**value {
            Opaque::Url(url) => Ok(url),
            _ => Err(EvalError::no_such_overload()),
        },
        _ => Err(EvalError::no_such_overload()),
    }
}

fn text<'a>(args: &[Value<'a>], part: fn(&Url) -> &str) -> Outcome<'a> {
    Ok(Value::text(part(url(args)?)))
}

fn query<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let url = url(args)?;
    let mut values: BTreeMap<String, Vec<Value<'a>>> = BTreeMap::new();
    for (name, value) in query_pairs(&url.query) {
        values.entry(name.into_owned()).or_default().push(Value::text(&*value));
    }
    let entries = values
        .into_iter()
        .map(|(name, values)| {
            (
                Key::String(name.as_str().into()),
                (Value::text(name), Value::list(values)),
            )
        })
        .collect();
    Ok(Value::Map(Map::Shared(Arc::new(entries))))
}
