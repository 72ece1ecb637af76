//! One rule of a role: verbs on resources, or on paths.

use kubewright_apimachinery::go::quote::quote_list;
use serde_json::{Map, Value};

use crate::attributes::Attributes;

/// A `PolicyRule`: it allows every combination of the items of its lists; `*` means all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rule {
    /// The API groups of the resources; `""` is the core.
    pub api_groups: Vec<String>,
    /// Resources and subresources: `pods`, `pods/log`, `*/scale`.
    pub resources: Vec<String>,
    /// Names of objects; empty means any.
    pub resource_names: Vec<String>,
    /// Paths that are no resources, `*` at the end standing for the rest.
    pub non_resource_urls: Vec<String>,
    /// What may be done.
    pub verbs: Vec<String>,
}

const ALL: &str = "*";

impl Rule {
    /// Verbs on resources.
    pub fn resources<'t>(
        groups: impl IntoIterator<Item = &'t str>,
        resources: impl IntoIterator<Item = &'t str>,
        verbs: impl IntoIterator<Item = &'t str>,
    ) -> Rule {
        let owned = |text: &str| text.to_owned();
        Rule {
            api_groups: groups.into_iter().map(owned).collect(),
            resources: resources.into_iter().map(owned).collect(),
            verbs: verbs.into_iter().map(owned).collect(),
            ..Rule::default()
        }
    }

    /// Verbs on paths.
    pub fn paths<'t>(paths: impl IntoIterator<Item = &'t str>, verbs: impl IntoIterator<Item = &'t str>) -> Rule {
        Rule {
            non_resource_urls: paths.into_iter().map(str::to_owned).collect(),
            verbs: verbs.into_iter().map(str::to_owned).collect(),
            ..Rule::default()
        }
    }

    /// The rules of a role or cluster role.
    pub fn all_of(role: &Value) -> Vec<Rule> {
        let rules = role.get("rules").and_then(Value::as_array);
        rules.into_iter().flatten().map(Rule::from_value).collect()
    }

    /// A rule as the API writes it.
    pub fn from_value(rule: &Value) -> Rule {
        let list = |key: &str| {
            let items = rule.get(key).and_then(Value::as_array);
            let texts = items.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        Rule {
            api_groups: list("apiGroups"),
            resources: list("resources"),
            resource_names: list("resourceNames"),
            non_resource_urls: list("nonResourceURLs"),
            verbs: list("verbs"),
        }
    }

    /// The rule as the API writes it.
    pub fn to_value(&self) -> Value {
        let mut rule = Map::new();
        let mut put = |key: &str, list: &[String]| {
            if !list.is_empty() || key == "verbs" {
                rule.insert(key.to_owned(), list.into());
            }
        };
        put("verbs", &self.verbs);
        put("apiGroups", &self.api_groups);
        put("resources", &self.resources);
        put("resourceNames", &self.resource_names);
        put("nonResourceURLs", &self.non_resource_urls);
        Value::Object(rule)
    }

    /// Whether the rule allows what is asked.
    pub fn allows(&self, asked: &Attributes<'_>) -> bool {
        if !has(&self.verbs, &asked.verb) {
            return false;
        }
        if !asked.is_resource {
            return self.non_resource_urls.iter().any(|rule| url_covers(rule, &asked.path));
        }
        has(&self.api_groups, &asked.group) && self.allows_resource(asked) && self.allows_name(&asked.name)
    }

    fn allows_resource(&self, asked: &Attributes<'_>) -> bool {
        let part = &*asked.subresource;
        self.resources.iter().any(|rule| {
            if rule == ALL {
                return true;
            }
            if part.is_empty() {
                return *rule == asked.resource;
            }
            let resource = rule.strip_suffix(part).and_then(|rest| rest.strip_suffix('/'));
            resource.is_some_and(|resource| resource == ALL || resource == asked.resource)
        })
    }

    fn allows_name(&self, name: &str) -> bool {
        self.resource_names.is_empty() || self.resource_names.iter().any(|rule| rule == name)
    }

    /// `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`, as refusals list rights.
    pub fn compact_text(&self) -> String {
        let parts = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let shown = parts.iter().filter(|(_, list)| !list.is_empty());
        let shown: Vec<String> = shown
            .map(|(name, list)| format!("{name}:{}", quote_list(list)))
            .collect();
        format!("{{{}}}", shown.join(", "))
    }
}

/// Whether a list has the item, or `*`.
pub(crate) fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == ALL || item == wanted)
}

/// Whether a rule's path, which may end in `*`, matches a path.
pub(crate) fn url_covers(rule: &str, path: &str) -> bool {
    rule == path || (rule.ends_with('*') && path.starts_with(rule.trim_end_matches('*')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_about_a_resource_or_about_its_parts() {
        let rule = Rule::resources([""], ["pods", "*/scale", "a/b"], ["get"]);
        let asks = |resource: &'static str, part: &'static str| {
            rule.allows(&Attributes::resource("get", "", resource).part(part).named("x"))
        };
        assert!(asks("pods", ""));
        assert!(!asks("pods", "log"));
        assert!(asks("anything", "scale"));
        assert!(!asks("anything", "ale"));
        assert!(!asks("scale", ""));
        assert!(asks("a", "b"));
        assert!(!asks("a", "/b"));
    }

    #[test]
    fn names_limit_a_rule_to_requests_that_name_them() {
        let mut rule = Rule::resources([""], ["secrets"], ["*"]);
        rule.resource_names = vec!["mine".into()];
        let asked = Attributes::resource("list", "", "secrets");
        assert!(!rule.allows(&asked));
        assert!(rule.allows(&asked.clone().named("mine")));
        assert!(!rule.allows(&asked.named("yours")));
    }

    #[test]
    fn a_star_stands_for_the_rest_of_a_path_only_at_its_end() {
        let rule = Rule::paths(["/api/*", "/exact", "/a*b"], ["get"]);
        for (path, allowed) in [
            ("/api/v1", true),
            ("/api/", true),
            ("/api", false),
            ("/exact", true),
            ("/exact/", false),
            ("/axb", false),
        ] {
            assert_eq!(rule.allows(&Attributes::path("get", path)), allowed, "{path}");
        }
        assert!(!rule.allows(&Attributes::resource("get", "", "pods")));
    }

    #[test]
    fn rights_are_listed_in_gos_words() {
        let rule = Rule::resources(["", "apps"], ["pods"], ["get", "list"]);
        assert_eq!(
            rule.compact_text(),
            r#"{APIGroups:["" "apps"], Resources:["pods"], Verbs:["get" "list"]}"#
        );
    }
}
