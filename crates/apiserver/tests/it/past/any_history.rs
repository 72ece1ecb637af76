//! Whatever was done to a server: a fork of a revision answers as the server did at it.

use std::collections::BTreeMap;

use http::Method;
use kubewright_apiserver::{ApiServer, Options};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{BOATS, CONFIG_MAPS, DEFINITIONS, ask, boat, config_map, definition, get};

const NAMES: [&str; 3] = ["one", "two", "three"];
const SHIPS: &str = "/apis/shop.example.com/v2/namespaces/default/ships";
const SERVICES: &str = "/api/v1/namespaces/default/services";

/// Everything that is compared.
const ASKED: [&str; 9] = [
    "/api/v1/configmaps",
    "/api/v1/services",
    "/apis/networking.k8s.io/v1/ipaddresses",
    "/apis/apiregistration.k8s.io/v1/apiservices",
    DEFINITIONS,
    BOATS,
    SHIPS,
    "/apis",
    "/apis/shop.example.com/v1",
];

/// A request: some of them are refused, depending on what came before.
#[derive(Clone, Debug)]
enum Step {
    Create(&'static str, Value),
    Patch(String, Value),
    Delete(String),
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    let name = || prop::sample::select(&NAMES[..]);
    let boat_definition = |has_color: bool| {
        let color = if has_color {
            json!({ "type": "string", "default": "white" })
        } else {
            json!({ "type": "integer" })
        };
        definition(
            "boats",
            "Boat",
            "v1",
            &json!({ "masts": { "type": "integer" }, "color": color }),
        )
    };
    let ships = definition("ships", "Ship", "v2", &json!({}));
    let ship = |name| json!({ "apiVersion": "shop.example.com/v2", "kind": "Ship", "metadata": { "name": name } });
    let definition_of = |plural: &str| format!("{DEFINITIONS}/{plural}.shop.example.com");
    prop_oneof![
        3 => name().prop_map(|name| Step::Create(CONFIG_MAPS, config_map(name))),
        3 => (name(), 0..9_u8).prop_map(|(name, value)| {
            Step::Patch(format!("{CONFIG_MAPS}/{name}"), json!({ "data": { "k": value.to_string() } }))
        }),
        2 => name().prop_map(|name| Step::Delete(format!("{CONFIG_MAPS}/{name}"))),
        1 => name().prop_map(|name| {
            Step::Create(SERVICES, json!({ "metadata": { "name": name }, "spec": { "ports": [{ "port": 80 }] } }))
        }),
        1 => name().prop_map(|name| Step::Delete(format!("{SERVICES}/{name}"))),
        2 => any::<bool>().prop_map(move |has_color| Step::Create(DEFINITIONS, boat_definition(has_color))),
        2 => any::<bool>().prop_map(move |has_color| {
            Step::Patch(definition_of("boats"), json!({ "spec": boat_definition(has_color)["spec"] }))
        }),
        1 => Just(Step::Create(DEFINITIONS, ships)),
        1 => Just(Step::Delete(definition_of("boats"))),
        1 => Just(Step::Delete(definition_of("ships"))),
        4 => (name(), 0..5_u8).prop_map(|(name, masts)| Step::Create(BOATS, boat(name, &json!({ "masts": masts })))),
        2 => (name(), 0..5_u8).prop_map(|(name, masts)| {
            Step::Patch(format!("{BOATS}/{name}"), json!({ "spec": { "masts": masts } }))
        }),
        1 => name().prop_map(|name| Step::Delete(format!("{BOATS}/{name}"))),
        2 => name().prop_map(move |name| Step::Create(SHIPS, ship(name))),
        1 => Just(Step::Compact),
    ]
}

async fn take(server: &ApiServer, step: &Step) {
    match step {
        Step::Create(path, object) => drop(ask(server, Method::POST, path, Some(object)).await),
        Step::Patch(path, change) => drop(ask(server, Method::PATCH, path, Some(change)).await),
        Step::Delete(path) => drop(ask(server, Method::DELETE, path, None).await),
        Step::Compact => server.compact(),
    }
}

async fn answers(server: &ApiServer) -> Vec<(u16, Value)> {
    let mut answers = Vec::new();
    for path in ASKED {
        answers.push(get(server, path).await);
    }
    answers
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn a_fork_answers_as_the_server_did(
        steps in prop::collection::vec(step(), 1..30),
        later in prop::collection::vec(step(), 1..8),
        seed in any::<u64>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = ApiServer::new(Options::new().seed(seed));
            let mut then = BTreeMap::from([(server.revision(), answers(&server).await)]);
            for step in &steps {
                take(&server, step).await;
                then.insert(server.revision(), answers(&server).await);
            }
            let now = server.revision();
            for (&revision, answered) in then.range(server.oldest_revision()..) {
                let fork = server.fork_at_revision(revision).unwrap();
                assert_eq!(&answers(&fork).await, answered, "revision {revision} of {now}");
                assert_eq!(fork.revision(), revision);
                for step in &later {
                    take(&fork, step).await;
                }
            }
            assert_eq!((server.revision(), &answers(&server).await), (now, &then[&now]));
        });
    }
}
