use kubewright_access::RequestInfo;
use kubewright_store::{Limits, Store};

use super::*;
use crate::custom::ServedResources;
use crate::request::route::{Route, route};

fn target(path: &str) -> Target<'_> {
    match route(&ServedResources::default(), &RequestInfo::parse("GET", path)) {
        Route::Resource(target) => target,
        _ => panic!("{path} names no resource"),
    }
}

fn value(metrics: &Metrics, series: &str) -> Option<String> {
    let text = metrics.render(&Store::new(Limits::default()), &ServedResources::default());
    text.lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' ').map(str::to_owned))
}

#[test]
fn a_request_is_counted_by_what_it_was_for_and_how_it_ended() {
    let metrics = Metrics::default();
    let mut headers = HeaderMap::new();
    headers.insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/apply-patch+yaml"),
    );
    for code in [StatusCode::OK, StatusCode::OK, StatusCode::NOT_FOUND] {
        let mut observation = metrics.observe();
        observation.route(
            Verb::Patch,
            &target("/apis/apps/v1/namespaces/ns/deployments/web/scale"),
        );
        observation.refine(&headers, &Query::parse(Some("dryRun=All")));
        metrics.finish(&observation, code);
    }
    let labels = "component=\"apiserver\",dry_run=\"All\",group=\"apps\",resource=\"deployments\",\
                  scope=\"resource\",subresource=\"scale\",verb=\"APPLY\",version=\"v1\"";
    let total = |code: u16| {
        value(
            &metrics,
            &format!("apiserver_request_total{{code=\"{code}\",{labels}}}"),
        )
    };
    assert_eq!((total(200).as_deref(), total(404).as_deref()), (Some("2"), Some("1")));
    let slowest = format!("apiserver_request_duration_seconds_bucket{{{labels},le=\"+Inf\"}}");
    assert_eq!(value(&metrics, &slowest).as_deref(), Some("3"));
}

#[test]
fn a_duration_falls_into_the_first_bucket_that_holds_it() {
    let mut histogram = Histogram::default();
    for milliseconds in [1, 5, 6, 70_000] {
        histogram.add(Duration::from_millis(milliseconds));
    }
    assert_eq!((histogram.buckets[0], histogram.buckets[1], histogram.count), (2, 1, 4));
}

#[test]
fn a_request_is_in_flight_until_it_is_answered_or_given_up() {
    let metrics = Metrics::default();
    let name = "apiserver_current_inflight_requests";
    let gauge = |kind: &str| value(&metrics, &format!("{name}{{request_kind=\"{kind}\"}}"));
    let mut observation = metrics.observe();
    observation.route(Verb::Create, &target("/api/v1/namespaces/ns/pods"));
    assert_eq!(
        (gauge("mutating").as_deref(), gauge("readOnly").as_deref()),
        (Some("1"), Some("0"))
    );
    drop(observation);
    assert_eq!(gauge("mutating").as_deref(), Some("0"));
}

#[test]
fn a_watch_is_counted_once_when_it_ends() {
    let metrics = Metrics::default();
    let pods = target("/api/v1/pods");
    let mut observation = metrics.observe();
    observation.route(Verb::Watch, &pods);
    let running = metrics.long_running(&pods, Verb::Watch);
    metrics.finish(&observation, StatusCode::OK);
    let labels = "group=\"\",resource=\"pods\",scope=\"cluster\",subresource=\"\",verb=\"WATCH\",version=\"v1\"}";
    let now = || {
        value(
            &metrics,
            &format!("apiserver_longrunning_requests{{component=\"apiserver\",{labels}"),
        )
    };
    let total = format!("apiserver_request_total{{code=\"200\",component=\"apiserver\",dry_run=\"\",{labels}");
    assert_eq!((now().as_deref(), value(&metrics, &total)), (Some("1"), None));
    drop(running);
    assert_eq!(
        (now().as_deref(), value(&metrics, &total).as_deref()),
        (Some("0"), Some("1"))
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_knows_its_size_and_age() {
    let metrics = Metrics::default();
    let number = |name: &str| value(&metrics, name).and_then(|text| text.parse::<f64>().ok());
    assert!(number("process_resident_memory_bytes").is_some_and(|bytes| bytes > 1024.0 * 1024.0));
    // The year 2020.
    assert!(number("process_start_time_seconds").is_some_and(|seconds| seconds > 1_577_836_800.0));
}
