//! What is new, for those who follow: writes with their times, and requests by their numbers.

use std::time::Duration;

use kubewright_apiserver::{ApiServer, Options, RevisionError};
use serde_json::json;

use super::{BOATS, CONFIG_MAPS, DEFINITIONS, boat, boats, config_map, create, delete, get};

#[tokio::test(start_paused = true)]
async fn writes_have_the_time_at_which_they_were_made() {
    let options = Options::new().epoch("2026-01-01T00:00:00Z".parse().unwrap());
    let server = ApiServer::new(options);
    let before = server.revision();
    for name in ["one", "two"] {
        tokio::time::sleep(Duration::from_mins(1)).await;
        create(&server, CONFIG_MAPS, &config_map(name)).await;
    }
    let times: Vec<_> = server
        .history(before, |_, resource| resource == "configmaps")
        .iter()
        .map(|change| change.time.to_string())
        .collect();
    assert_eq!(times, ["2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"]);
    let of = |server: &ApiServer, revision| server.time_of_revision(revision).map(|time| time.to_string());
    assert_eq!(of(&server, before).as_deref(), Ok("2026-01-01T00:00:00Z"));
    assert_eq!(of(&server, before + 1).as_deref(), Ok("2026-01-01T00:01:00Z"));
    let revision = before + 3;
    let newest = before + 2;
    assert_eq!(of(&server, revision), Err(RevisionError::Future { revision, newest }));
    // The past of a fork keeps its times, and what is written there has those of its own clock.
    let fork = server.fork_at("2020-01-01T00:00:00Z".parse().unwrap(), 1);
    create(&fork, CONFIG_MAPS, &config_map("three")).await;
    assert_eq!(of(&fork, before + 1).as_deref(), Ok("2026-01-01T00:01:00Z"));
    assert_eq!(of(&fork, before + 3).as_deref(), Ok("2020-01-01T00:00:00Z"));
}

#[tokio::test]
async fn the_history_tells_of_kinds_that_are_gone() {
    let server = ApiServer::new(Options::new());
    let before = server.revision();
    create(&server, DEFINITIONS, &boats()).await;
    create(&server, BOATS, &boat("sloop", &json!({ "masts": 1 }))).await;
    delete(&server, &format!("{DEFINITIONS}/boats.shop.example.com")).await;
    let told: Vec<_> = server
        .history(before, |group, _| group == "shop.example.com")
        .iter()
        .map(|change| {
            let kind = change.object["kind"].as_str().unwrap_or_default().to_owned();
            (change.resource.clone(), kind, change.deleted)
        })
        .collect();
    let expected = [false, true].map(|is_deleted| ("boats".to_owned(), "Boat".to_owned(), is_deleted));
    assert_eq!(told, expected);
}

#[tokio::test]
async fn who_waits_between_histories_sees_every_write_once() {
    const WRITERS: usize = 4;
    const WRITES: usize = 50;
    let server = ApiServer::new(Options::new());
    let before = server.revision();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let server = server.clone();
        writers.spawn(async move {
            for number in 0..WRITES {
                create(&server, CONFIG_MAPS, &config_map(&format!("c-{writer}-{number}"))).await;
                tokio::task::yield_now().await;
            }
        });
    }
    let (mut seen, mut names) = (before, Vec::new());
    while names.len() < WRITERS * WRITES {
        let newest = server.written_after(seen).await;
        let changes = server.history(seen, |_, resource| resource == "configmaps");
        seen = changes.last().map_or(newest, |change| newest.max(change.revision));
        names.extend(
            changes
                .into_iter()
                .map(|change| change.object["metadata"]["name"].to_string()),
        );
    }
    writers.join_all().await;
    assert!(server.history(seen, |_, resource| resource == "configmaps").is_empty());
    names.sort();
    names.dedup();
    assert_eq!(names.len(), WRITERS * WRITES);
}

#[tokio::test]
async fn requests_are_numbered_and_told_after_a_number() {
    let server = ApiServer::new(Options::new().audit_events(3));
    for number in 1..=5 {
        get(&server, &format!("/version?{number}")).await;
    }
    let told = |seen| -> Vec<(u64, String)> {
        let events = server.audit_after(seen).events();
        events.into_iter().map(|event| (event.number, event.uri)).collect()
    };
    let kept = [3, 4, 5].map(|number| (number, format!("/version?{number}")));
    // Who knows the first one only sees by the numbers that the second one is gone.
    assert_eq!(told(1), kept);
    assert_eq!(told(0), kept);
    assert_eq!(told(4), kept[2..]);
    assert_eq!(told(5), []);
    assert_eq!(told(u64::MAX), []);
    assert_eq!(server.audit().events().len(), 3);
    let (newest, _) = tokio::join!(server.audited_after(5), get(&server, "/version?6"));
    assert_eq!((newest, told(5)), (6, vec![(6, "/version?6".to_owned())]));
    // A fork has a trail of its own.
    assert!(server.fork().audit().events().is_empty());
}
