//! The operator of the project after an edit that loops: two controllers that want another colour of one `ConfigMap`.

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_description::Rule;
use kubewright_runtime::controller::{Action, Context, Controller, Failure};
use kubewright_runtime::object::View;
use kubewright_runtime::operator::Operator;

const COLOUR: &str = "colour";

/// An operator that never rests.
pub(crate) fn two_colours() -> Operator {
    let painter = |colour: &'static str| {
        let paint = move |context: Context, map: View<ConfigMap>| paint(context, map, colour);
        Controller::of::<ConfigMap>().named(colour).reconcile_objects(paint)
    };
    super::operator::operator()
        .rule(Rule::new([""], ["configmaps"], ["update"]))
        .controller(painter("red"))
        .controller(painter("blue"))
}

async fn paint(context: Context, map: View<ConfigMap>, colour: &'static str) -> Result<Action, Failure> {
    let is_wanted = map
        .data
        .as_ref()
        .and_then(|data| data.get(COLOUR))
        .is_some_and(|is| is == colour);
    if map.key().name() != "sample" || is_wanted {
        return Ok(Action::done());
    }
    let mut painted = map.into_owned();
    painted
        .data
        .get_or_insert_default()
        .insert(COLOUR.to_owned(), colour.to_owned());
    context.client().update(&painted).await?;
    Ok(Action::done())
}
