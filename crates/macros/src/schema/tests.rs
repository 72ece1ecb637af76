//! What users are told when they err, and what is written when they do not.

use syn::{DeriveInput, parse_str};

use super::{Settings, expand, prepare};

/// Each mistake as `line:column: words`, lines and columns of the source given.
fn mistakes(source: &str) -> Vec<String> {
    let mut input: DeriveInput = parse_str(source).unwrap();
    let Err(error) = prepare(&mut input, &Settings::default(), &[]) else {
        panic!("no mistake was found in {source}");
    };
    let lines = error.into_iter().map(|error| {
        let start = error.span().start();
        format!("{}:{}: {error}", start.line, start.column)
    });
    lines.collect()
}

fn mistake(markers: &str, ty: &str) -> String {
    mistakes(&format!("struct A {{\n    #[schema({markers})]\n    a: {ty},\n}}")).remove(0)
}

fn code(arguments: &str, source: &str) -> String {
    let code = expand(arguments.parse().unwrap(), source.parse().unwrap());
    code.to_string().replace(' ', "")
}

#[test]
fn words_that_are_not_known_are_said_where_they_stand() {
    assert_eq!(
        mistake("minimun = 1", "i32"),
        "2:13: `minimun` is not known here; did you mean `minimum`?"
    );
    assert!(mistake("zzz", "i32").contains("known are: minimum, maximum"));
    assert_eq!(
        mistake("at_most_one_of(a, b)", "i32"),
        "2:13: `at_most_one_of` is for types: write it above the struct"
    );
    let said = mistakes("#[schema(optional)]\nstruct A { a: u8 }");
    assert_eq!(said, ["1:9: `optional` is for fields"]);
    let said = mistakes("enum A {\n    #[schema(minimum = 1)]\n    B,\n}");
    assert_eq!(
        said,
        ["2:13: `minimum` is not known here; known are: title, description"]
    );
}

#[test]
fn values_are_of_the_sort_a_marker_takes() {
    assert_eq!(mistake("minimum = \"1\"", "i32"), "2:23: expected a number");
    assert_eq!(
        mistake("max_length = -1", "String"),
        "2:26: expected a whole number that is not negative"
    );
    assert_eq!(
        mistake("max_length = 1.5", "String"),
        "2:26: expected a whole number that is not negative"
    );
    assert_eq!(mistake("pattern = 3", "String"), "2:23: expected a text in quotes");
    assert_eq!(
        mistake("minimum", "i32"),
        "2:13: `minimum` needs a number: `minimum = …`"
    );
    assert!(mistake("immutable = true", "i32").ends_with("`immutable` takes no value"));
    assert!(mistake("enum()", "String").contains("needs values"));
    assert_eq!(
        mistake("list_type = list", "Vec<u8>"),
        "2:25: expected one of map, set, atomic; found \"list\""
    );
    assert!(mistake("external_docs(description = \"x\")", "u8").contains("needs `url"));
    assert!(mistake("minimum = 1, minimum = 2", "u8").ends_with("`minimum` is said twice"));
    assert!(mistake("default = { \"a\": 1 }", "B").contains("a default is a value of the field's type"));
}

#[test]
fn markers_suit_the_type_as_far_as_it_can_be_seen() {
    assert_eq!(
        mistake("max_length = 3", "Option<i32>"),
        "2:13: `max_length` is for texts; this is of type `i32`"
    );
    assert_eq!(
        mistake("minimum = 3", "String"),
        "2:13: `minimum` is for numbers; this is of type `String`"
    );
    assert_eq!(
        mistake("items(minimum = 3)", "Vec<String>"),
        "2:19: `minimum` is for numbers; this is of type `String`"
    );
    assert!(mistake("min_items = 3", "BTreeMap<String, u8>").contains("is for lists"));
    assert!(mistake("list_type = set, list_map_keys(\"a\")", "Vec<B>").contains("for lists of the type map"));
    let said = mistakes("#[schema(min_length = 1)]\nstruct Port(u16);");
    assert_eq!(said, ["1:9: `min_length` is for texts; this is of type `u16`"]);
    // Types of a user may be anything.
    assert!(code("", "struct A { #[schema(minimum = 3)] a: Port }").contains("\"minimum\":3"));
    assert!(code("", "struct A { #[schema(int_or_string, max_length = 3)] a: u16 }").contains("\"maxLength\":3"));
}

#[test]
fn a_rule_has_an_expression_and_known_parts() {
    assert!(mistake("rule", "u8").contains("`rule` needs an expression"));
    assert!(mistake("rule()", "u8").contains("begins with its expression"));
    assert_eq!(mistake("rule(\" \")", "u8"), "2:18: the rule is empty");
    assert_eq!(
        mistake("rule(\"true\", mesage = \"x\")", "u8"),
        "2:26: `mesage` is not known here; did you mean `message`?"
    );
    assert!(
        mistake("rule(\"true\", reason = \"FieldValueInvald\")", "u8").contains("did you mean `FieldValueInvalid`?")
    );
    assert!(mistake("rule(\"true\", message = \"a\", message_expression = \"b\")", "u8").contains("leave one out"));
    let rule = code(
        "",
        "struct A { #[schema(rule(\"true\", field_path = \".a\", optional_old_self))] a: u8 }",
    );
    assert!(
        rule.contains("\"rules\":[{\"rule\":\"true\",\"fieldPath\":\".a\",\"optionalOldSelf\":true}]"),
        "{rule}"
    );
}

#[test]
fn presence_is_said_once() {
    assert_eq!(
        mistake("required, optional", "u8"),
        "2:13: a field is `required` or `optional`; leave one out"
    );
    let said = mistakes("struct A {\n    #[serde(default)]\n    #[schema(default = 1)]\n    a: u8,\n}");
    assert_eq!(said, ["3:13: the field has a serde default already; leave one out"]);
    let said = mistakes("struct A {\n    #[serde(flatten)]\n    #[schema(nullable)]\n    a: B,\n}");
    assert!(
        said[0].starts_with("3:13: a flattened field has no schema of its own"),
        "{said:?}"
    );
    let said = mistakes("struct A(#[schema(optional)] u8);");
    assert!(said[0].contains("this is for fields with names"), "{said:?}");
    let said = mistakes("enum A { B { #[schema(required)] c: Option<u8> } }");
    assert!(said[0].contains("a field of a variant is required if"), "{said:?}");
}

#[test]
fn groups_are_of_fields_that_exist_and_may_be_missing() {
    let group = |group: &str| {
        mistakes(&format!(
            "#[schema({group})]\nstruct A {{ one: Option<u8>, two: Option<u8>, three: u8 }}"
        ))
    };
    assert_eq!(
        group("at_most_one_of(one, tow)"),
        ["1:29: no field is named `tow`; did you mean `two`?"]
    );
    assert_eq!(
        group("exactly_one_of(one, three)"),
        ["1:29: `three` is always set: make it an `Option`"]
    );
    assert_eq!(group("at_least_one_of(one, one)"), ["1:30: `one` is named twice"]);
    assert!(group("at_least_one_of(one)")[0].contains("two fields or more"));
    assert!(group("at_least_one_of(one.x, two)")[0].contains("not fields within them"));
    let said = mistakes("#[schema(at_most_one_of(a, b))]\nenum A { B }");
    assert!(said[0].contains("this is for structs"), "{said:?}");
}

#[test]
fn all_fields_are_checked_before_anything_is_said() {
    let said = mistakes(
        "#[schema(titel = \"x\")]\nstruct A {\n    #[schema(minimum = true)]\n    a: u8,\n    #[schema(foo)]\n    b: u8,\n}",
    );
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(
        said[0].starts_with("1:9: `titel` is not known here; did you mean `title`?"),
        "{said:?}"
    );
    assert!(said[1].starts_with("3:23: expected a number"), "{said:?}");
    assert!(said[2].starts_with("5:13: `foo`"), "{said:?}");
}

#[test]
fn what_has_no_schema_is_refused() {
    assert!(mistakes("struct A(u8, u8);")[0].contains("give the fields names"));
    assert!(mistakes("union A { a: u8 }")[0].contains("use an enum"));
    for source in ["fn main() {}", "struct A { #[schema] a: u8 }", "mod a;"] {
        let said = expand("".parse().unwrap(), source.parse().unwrap()).to_string();
        assert!(said.contains("compile_error"), "{source}: {said}");
    }
    assert!(code("optionl", "struct A {}").contains("didyoumean`optional`?"));
    assert!(code("group=\"a\"", "struct A {}").contains("kubewright::resource"));
}

#[test]
fn a_type_has_one_of_our_attributes() {
    for second in [
        "kubewright::resource(kind = \"A\")",
        "kubewright::optional::schema",
        "resource(kind = \"A\")",
    ] {
        let said = mistakes(&format!("#[{second}]\nstruct A {{ a: u8 }}"));
        assert!(said[0].contains("as in `resource(optional, …)`"), "{said:?}");
    }
    let fine = code("", "#[other::schema] #[schema(rule(\"true\"))] struct A { a: u8 }");
    assert!(!fine.contains("compile_error"), "{fine}");
}

#[test]
fn what_a_type_says_wins_over_what_holds_for_its_module() {
    let said = |arguments: &str| {
        let arguments = super::optional_unless_said(&arguments.parse().unwrap());
        expand(arguments, "struct A { a: u8 }".parse().unwrap()).to_string()
    };
    assert!(said("").contains("is_unset") && said("apply = false").contains("is_unset"));
    assert!(!said("required").contains("is_unset"));
}

#[test]
fn derives_are_not_written_twice() {
    let code = code("", "#[derive(Debug, serde::Serialize, Default)] struct A { a: u8 }");
    assert_eq!(code.matches("::kubewright::serde::Serialize,").count(), 0, "{code}");
    assert!(
        code.contains("::kubewright::serde::Deserialize,::core::clone::Clone,::core::cmp::PartialEq"),
        "{code}"
    );
}

#[test]
fn serde_is_told_what_the_schema_says() {
    let field = |field: &str| code("", &format!("struct A {{ {field} }}"));
    assert!(field("a: Option<u8>").contains("skip_serializing_if=\"::core::option::Option::is_none\""));
    assert!(!field("#[schema(nullable, required)] a: Option<u8>").contains("skip_serializing_if"));
    assert!(!field("a: u8").contains("serde(default"));
    assert!(field("#[schema(optional)] a: u8").contains("skip_serializing_if=\"::kubewright::support::is_unset\""));
    assert!(code("optional", "struct A { a: u8 }").contains("is_unset"));
    assert!(!code("optional", "struct A { #[schema(required)] a: u8 }").contains("is_unset"));
    let given = field("#[serde(rename_all = \"x\")] #[schema(default = \"a\")] a: String");
    assert!(
        given.contains("#[serde(default=\"A::__kubewright_default_a\")]"),
        "{given}"
    );
    assert!(
        given.contains("fn__kubewright_default_a()->String{::core::convert::From::from(\"a\")}"),
        "{given}"
    );
    assert!(code("", "#[serde(rename_all = \"snake_case\")] struct A { a_b: u8 }").contains("self.0.set(\"a_b\""));
    assert!(code("", "struct A { a_b: u8 }").contains("self.0.set(\"aB\""));
}

#[test]
fn variants_are_named_as_kubernetes_names_them() {
    assert!(!code("", "enum A { One, Two }").contains("rename_all"));
    assert!(code("", "enum A { One(u8), Two }").contains("#[serde(rename_all=\"camelCase\")]"));
    let tagged = code("", "#[serde(tag = \"type\")] enum A { One { a_b: u8 }, Two }");
    assert!(!tagged.contains("rename_all=\"camelCase\""), "{tagged}");
    assert!(tagged.contains("rename_all_fields=\"camelCase\""), "{tagged}");
}
