//! Rules in CEL: what `rule("self.a <= self.b", message = "…")` takes, and those that other markers stand for.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseStream;
use syn::{Error, Expr, ExprLit, Lit, LitBool, LitStr, Token};

use super::markers::SetCount;
use crate::words;

const REASONS: [&str; 4] = [
    "FieldValueInvalid",
    "FieldValueForbidden",
    "FieldValueRequired",
    "FieldValueDuplicate",
];
const KEYS: [&str; 5] = [
    "message",
    "message_expression",
    "reason",
    "field_path",
    "optional_old_self",
];

/// `rule("…", message = "…")` or `rule = "…"`, as `json!` takes it.
pub(crate) fn rule(meta: &ParseNestedMeta<'_>) -> Result<TokenStream, Error> {
    if meta.input.peek(Token![=]) {
        let rule: Expr = meta.value()?.parse()?;
        return match &rule {
            Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => Ok(quote!({ "rule": #rule })),
            // A rule as kube has it: `Rule::new("…").message("…")`.
            _ => Ok(quote!(::kubewright::kube::core::Rule::from(#rule))),
        };
    }
    if !meta.input.peek(syn::token::Paren) {
        return Err(meta.error("`rule` needs an expression: `rule(\"self.min <= self.max\", message = \"…\")`"));
    }
    let content;
    syn::parenthesized!(content in meta.input);
    written(&content)
}

fn written(input: ParseStream<'_>) -> Result<TokenStream, Error> {
    if !input.peek(LitStr) {
        return Err(input.error("a rule begins with its expression in quotes: `rule(\"self.min <= self.max\")`"));
    }
    let rule: LitStr = input.parse()?;
    if rule.value().trim().is_empty() {
        return Err(Error::new(rule.span(), "the rule is empty"));
    }
    let mut parts = vec![quote!("rule": #rule)];
    let mut said: Vec<String> = Vec::new();
    while !input.is_empty() {
        input.parse::<Token![,]>()?;
        if input.is_empty() {
            break;
        }
        let key: Ident = input.parse()?;
        if said.iter().any(|known| key == known) {
            return Err(Error::new(key.span(), format!("`{key}` is said twice")));
        }
        said.push(key.to_string());
        parts.push(part(&key, input)?);
    }
    if said.iter().any(|key| key == "message") && said.iter().any(|key| key == "message_expression") {
        let message = "a rule has a `message` or a `message_expression`; leave one out";
        return Err(Error::new(rule.span(), message));
    }
    Ok(quote!({ #(#parts),* }))
}

fn part(key: &Ident, input: ParseStream<'_>) -> Result<TokenStream, Error> {
    let name = match key.to_string().as_str() {
        "message" => "message",
        "message_expression" => "messageExpression",
        "field_path" => "fieldPath",
        "optional_old_self" => {
            if input.peek(Token![=]) {
                input.parse::<Token![=]>()?;
                let value: LitBool = input.parse()?;
                return Ok(quote!("optionalOldSelf": #value));
            }
            return Ok(quote!("optionalOldSelf": true));
        }
        "reason" => {
            input.parse::<Token![=]>()?;
            let reason: LitStr = input.parse()?;
            if REASONS.contains(&reason.value().as_str()) {
                return Ok(quote!("reason": #reason));
            }
            return Err(Error::new(reason.span(), words::not_known(&reason.value(), &REASONS)));
        }
        other => return Err(Error::new(key.span(), words::not_known(other, &KEYS))),
    };
    input.parse::<Token![=]>()?;
    let value: Expr = input.parse()?;
    Ok(quote!(#name: #value))
}

/// A field keeps the value it got.
pub(crate) fn immutable() -> TokenStream {
    quote!({ "rule": "self == oldSelf", "message": "field is immutable" })
}

/// An optional field that keeps the value it got cannot be taken away either: that is for the type around it to say.
pub(crate) fn stays(field: &str) -> TokenStream {
    let name = cel_name(field);
    let rule = format!("!has(oldSelf.{name}) || has(self.{name})");
    let message = format!("field {field} is immutable once set");
    quote!({ "rule": #rule, "message": #message })
}

/// How many of some fields may be set, in words and costs of controller-gen.
pub(crate) fn one_of(count: SetCount, fields: &[String]) -> TokenStream {
    let names = fields.join(" ");
    let sum = |fields: &[String]| {
        let parts: Vec<String> = fields
            .iter()
            .map(|field| format!("(has(self.{})?1:0)", cel_name(field)))
            .collect();
        parts.join("+")
    };
    let (rule, message) = match count {
        SetCount::AtMost => (
            format!("{} <= 1", sum(fields)),
            format!("at most one of the fields in [{names}] may be set"),
        ),
        SetCount::Exactly => (
            format!("{} == 1", sum(fields)),
            format!("exactly one of the fields in [{names}] must be set"),
        ),
        SetCount::AtLeast => {
            let parts: Vec<String> = fields
                .iter()
                .map(|field| format!("has(self.{})", cel_name(field)))
                .collect();
            (
                parts.join("||"),
                format!("at least one of the fields in [{names}] must be set"),
            )
        }
    };
    quote!({ "rule": #rule, "message": #message })
}

/// The name of a field in a rule, escaped as Kubernetes does it. `kubewright-cel` has the same function; a test compares the two, since
/// an attribute should not need a CEL engine to be built.
fn cel_name(field: &str) -> String {
    const RESERVED: [&str; 21] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ];
    if RESERVED.contains(&field) {
        return format!("__{field}__");
    }
    field
        .replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_the_cel_engine_escapes_them() {
        let others = [
            "name",
            "a-b",
            "a.b",
            "a/b",
            "a__b",
            "a___b",
            "x-kubernetes-thing",
            "inner",
        ];
        for name in kubewright_cel::RESERVED_WORDS.into_iter().chain(others) {
            assert_eq!(Some(cel_name(name)), kubewright_cel::escape(name), "{name}");
        }
    }
}
