// SPDX-License-Identifier: Apache-2.0

//! Operators with one mistake each. Every module has `broken` and `fixed`.

pub mod counter;
pub mod create_again;
pub mod creates_only;
pub mod deletes_foreign;
pub mod early_release;
pub mod edge_triggered;
pub mod first_of_two;
pub mod forbidden;
pub mod generated_name;
pub mod gives_up;
pub mod ignores_deletion;
pub mod keeps_removed;
pub mod late_finalizer;
pub mod made_once;
pub mod missed_deletion;
pub mod never_rests;
pub mod no_owner;
pub mod noted_first;
pub mod old_generation;
pub mod old_transition;
pub mod optional_webhook;
pub mod outside;
pub mod own_watch;
pub mod remembers;
pub mod retries_blindly;
pub mod status_first;
pub mod sticks;
pub mod swallows;
pub mod sweeps;
pub mod takes_over;
pub mod touches;
pub mod trusts_clock;
pub mod unobserved;
pub mod unwraps;

use kubewright::k8s_openapi::api::core::v1::{ConfigMap, Service};
use kubewright::prelude::*;

/// What an App asks for.
#[kubewright::resource(
    group = "broken.example.com",
    version = "v1",
    kind = "App",
    namespaced,
    status = "AppStatus"
)]
#[derive(Default)]
pub struct AppSpec {
    /// What its ConfigMap says.
    pub text: String,
}

/// What is observed of an App.
#[kubewright::schema]
#[derive(Default, PartialEq)]
pub struct AppStatus {
    /// What the operator noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The generation that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions by their types.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<Condition>,
    /// Whether it failed.
    #[schema(optional)]
    pub failed: bool,
    /// The Service that was made for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// How many ConfigMaps were made for it.
    #[schema(optional)]
    pub made: i32,
    /// Whether all is there.
    #[schema(optional)]
    pub ready: bool,
}

/// Whether changes of what the operator made wake it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Children {
    Watched,
    Unwatched,
}

/// An operator of Apps with this reconcile. Apps that are being deleted are left alone.
pub(crate) fn operator<F, Fut>(children: Children, reconcile: F) -> Operator
where
    F: Fn(Client, View<App>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Action>> + Send + 'static,
{
    operator_of_all(children, move |client, app| {
        let reconcile = reconcile.clone();
        async move {
            if app.metadata.deletion_timestamp.is_some() {
                return Ok(Action::done());
            }
            reconcile(client, app).await
        }
    })
}

/// An operator of Apps with this reconcile, also of those that are being deleted.
pub(crate) fn operator_of_all<F, Fut>(children: Children, reconcile: F) -> Operator
where
    F: Fn(Client, View<App>) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Action>> + Send + 'static,
{
    operator_of_keys(children, move |client, request| {
        let reconcile = reconcile.clone();
        async move {
            match client.get_opt::<App>(&request).await? {
                Some(app) => reconcile(client, app).await,
                None => Ok(Action::done()),
            }
        }
    })
}

/// An operator of Apps with this reconcile, also of those that are gone.
pub(crate) fn operator_of_keys<F, Fut>(children: Children, reconcile: F) -> Operator
where
    F: Fn(Client, Request) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Action>> + Send + 'static,
{
    let controller = Controller::of::<App>();
    let controller = match children {
        Children::Watched => controller.owns::<ConfigMap>().owns::<Service>(),
        Children::Unwatched => controller.reads::<ConfigMap>().reads::<Service>(),
    };
    let controller = controller.reconcile_with(move |context| {
        let (client, reconcile) = (context.client(), reconcile.clone());
        move |request: Request| reconcile(client.clone(), request)
    });
    Operator::new("broken")
        .resource::<App>()
        .controller(controller)
        .rule(Rule::new(
            [""],
            ["configmaps", "services"],
            ["create", "update", "delete"],
        ))
        .rule(Rule::new(
            ["broken.example.com"],
            ["apps", "apps/status", "apps/finalizers"],
            ["update"],
        ))
}

/// The key of what is made for an App: its own name.
pub(crate) fn key(app: &App) -> ObjectKey {
    ObjectKey::namespaced(&app.namespace().unwrap_or_default(), &app.name_any())
}

/// The ConfigMap of an App, with no owner.
pub(crate) fn config_map(app: &App) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.namespace = app.namespace();
    map.metadata.name = Some(app.name_any());
    map.data = Some(BTreeMap::from([("text".to_owned(), app.spec.text.clone())]));
    map
}

/// The ConfigMap of an App, which goes with it.
pub(crate) fn owned_config_map(app: &App) -> Result<ConfigMap> {
    let mut map = config_map(app);
    set_controller_reference(app, &mut map)?;
    Ok(map)
}

/// Makes the ConfigMap of an App, or changes it.
pub(crate) async fn ensure(client: &Client, app: &App) -> Result<()> {
    ensure_map(client, app, owned_config_map(app)?).await
}

/// Makes a ConfigMap of an App, or changes it.
pub(crate) async fn ensure_map(client: &Client, app: &App, wanted: ConfigMap) -> Result<()> {
    let key = ObjectKey::namespaced(&wanted.namespace().unwrap_or_default(), &wanted.name_any());
    match client.get_opt::<ConfigMap>(&key).await? {
        None => drop(client.create(&wanted).await?),
        Some(found) if !is_controlled_by(&*found, app) => {
            return Err(Failure::message("the ConfigMap belongs to somebody else"));
        }
        Some(found) if found.data != wanted.data => {
            let mut changed = found.into_owned();
            changed.data = wanted.data;
            client.update(&changed).await?;
        }
        Some(_) => {}
    }
    Ok(())
}

/// Writes the status of an App if it is another one.
pub(crate) async fn set_status(client: &Client, app: &App, status: AppStatus) -> Result<()> {
    if app.status.clone().unwrap_or_default() != status {
        let mut changed = app.clone();
        changed.status = Some(status);
        client.update_status(&changed).await?;
    }
    Ok(())
}
