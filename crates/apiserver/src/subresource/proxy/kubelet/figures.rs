//! `/metrics`: figures for Prometheus, as far as they are known. What containers use is not measured on a simulated node; its figures say
//! so in the way of a kubelet that has nothing to tell.

use std::fmt::Write as _;

use http::{HeaderValue, Response, StatusCode, header};
use jiff::Timestamp;
use kubewright_apimachinery::go::quote;

use super::super::location::text;
use super::Kubelet;
use super::documents::running_containers;
use super::route::Figures;
use crate::wire::body::Body;

/// What could not be measured, by cAdvisor's two collectors.
const UNMEASURED: &str = "\
# HELP container_scrape_error 1 if there was an error while getting container metrics, 0 otherwise
# TYPE container_scrape_error gauge
container_scrape_error 1
# HELP machine_scrape_error 1 if there was an error while getting machine metrics, 0 otherwise.
# TYPE machine_scrape_error gauge
machine_scrape_error 1
";

/// That nothing went wrong while nothing was measured.
const SCRAPED: &str = "\
# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE resource_scrape_error gauge
resource_scrape_error 0
# HELP scrape_error [ALPHA] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE scrape_error gauge
scrape_error 0
";

pub(super) fn answer(kubelet: Kubelet<'_>, figures: Figures) -> Response<Body> {
    let figures = match figures {
        Figures::Kubelet => of_kubelet(kubelet),
        Figures::Resources => format!("{}{SCRAPED}", start_times(kubelet)),
        Figures::Cadvisor => UNMEASURED.to_owned(),
        // Nothing is probed over the network, so there are no results to count.
        Figures::Probes => String::new(),
    };
    let mut response = super::plain(StatusCode::OK, figures);
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// What a kubelet counts of itself and of its Pods.
fn of_kubelet(kubelet: Kubelet<'_>) -> String {
    let pods = kubelet.pods();
    let running = pods.iter().map(|pod| running_containers(pod).count());
    let running: Vec<usize> = running.filter(|count| *count > 0).collect();
    let (node, containers, pods) = (quote(kubelet.node), running.iter().sum::<usize>(), running.len());
    format!(
        "\
# HELP kubelet_node_name [ALPHA] The node's name. The count is always 1.
# TYPE kubelet_node_name gauge
kubelet_node_name{{node={node}}} 1
# HELP kubelet_running_containers [ALPHA] Number of containers currently running
# TYPE kubelet_running_containers gauge
kubelet_running_containers{{container_state=\"running\"}} {containers}
# HELP kubelet_running_pods [ALPHA] Number of pods that have a running pod sandbox
# TYPE kubelet_running_pods gauge
kubelet_running_pods {pods}
"
    )
}

/// When containers started.
fn start_times(kubelet: Kubelet<'_>) -> String {
    let mut lines = Vec::new();
    for pod in &kubelet.pods() {
        let [name, namespace] = ["name", "namespace"].map(|field| quote(text(&pod["metadata"], field)));
        for status in running_containers(pod) {
            let started = text(&status["state"]["running"], "startedAt").parse::<Timestamp>();
            let Ok(started) = started else { continue };
            let container = quote(text(status, "name"));
            let labels = format!("container={container},namespace={namespace},pod={name}");
            let seconds = exponential(started.as_second());
            lines.push(format!("container_start_time_seconds{{{labels}}} {seconds}\n"));
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    lines.sort();
    let mut text = String::from(
        "\
# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds
# TYPE container_start_time_seconds gauge
",
    );
    for line in lines {
        let _ = write!(text, "{line}");
    }
    text
}

/// A whole number of seconds as Go writes a float: with an exponent once it has many digits, and without zeros at its end.
fn exponential(seconds: i64) -> String {
    let digits = seconds.to_string();
    if digits.len() < 7 {
        return digits;
    }
    let (first, rest) = digits.split_at(1);
    let rest = rest.trim_end_matches('0');
    let point = if rest.is_empty() { "" } else { "." };
    format!("{first}{point}{rest}e+{:02}", digits.len() - 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn seconds_are_written_as_go_writes_floats() {
        assert_eq!(super::exponential(1_767_225_601), "1.767225601e+09");
        assert_eq!(super::exponential(2_000_000_000), "2e+09");
        assert_eq!(super::exponential(5), "5");
    }
}
