//! How large a `Deployment` and its `ReplicaSets` are and may be.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::history;

/// How many Pods a `Deployment` wants.
pub(super) fn wanted(deployment: &Deployment) -> i64 {
    let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas);
    replicas.unwrap_or(1).into()
}

/// How many Pods a set is asked for.
pub(super) fn asked(set: &ReplicaSet) -> i64 {
    let replicas = set.spec.as_ref().and_then(|spec| spec.replicas);
    replicas.unwrap_or(1).into()
}

/// How many Pods a set has.
pub(super) fn actual(set: &ReplicaSet) -> i64 {
    set.status.as_ref().map_or(0, |status| status.replicas.into())
}

/// How many available Pods a set has.
pub(super) fn available(set: &ReplicaSet) -> i64 {
    let available = set.status.as_ref().and_then(|status| status.available_replicas);
    available.unwrap_or(0).into()
}

/// Whether Pods are replaced step by step.
pub(super) fn is_rolling(deployment: &Deployment) -> bool {
    strategy(deployment) == "RollingUpdate"
}

/// The name of the strategy.
pub(super) fn strategy(deployment: &Deployment) -> &str {
    let strategy = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref());
    strategy
        .and_then(|strategy| strategy.type_.as_deref())
        .unwrap_or("RollingUpdate")
}

/// How many Pods too many, and too few, there may be during a rollout.
pub(super) fn bounds(deployment: &Deployment) -> (i64, i64) {
    if !is_rolling(deployment) {
        return (0, 0);
    }
    let (surge, unavailable) = fenceposts(deployment);
    let wanted = wanted(deployment);
    (surge, if wanted == 0 { 0 } else { unavailable.min(wanted) })
}

fn fenceposts(deployment: &Deployment) -> (i64, i64) {
    let rolling = deployment
        .spec
        .as_ref()
        .and_then(|spec| spec.strategy.as_ref())
        .and_then(|strategy| strategy.rolling_update.as_ref());
    let wanted = wanted(deployment);
    let surge = scaled(rolling.and_then(|rolling| rolling.max_surge.as_ref()), wanted, true);
    let unavailable = scaled(
        rolling.and_then(|rolling| rolling.max_unavailable.as_ref()),
        wanted,
        false,
    );
    // Rounded to nothing in both directions, nothing could ever move.
    (surge, if surge == 0 && unavailable == 0 { 1 } else { unavailable })
}

/// A number, or a percentage of one.
pub(super) fn scaled(value: Option<&IntOrString>, of: i64, round_up: bool) -> i64 {
    match value {
        None => 0,
        Some(IntOrString::Int(number)) => i64::from(*number),
        Some(IntOrString::String(text)) => {
            let percent = text.strip_suffix('%').and_then(|percent| percent.parse::<i32>().ok());
            let hundredths = i64::from(percent.unwrap_or(0)) * of;
            if round_up {
                (hundredths + 99).div_euclid(100)
            } else {
                hundredths.div_euclid(100)
            }
        }
    }
}

/// How many Pods the newest set should have now.
pub(super) fn of_new(deployment: &Deployment, all_asked: i64, new_asked: i64) -> i64 {
    let wanted = wanted(deployment);
    if !is_rolling(deployment) {
        return wanted;
    }
    let most = wanted + fenceposts(deployment).0;
    if all_asked >= most {
        return new_asked;
    }
    new_asked + (most - all_asked).min(wanted - new_asked)
}

/// Whether a set has all Pods that the `Deployment` wants, and knows it.
pub(super) fn is_saturated(deployment: &Deployment, set: &ReplicaSet) -> bool {
    let wanted = wanted(deployment);
    asked(set) == wanted && history::number(set, history::DESIRED) == Some(wanted) && available(set) == wanted
}

/// How many of the Pods that are to be added (or taken away, if negative) fall to a set.
pub(super) fn proportion(set: &ReplicaSet, deployment: &Deployment, to_add: i64, added: i64) -> i64 {
    if asked(set) == 0 || to_add == 0 || to_add == added {
        return 0;
    }
    let fraction = fraction(set, deployment);
    let allowed = to_add - added;
    if to_add > 0 {
        fraction.min(allowed)
    } else {
        fraction.max(allowed)
    }
}

fn fraction(set: &ReplicaSet, deployment: &Deployment) -> i64 {
    let wanted = wanted(deployment);
    if wanted == 0 {
        return -asked(set);
    }
    let before = match history::number(set, history::MOST) {
        None | Some(0) => deployment
            .status
            .as_ref()
            .and_then(|status| status.replicas)
            .unwrap_or(0)
            .into(),
        Some(before) => before,
    };
    if before == 0 {
        return 0;
    }
    let size = (asked(set) * (wanted + bounds(deployment).0)) as f64 / before as f64;
    size.round() as i64 - asked(set)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn deployment(replicas: i32, surge: &Value, unavailable: &Value) -> Deployment {
        serde_json::from_value(json!({ "spec": {
            "replicas": replicas, "selector": {}, "template": {},
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } },
        } }))
        .unwrap()
    }

    #[test]
    fn surge_is_rounded_up_and_unavailability_down() {
        assert_eq!(bounds(&deployment(10, &json!("25%"), &json!("25%"))), (3, 2));
        assert_eq!(bounds(&deployment(3, &json!("25%"), &json!("25%"))), (1, 0));
        assert_eq!(bounds(&deployment(1, &json!(0), &json!("1%"))), (0, 1));
        assert_eq!(bounds(&deployment(2, &json!(1), &json!(5))), (1, 2));
        assert_eq!(bounds(&deployment(0, &json!(1), &json!(1))), (1, 0));
    }

    #[test]
    fn the_new_set_grows_as_far_as_the_surge_allows() {
        let ten = deployment(10, &json!(3), &json!(2));
        assert_eq!(of_new(&ten, 10, 0), 3);
        assert_eq!(of_new(&ten, 13, 3), 3);
        assert_eq!(of_new(&ten, 11, 8), 10);
    }
}
