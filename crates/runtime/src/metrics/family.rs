//! The series of one name, distinguished by their labels.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_system::prometheus;
use parking_lot::RwLock;

use super::value::{Counter, Gauge, Histogram};

/// What every family is to the registry.
pub(super) trait Collect: std::any::Any + Send + Sync {
    /// Its lines, nothing where there is no series.
    fn render(&self, text: &mut String);
    /// Its name and its labels.
    fn declaration(&self) -> (String, Vec<String>);
}

/// What a family needs of its metrics. Only this module's types have it.
pub trait Metric: Clone + Send + Sync + 'static {
    /// The type and labels that families of the same name must have in common.
    type Shape: Clone + PartialEq + Send + Sync + 'static;
    /// The name of the type in the text.
    const TYPE: &'static str;
    /// A new series.
    fn make(shape: &Self::Shape) -> Self;
    /// Its lines.
    fn render(&self, text: &mut String, name: &str, labels: &str);
}

struct Inner<M: Metric, const N: usize> {
    name: String,
    help: String,
    /// In the order of the text: by name.
    order: [usize; N],
    labels: [String; N],
    shape: M::Shape,
    series: RwLock<BTreeMap<[String; N], M>>,
}

/// The series of one name: one [`Counter`], [`Gauge`] or [`Histogram`] for each set of label values. Cloning shares it.
///
/// How many labels there are is part of the type, so a call with too few does not compile.
///
/// ```
/// use kubewright_runtime::metrics::Registry;
///
/// let registry = Registry::new();
/// let views = registry.gauge("markdownview_available", "Whether a view is available.", ["name", "namespace"]).unwrap();
/// views.with(["docs", "team-a"]).set(1.0);
/// assert!(registry.render().ends_with("\nmarkdownview_available{name=\"docs\",namespace=\"team-a\"} 1\n"));
/// views.remove(["docs", "team-a"]);
/// assert_eq!(registry.render(), "");
/// ```
pub struct Family<M, const N: usize>(Arc<Inner<M, N>>)
where
    M: Metric;

impl<M: Metric, const N: usize> Family<M, N> {
    pub(super) fn new(name: &str, help: &str, labels: [&str; N], shape: M::Shape) -> Self {
        let mut order = std::array::from_fn(|at| at);
        order.sort_by_key(|at: &usize| labels[*at]);
        Family(Arc::new(Inner {
            name: name.to_owned(),
            help: help.to_owned(),
            order,
            labels: labels.map(str::to_owned),
            shape,
            series: RwLock::default(),
        }))
    }

    /// Whether another registration means this very family.
    pub(super) fn is_the_same(&self, help: &str, labels: [&str; N], shape: &M::Shape) -> bool {
        self.0.help == help && self.0.labels == labels.map(str::to_owned) && self.0.shape == *shape
    }

    /// The series with these label values, in the order in which the labels were declared. It is made if there is none.
    pub fn with(&self, values: [&str; N]) -> M {
        let key = values.map(str::to_owned);
        if let Some(known) = self.0.series.read().get(&key) {
            return known.clone();
        }
        let mut series = self.0.series.write();
        series.entry(key).or_insert_with(|| M::make(&self.0.shape)).clone()
    }

    /// Forgets a series.
    pub fn remove(&self, values: [&str; N]) {
        self.0.series.write().remove(&values.map(str::to_owned));
    }

    /// Forgets the series that `keep` does not want.
    pub fn retain(&self, mut keep: impl FnMut([&str; N]) -> bool) {
        self.0
            .series
            .write()
            .retain(|values, _| keep(std::array::from_fn(|at| values[at].as_str())));
    }
}

impl<M: Metric, const N: usize> Collect for Family<M, N> {
    fn declaration(&self) -> (String, Vec<String>) {
        (self.0.name.clone(), self.0.labels.to_vec())
    }

    fn render(&self, text: &mut String) {
        let series = self.0.series.read();
        if series.is_empty() {
            return;
        }
        let name = &self.0.name;
        prometheus::family(text, name, M::TYPE, &self.0.help);
        for (values, metric) in &*series {
            let mut labels = String::new();
            for at in self.0.order {
                prometheus::label(&mut labels, &self.0.labels[at], &values[at]);
            }
            metric.render(text, name, &labels);
        }
    }
}

impl<M: Metric, const N: usize> Clone for Family<M, N> {
    fn clone(&self) -> Self {
        Family(Arc::clone(&self.0))
    }
}

impl<M: Metric, const N: usize> std::fmt::Debug for Family<M, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Family").field(&self.0.name).finish()
    }
}

impl Metric for Counter {
    type Shape = ();
    const TYPE: &'static str = "counter";

    fn make((): &()) -> Self {
        Self::default()
    }

    fn render(&self, text: &mut String, name: &str, labels: &str) {
        prometheus::sample(text, name, labels, self.get());
    }
}

impl Metric for Gauge {
    type Shape = ();
    const TYPE: &'static str = "gauge";

    fn make((): &()) -> Self {
        Self::default()
    }

    fn render(&self, text: &mut String, name: &str, labels: &str) {
        prometheus::sample(text, name, labels, self.get());
    }
}

impl Metric for Histogram {
    type Shape = Arc<[f64]>;
    const TYPE: &'static str = "histogram";

    fn make(bounds: &Arc<[f64]>) -> Self {
        Histogram::new(Arc::clone(bounds))
    }

    fn render(&self, text: &mut String, name: &str, labels: &str) {
        prometheus::histogram(text, name, labels, self.cumulative(), self.sum());
    }
}
