//! What users are told when they err, and what is written when they do not.

use super::{expand, rules};

const IMPL: &str = "impl Reconciler for Shops { async fn reconcile(&self) {} }";

fn code(arguments: &str, item: &str) -> String {
    let code = rules(arguments.parse().unwrap(), item.parse().unwrap());
    code.unwrap().to_string().replace(' ', "")
}

fn mistakes(arguments: &str, item: &str) -> Vec<String> {
    let error = rules(arguments.parse().unwrap(), item.parse().unwrap()).unwrap_err();
    error.into_iter().map(|error| error.to_string()).collect()
}

#[test]
fn rules_are_written_into_the_implementation() {
    let item = format!(
        "#[rbac(groups = [\"\"], resources = [\"pods\", \"secrets\"], verbs = [\"get\"], names = \"a\", namespace = \"shop\")]\n#[kubewright::rbac(urls = \"/metrics\", verbs = \"get;list\")]\n{IMPL}"
    );
    let code = code(
        "groups = \"apps, core\", resources = \"deployments\", verbs = \"create, patch\"",
        &item,
    );
    for rule in [
        "Rule::new([\"apps\",\"\"],[\"deployments\"],[\"create\",\"patch\"])",
        "Rule::new([\"\"],[\"pods\",\"secrets\"],[\"get\"]).named([\"a\"]).in_namespace(\"shop\")",
        "Rule::urls([\"/metrics\"],[\"get\",\"list\"])",
    ] {
        assert!(code.contains(rule), "{rule}: {code}");
    }
    assert!(!code.contains("rbac("), "{code}");
}

#[test]
fn it_stands_above_an_implementation_of_the_trait() {
    let keys = "groups = \"\", resources = \"pods\", verbs = \"get\"";
    for item in [
        "struct Shops;",
        "impl Shops {}",
        "impl Drop for Shops { fn drop(&mut self) {} }",
        "fn a() {}",
    ] {
        let said = mistakes(keys, item);
        assert!(said[0].contains("stands above `impl Reconciler for …`"), "{said:?}");
    }
    let said = mistakes(keys, "impl Reconciler for Shops { fn rules() -> Vec<Rule> { vec![] } }");
    assert!(said[0].starts_with("`#[rbac(…)]` writes `rules`"), "{said:?}");
}

#[test]
fn verbs_that_are_nearly_known_are_mistakes_and_others_are_not() {
    let verbs = |verbs: &str| format!("groups = \"\", resources = \"pods\", verbs = \"{verbs}\"");
    let said = mistakes(&verbs("get, lst, Watch"), IMPL);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].starts_with("no verb is named \"lst\"; did you mean \"list\"? known are: get, list, watch"),
        "{said:?}"
    );
    assert!(said[1].contains("did you mean \"watch\"?"), "{said:?}");
    assert!(mistakes(&verbs("get,,list"), IMPL)[0].contains("a verb is missing"));
    assert!(code(&verbs("attest"), IMPL).contains("[\"attest\"]"));
}

#[test]
fn a_rule_is_whole() {
    assert!(mistakes("groups = \"\", resources = \"pods\"", IMPL)[0].starts_with("`verbs` is missing"));
    assert!(mistakes("resources = \"pods\", verbs = \"get\"", IMPL)[0].starts_with("`groups` is missing"));
    assert!(mistakes("groups = \"apps\", verbs = \"get\"", IMPL)[0].starts_with("`resources` is missing"));
    assert!(mistakes("urls = \"metrics\", verbs = \"get\"", IMPL)[0].contains("begins with a slash"));
    assert!(mistakes("urls = \"/a\", groups = \"\", verbs = \"get\"", IMPL)[0].contains("write two"));
    assert!(mistakes("group = \"\", verbs = \"get\"", IMPL)[0].contains("did you mean `groups`?"));
    assert!(mistakes("groups = 3, verbs = \"get\"", IMPL)[0].contains("a text in quotes"));
    assert!(mistakes("groups, verbs = \"get\"", IMPL)[0].contains("expected a text or a list"));
    assert!(mistakes("urls = \"/a\", namespace = \"a\", verbs = \"get\"", IMPL)[0].contains("of no namespace"));
    assert!(
        expand("".parse().unwrap(), IMPL.parse().unwrap())
            .to_string()
            .contains("`verbs` is missing")
    );
}
