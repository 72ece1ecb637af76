//! What users are told when they err, and where.

use proc_macro2::TokenStream;
use syn::{DeriveInput, parse_str};

use super::{derive, expand};

/// Each mistake as `line:column: words`, lines and columns of the source given.
fn mistakes(source: &str) -> Vec<String> {
    let input: DeriveInput = parse_str(source).unwrap();
    let error = derive(&input, "kubewright").unwrap_err();
    let lines = error.into_iter().map(|error| {
        let start = error.span().start();
        format!("{}:{}: {error}", start.line, start.column)
    });
    lines.collect()
}

fn code(source: &str) -> String {
    let input: DeriveInput = parse_str(source).unwrap();
    derive(&input, "kubewright").unwrap().to_string().replace(' ', "")
}

#[test]
fn the_hub_must_be_named() {
    let said = mistakes("struct Shop { size: u16 }");
    assert_eq!(
        said,
        ["1:7: `Convert` needs the hub's type: #[convert(hub = v1::MyType)]"]
    );
}

#[test]
fn words_that_are_not_known_are_said_where_they_stand() {
    let said = mistakes("#[convert(hub = v1::Shop, hubb)]\nstruct Shop { size: u16 }");
    let known = "hub, crate, root, added, try, try_to_hub, try_from_hub, skip_root, skip_status";
    assert_eq!(said, [format!("1:26: `hubb` is not known here; known are: {known}")]);

    let said = mistakes("#[convert(hub = v1::Shop)]\nenum Phase {\n    #[convert(defaults)]\n    Up,\n}");
    assert_eq!(
        said,
        ["3:14: `defaults` is not known here; known are: rename, into, skip, added"]
    );
}

#[test]
fn all_fields_are_checked_before_anything_is_said() {
    let said = mistakes(
        "#[convert(hub = v1::Shop)]\n\
         struct Shop {\n\
             #[convert(default = 3)]\n\
             size: u16,\n\
             #[convert(skip, rename = b)]\n\
             a: u16,\n\
             #[convert(with = a, to_hub = b)]\n\
             c: u16,\n\
         }",
    );
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(
        said[0].starts_with("3:10: `default` is for fields the hub does not have"),
        "{said:?}"
    );
    assert!(
        said[1].starts_with("5:16: a skipped field is not converted"),
        "{said:?}"
    );
    assert!(
        said[2].starts_with("7:20: this direction has a function already"),
        "{said:?}"
    );
}

#[test]
fn tuples_convert_by_position() {
    let said = mistakes("#[convert(hub = v1::Port)]\nstruct Port(#[convert(skip)] u16);");
    assert!(said[0].contains("convert by position"), "{said:?}");
    let said = mistakes("#[convert(hub = v1::Port, added(a))]\nstruct Port(u16);");
    assert!(said[0].contains("convert by position"), "{said:?}");
}

#[test]
fn the_hub_s_root_is_found_beside_its_spec_or_asked_for() {
    let spec =
        |convert: &str| format!("#[kube(kind = \"Shop\", group = \"g\")]\n#[convert({convert})]\nstruct ShopSpec {{}}");
    let said = mistakes(&spec("hub = HubSpec"));
    assert!(said[0].starts_with("2:16: where is the hub's Shop?"), "{said:?}");
    assert!(code(&spec("hub = v1::ShopSpec")).contains("From<Shop>forv1::Shop{"));
    assert!(code(&spec("hub = HubSpec, root = Market")).contains("From<Shop>forMarket{"));
    assert!(!code(&spec("hub = HubSpec, skip_root")).contains("From<Shop>"));
    let said = mistakes("#[convert(hub = v1::A, root = v1::B)]\nstruct A {}");
    assert!(said[0].contains("`root` is for specs"), "{said:?}");
}

#[test]
fn code_calls_the_crate_it_was_called_through_unless_told_otherwise() {
    let source = |more: &str| format!("#[convert(hub = v1::A, try{more})]\nstruct A {{ a: u8 }}");
    assert!(code(&source("")).contains("::kubewright::conversion::FieldError"));
    assert!(code(&source(", crate = my::door")).contains("=my::door::conversion::FieldError"));
    // Nothing is called where nothing can fail.
    assert!(!code("#[convert(hub = v1::A)]\nstruct A { a: u8 }").contains("kubewright"));
}

#[test]
fn errors_of_the_compiler_point_at_the_field_s_type() {
    let source = "#[convert(hub = v1::A)]\nstruct A {\n    a: Vec<Inner>,\n}";
    let input: DeriveInput = parse_str(source).unwrap();
    let code = derive(&input, "kubewright").unwrap();
    let mut places = Vec::new();
    find(&code, "into", &mut places);
    // Both directions.
    assert_eq!(places, [(3, 11), (3, 11)]);
}

fn find(code: &TokenStream, name: &str, places: &mut Vec<(usize, usize)>) {
    for token in code.clone() {
        match token {
            proc_macro2::TokenTree::Ident(ident) if ident == name => {
                let start = ident.span().start();
                places.push((start.line, start.column));
            }
            proc_macro2::TokenTree::Group(group) => find(&group.stream(), name, places),
            _ => {}
        }
    }
}

#[test]
fn what_is_no_type_is_a_compile_error_not_a_panic() {
    for source in [
        "fn main() {}",
        "union A { a: u8 }",
        "#[convert(hub)] struct A {}",
        "#[convert(hub = )] struct A {}",
    ] {
        let said = expand(source.parse().unwrap(), "kubewright").to_string();
        assert!(said.contains("compile_error"), "{source}: {said}");
    }
}
