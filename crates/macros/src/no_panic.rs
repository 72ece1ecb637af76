//! Whatever users write, they get an error and no panic: every token of some sources left out, doubled and replaced.

use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree};

use crate::{rbac, resource, schema};

const STRUCT: &str = r#"
    #[derive(Default, other::Debug)]
    #[serde(rename_all = "kebab-case", default = "make")]
    #[schema(at_most_one_of(one, "two"), rule("self.a", message = "b"), minimum = 3, external_docs(url = "u"))]
    pub struct r#Spec<T: X> {
        #[schema(minimum = -1, default = 3, items(enum("a", 1)), list_type = map, rule = "x")]
        #[serde(rename(serialize = "a", deserialize = "b"), with = "module", skip_serializing_if = "f")]
        pub r#type: Option<Vec<BTreeMap<String, Box<T>>>>,
        #[schema(optional, example = { "a": [1] }, default = [("a", 1)])]
        one: String,
    }
"#;
const ENUM: &str = r#"
    #[serde(tag = "type", content = "of")]
    enum Choice {
        #[schema(title = "a")]
        r#One,
        Two(#[schema(minimum = 1)] u8),
        r#try { #[schema(default = "x", immutable)] a: Option<String>, #[serde(flatten)] b: C },
    }
"#;
const KEYS: &str = r#"group = "g", version = "v1", kind = "Kind", status = "a::B", default = Spec { a: 1 }, scale(spec_replicas = ".a"),
    printcolumn(name = "n", type = "date", json_path = ".a", priority = 1), labels("a" = "b"), shortnames("a", "b"),
    deprecated(warning = "w"), rule("a", reason = "FieldValueInvalid", optional_old_self), apply = false, plural = "ks""#;
const RULES: &str = r#"groups = "a, b", resources = ["c", "d/e"], verbs = "get;list", names = "n", namespace = "x""#;
const IMPL: &str =
    r#"#[rbac(urls = "/a", verbs = "get")] impl<T> Reconciler for A<T> { async fn reconcile(&self) {} }"#;

/// All sources that differ from this one in a token.
fn changed(source: &str) -> Vec<TokenStream> {
    let tokens: TokenStream = source.parse().unwrap();
    let mut all = vec![tokens.clone()];
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    changes(&tokens, &mut |changed| all.push(changed.iter().cloned().collect()));
    all
}

fn changes(tokens: &[TokenTree], found: &mut dyn FnMut(&[TokenTree])) {
    for place in 0..tokens.len() {
        let with = |replacement: &[TokenTree]| [&tokens[..place], replacement, &tokens[place + 1..]].concat();
        let token = tokens[place].clone();
        found(&with(&[]));
        found(&with(&[token.clone(), token.clone()]));
        found(&with(&[Literal::i64_suffixed(7).into()]));
        found(&with(&[Literal::string("\u{e4} \u{0}").into()]));
        found(&with(&[Group::new(Delimiter::Parenthesis, TokenStream::new()).into()]));
        if let TokenTree::Group(group) = token {
            let inside: Vec<TokenTree> = group.stream().into_iter().collect();
            changes(&inside, &mut |changed| {
                let group = Group::new(group.delimiter(), changed.iter().cloned().collect());
                found(&with(&[group.into()]));
            });
        }
    }
}

fn sources(source: &str) -> TokenStream {
    source.parse().unwrap()
}

#[test]
fn no_token_of_a_type_can_cause_a_panic() {
    for item in changed(STRUCT).into_iter().chain(changed(ENUM)) {
        schema::expand(TokenStream::new(), item.clone());
        resource::expand(sources(KEYS), item);
    }
    for arguments in changed("optional, apply = false, required") {
        schema::expand(arguments, sources(ENUM));
    }
}

#[test]
fn no_token_of_the_keys_can_cause_a_panic() {
    for keys in changed(KEYS) {
        resource::expand(keys, sources("struct Spec { a: u8 }"));
    }
    for arguments in changed(RULES) {
        rbac::expand(arguments, sources(IMPL));
    }
    for item in changed(IMPL) {
        rbac::expand(sources(RULES), item);
    }
}
