//! The dashboard and the alerts of a project ask for series that its operator has.

use std::collections::BTreeMap;

use kubewright_runtime::metrics::{Registry, RuntimeMetrics};
use serde_json::Value;

use super::folder::Folder;

/// Labels that Prometheus itself gives every series, and that of histograms.
const GIVEN: [&str; 4] = ["namespace", "job", "pod", "le"];

/// What Prometheus records about the targets that it reads.
const OF_TARGETS: &str = "up";

/// The expressions of the dashboard and of the alerts.
fn expressions(folder: &Folder) -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&folder.read("grafana/operator.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let queries = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    let alerts = folder.read("config/prometheus/alerts.yaml");
    let alerts = kubewright_codec::yaml::decode(alerts.as_bytes()).unwrap().value;
    let rules = alerts["spec"]["groups"][0]["rules"].as_array().unwrap();
    let rules = rules.iter().map(|rule| rule["expr"].as_str().unwrap().to_owned());
    queries.chain(rules).collect()
}

/// The series that an expression names, each with the labels that it is selected by.
fn series(expression: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut rest = expression;
    while let Some(at) = rest.find('{') {
        let (before, after) = rest.split_at(at);
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let name = before.rsplit(|letter| !is_part(letter)).next().unwrap();
        let (selectors, following) = after[1..].split_once('}').expect("a selector has an end");
        let labels = selectors.split(", ").map(|selector| {
            let end = selector.find(|letter| !is_part(letter)).expect("a label is compared");
            selector[..end].to_owned()
        });
        found.push((name.to_owned(), labels.collect()));
        rest = following;
    }
    found
}

/// The labels that an expression groups by.
fn grouped(expression: &str) -> Vec<String> {
    let groups = expression.split("by (").skip(1);
    let lists = groups.map(|group| group.split_once(')').expect("a list has an end").0);
    lists.flat_map(|list| list.split(", ")).map(ToOwned::to_owned).collect()
}

#[test]
fn every_series_of_dashboard_and_alerts_is_registered_with_its_labels() {
    let folder = Folder::project("shop");
    folder.ok("edit --prometheus --grafana");
    let registry = Registry::new();
    RuntimeMetrics::register(&registry).unwrap();
    let mut known: BTreeMap<String, Vec<String>> = registry.families().into_iter().collect();
    known.insert(OF_TARGETS.to_owned(), Vec::new());
    let expressions = expressions(&folder);
    assert!(expressions.len() > 30, "{}", expressions.len());
    let mut used = Vec::new();
    for expression in &expressions {
        assert!(
            !expression.contains("{of}") && !expression.contains("{controller}"),
            "{expression}"
        );
        let series = series(expression);
        assert!(!series.is_empty(), "{expression} names no series");
        for (name, labels) in series {
            let family = name.strip_suffix("_bucket").unwrap_or(&name);
            let has = known
                .get(family)
                .unwrap_or_else(|| panic!("no operator has {name}: {expression}"));
            for label in labels.into_iter().chain(grouped(expression)) {
                let is_known = has.contains(&label) || GIVEN.contains(&label.as_str());
                assert!(is_known, "{name} has no label {label}: {expression}");
            }
            assert!(
                expression.contains("job=\"$job\"")
                    || expression.contains("job=\"shop-controller-manager-metrics-service\""),
                "{expression} is about every operator there is"
            );
            used.push(family.to_owned());
        }
    }
    // Whatever a controller counts of its reconciles can be seen.
    for name in known
        .keys()
        .filter(|name| name.starts_with("controller_runtime_reconcile"))
    {
        assert!(used.contains(name), "{name} is shown nowhere");
    }
}

#[test]
fn a_dashboard_is_of_its_own_project() {
    let folder = Folder::project("shop");
    folder.ok("edit --grafana");
    let dashboard: Value = serde_json::from_str(&folder.read("grafana/operator.json")).unwrap();
    assert_eq!(dashboard["title"], "shop: operator");
    assert_eq!(dashboard["uid"], "shop-operator");
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let current = |name: &str| {
        let variable = variables.iter().find(|variable| variable["name"] == name).unwrap();
        variable["current"]["value"].clone()
    };
    assert_eq!(current("namespace"), "shop-system");
    assert_eq!(current("job"), "shop-controller-manager-metrics-service");
    // Panels lie side by side, none on another one.
    let mut taken = std::collections::BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(x + w <= 24, "{panel}");
        for place in (y..y + h).flat_map(|row| (x..x + w).map(move |column| (column, row))) {
            assert!(taken.insert(place), "{} covers another panel", panel["title"]);
        }
    }
}
