//! The script of a simulated Pod, from its annotations; without any it starts at once, is ready and keeps running.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kubewright_apimachinery::duration;

/// Where all of these annotations begin.
const PREFIX: &str = "kubewright.dev/";

/// The life of a Pod's containers. Each annotation may end in a dot and the name of a container, to be for that one only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// `start-delay`: from when the Pod is on its node until its containers run.
    pub(super) start_delay: Duration,
    /// `stop-delay`: how long the Pod takes to end when it is deleted; no longer than its grace period.
    pub(super) stop_delay: Duration,
}

/// What one container goes through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContainerScript {
    /// `image-error`: why its image cannot be pulled.
    pub(super) image_error: Option<String>,
    /// `ready`: whether it ever is.
    pub(super) ready: bool,
    /// `ready-delay`: from when it runs until it is ready.
    pub(super) ready_delay: Duration,
    /// `run-time`: how long it runs; `forever` if it does not end.
    pub(super) run_time: Option<Duration>,
    /// `exit-code`: what it exits with.
    pub(super) exit_code: i32,
    /// `restarts`: after so many it behaves as if it had no annotations.
    pub(super) restarts: Option<i32>,
}

/// Annotations that cannot be understood. What they say is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("annotation {PREFIX}{name} is {value:?}, but must be {wanted}")]
pub(super) struct ScriptError {
    name: String,
    value: String,
    wanted: &'static str,
}

/// Reads the annotations of a Pod.
struct Reader<'a> {
    annotations: Option<&'a BTreeMap<String, String>>,
    container: Option<&'a str>,
    /// Whether only what is for this container counts.
    is_alone: bool,
    errors: Vec<ScriptError>,
}

impl<'a> Reader<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        let annotations = self.annotations?;
        let own = self
            .container
            .and_then(|container| annotations.get(&format!("{PREFIX}{name}.{container}")));
        own.or_else(|| annotations.get(&format!("{PREFIX}{name}")).filter(|_| !self.is_alone))
            .map(String::as_str)
    }

    fn parsed<T>(&mut self, name: &str, wanted: &'static str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.text(name)?;
        let value = parse(text);
        if value.is_none() {
            self.errors.push(ScriptError {
                name: name.to_owned(),
                value: text.to_owned(),
                wanted,
            });
        }
        value
    }

    fn duration(&mut self, name: &str) -> Option<Duration> {
        self.parsed(name, "a duration such as 1m30s or 250ms", seconds_or_duration)
    }
}

/// What a Pod goes through, and what could not be understood of it.
pub(super) fn of_pod(pod: &Pod) -> (Script, Vec<ScriptError>) {
    let mut reader = Reader {
        annotations: pod.metadata.annotations.as_ref(),
        container: None,
        is_alone: false,
        errors: Vec::new(),
    };
    let script = Script {
        start_delay: reader.duration("start-delay").unwrap_or_default(),
        stop_delay: reader.duration("stop-delay").unwrap_or_default(),
    };
    let mut errors = reader.errors;
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    for container in containers {
        for error in of_container(pod, &container.name, 0).1 {
            if !errors.contains(&error) {
                errors.push(error);
            }
        }
    }
    (script, errors)
}

/// What a container goes through that was restarted so often.
pub(super) fn of_container(pod: &Pod, container: &str, restarted: i32) -> (ContainerScript, Vec<ScriptError>) {
    let policy = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref());
    // A container that is not always restarted is expected to complete.
    let finishes = matches!(policy, Some("Never" | "OnFailure"));
    read(pod, container, restarted, finishes, false)
}

/// What an ephemeral container goes through: it runs on, unless an annotation for it says otherwise.
pub(super) fn of_ephemeral(pod: &Pod, container: &str) -> (ContainerScript, Vec<ScriptError>) {
    read(pod, container, 0, false, true)
}

fn read(
    pod: &Pod,
    container: &str,
    restarted: i32,
    finishes: bool,
    is_alone: bool,
) -> (ContainerScript, Vec<ScriptError>) {
    let plain = ContainerScript {
        image_error: None,
        ready: true,
        ready_delay: Duration::ZERO,
        run_time: finishes.then_some(Duration::ZERO),
        exit_code: 0,
        restarts: None,
    };
    let mut reader = Reader {
        annotations: pod.metadata.annotations.as_ref(),
        container: Some(container),
        is_alone,
        errors: Vec::new(),
    };
    let restarts = reader.parsed("restarts", "a number", |text| text.parse().ok());
    if restarts.is_some_and(|restarts| restarted >= restarts) {
        return (plain, reader.errors);
    }
    let exit_code = reader.parsed("exit-code", "a number from 0 to 255", |text| {
        text.parse::<u8>().ok().map(i32::from)
    });
    let run_time = reader.parsed("run-time", "a duration such as 1m30s, or forever", |text| match text {
        "forever" => Some(None),
        text => seconds_or_duration(text).map(Some),
    });
    let ready = reader.parsed("ready", "true or false", |text| text.parse().ok());
    let script = ContainerScript {
        image_error: reader.text("image-error").map(str::to_owned),
        ready: ready.unwrap_or(true),
        ready_delay: reader.duration("ready-delay").unwrap_or_default(),
        run_time: run_time.unwrap_or(if exit_code.is_some() {
            Some(Duration::ZERO)
        } else {
            plain.run_time
        }),
        exit_code: exit_code.unwrap_or(0),
        restarts,
    };
    (script, reader.errors)
}

/// A duration as Go writes it, or a number of seconds.
fn seconds_or_duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    duration::parse_unsigned(text)
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(annotations: Value, policy: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "annotations": annotations },
            "spec": { "restartPolicy": policy, "containers": [{ "name": "web" }, { "name": "log" }] },
        }))
        .unwrap()
    }

    #[test]
    fn a_number_by_itself_is_seconds() {
        assert_eq!(seconds_or_duration("7"), Some(Duration::from_secs(7)));
        assert_eq!(seconds_or_duration("1.5h"), Some(Duration::from_mins(90)));
        for wrong in ["", "5 minutes", "-1s", "-1"] {
            assert_eq!(seconds_or_duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_annotation_may_be_for_one_container() {
        let pod = pod(
            json!({ "kubewright.dev/exit-code": "1", "kubewright.dev/exit-code.log": "7" }),
            "Always",
        );
        assert_eq!(of_container(&pod, "web", 0).0.exit_code, 1);
        assert_eq!(of_container(&pod, "log", 0).0.exit_code, 7);
    }

    #[test]
    fn containers_run_on_unless_they_are_there_to_finish() {
        assert_eq!(of_container(&pod(json!({}), "Always"), "web", 0).0.run_time, None);
        assert_eq!(
            of_container(&pod(json!({}), "Never"), "web", 0).0.run_time,
            Some(Duration::ZERO)
        );
        let forever = pod(json!({ "kubewright.dev/run-time": "forever" }), "Never");
        assert_eq!(of_container(&forever, "web", 0).0.run_time, None);
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        let (_, errors) = of_pod(&pod(
            json!({ "kubewright.dev/ready": "maybe", "kubewright.dev/stop-delay": "x" }),
            "Always",
        ));
        let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "annotation kubewright.dev/stop-delay is \"x\", but must be a duration such as 1m30s or 250ms",
                "annotation kubewright.dev/ready is \"maybe\", but must be true or false",
            ]
        );
    }
}
