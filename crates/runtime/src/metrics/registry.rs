//! All families of a process, or of one operator in it, and their text.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::family::{Collect, Family, Metric};
use super::value::{Counter, Gauge, Histogram};

/// Why a metric cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Prometheus would not accept the name.
    #[error("`{0}` is not a name that Prometheus accepts")]
    Name(String),
    /// The bounds of a histogram do not ascend.
    #[error("the bucket bounds of `{0}` do not ascend")]
    Bounds(String),
    /// The name is taken by something else.
    #[error("`{0}` is registered already with another type, help, labels or buckets")]
    Taken(String),
}

type Hook = Arc<dyn Fn() + Send + Sync>;

#[derive(Default)]
struct Inner {
    families: BTreeMap<String, Arc<dyn Collect>>,
    hooks: Vec<Hook>,
}

/// Makes metrics and renders them in Prometheus' text format. Cloning shares it; there is no global one.
///
/// ```
/// use kubewright_runtime::metrics::Registry;
///
/// let registry = Registry::new();
/// let orders = registry.counter("shop_orders_total", "Orders taken.", ["country"]).unwrap();
/// orders.with(["ch"]).inc();
/// assert_eq!(
///     registry.render(),
///     "# HELP shop_orders_total Orders taken.\n# TYPE shop_orders_total counter\nshop_orders_total{country=\"ch\"} 1\n"
/// );
/// assert_eq!(registry.render_family("shop_orders_total"), registry.render());
/// // The same again is the same family; something else under its name is an error.
/// registry.counter("shop_orders_total", "Orders taken.", ["country"]).unwrap().with(["ch"]).inc();
/// assert!(registry.gauge("shop_orders_total", "Orders taken.", ["country"]).is_err());
/// ```
#[derive(Clone, Default)]
pub struct Registry(Arc<Mutex<Inner>>);

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// A family of counters.
    pub fn counter<const N: usize>(
        &self,
        name: &str,
        help: &str,
        labels: [&str; N],
    ) -> Result<Family<Counter, N>, RegistryError> {
        self.register(name, help, labels, ())
    }

    /// A family of gauges.
    pub fn gauge<const N: usize>(
        &self,
        name: &str,
        help: &str,
        labels: [&str; N],
    ) -> Result<Family<Gauge, N>, RegistryError> {
        self.register(name, help, labels, ())
    }

    /// A family of histograms with the upper bounds of their buckets; the infinite one comes by itself.
    pub fn histogram<const N: usize>(
        &self,
        name: &str,
        help: &str,
        labels: [&str; N],
        bounds: &[f64],
    ) -> Result<Family<Histogram, N>, RegistryError> {
        let finite = bounds.strip_suffix(&[f64::INFINITY]).unwrap_or(bounds);
        let ascends = finite.windows(2).all(|pair| pair[0] < pair[1]) && finite.iter().all(|bound| bound.is_finite());
        if !ascends {
            return Err(RegistryError::Bounds(name.to_owned()));
        }
        if labels.contains(&"le") {
            return Err(RegistryError::Name("le".to_owned()));
        }
        self.register(name, help, labels, Arc::from(finite))
    }

    /// Calls a function before each rendering, to set what is not counted as it happens.
    ///
    /// ```
    /// use kubewright_runtime::metrics::Registry;
    ///
    /// let registry = Registry::new();
    /// let size = registry.gauge("shop_size", "Size.", []).unwrap();
    /// registry.before_render(move || size.with([]).set(7.0));
    /// assert!(registry.render().contains("shop_size 7"));
    /// ```
    pub fn before_render(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.0.lock().hooks.push(Arc::new(hook));
    }

    /// Everything as `/metrics` answers it: text format 0.0.4, families by name.
    pub fn render(&self) -> String {
        let hooks = self.0.lock().hooks.clone();
        for hook in hooks {
            hook();
        }
        let families: Vec<_> = self.0.lock().families.values().cloned().collect();
        let mut text = String::new();
        for family in families {
            family.render(&mut text);
        }
        text
    }

    /// One family of them, by its name: for who asks often and wants little. What is computed when everything is rendered is as it was
    /// then.
    pub fn render_family(&self, name: &str) -> String {
        let family = self.0.lock().families.get(name).cloned();
        let mut text = String::new();
        if let Some(family) = family {
            family.render(&mut text);
        }
        text
    }

    /// The names of all families with their labels, whether they have series yet or not: for who checks a dashboard or an alert.
    ///
    /// ```
    /// use kubewright_runtime::metrics::Registry;
    ///
    /// let registry = Registry::new();
    /// let _ = registry.gauge("shop_size", "Size.", ["name", "namespace"]).unwrap();
    /// assert_eq!(registry.families(), [("shop_size".to_owned(), vec!["name".to_owned(), "namespace".to_owned()])]);
    /// ```
    pub fn families(&self) -> Vec<(String, Vec<String>)> {
        let inner = self.0.lock();
        inner.families.values().map(|family| family.declaration()).collect()
    }

    fn register<M: Metric, const N: usize>(
        &self,
        name: &str,
        help: &str,
        labels: [&str; N],
        shape: M::Shape,
    ) -> Result<Family<M, N>, RegistryError> {
        if !is_name(name, true) {
            return Err(RegistryError::Name(name.to_owned()));
        }
        let duplicate = |label: &&&str| labels.iter().filter(|other| other == label).count() > 1;
        let wrong = |label: &&&str| !is_name(label, false) || label.starts_with("__") || duplicate(label);
        if let Some(label) = labels.iter().find(wrong) {
            return Err(RegistryError::Name((*label).to_owned()));
        }
        let mut inner = self.0.lock();
        if let Some(taken) = inner.families.get(name) {
            let taken: &dyn Any = &**taken;
            return taken
                .downcast_ref::<Family<M, N>>()
                .filter(|family| family.is_the_same(help, labels, &shape))
                .cloned()
                .ok_or_else(|| RegistryError::Taken(name.to_owned()));
        }
        let family = Family::new(name, help, labels, shape);
        inner.families.insert(name.to_owned(), Arc::new(family.clone()));
        Ok(family)
    }
}

fn is_name(name: &str, colons: bool) -> bool {
    let ok = |at: usize, byte: u8| {
        byte.is_ascii_alphabetic() || byte == b'_' || (colons && byte == b':') || (at > 0 && byte.is_ascii_digit())
    };
    !name.is_empty() && name.bytes().enumerate().all(|(at, byte)| ok(at, byte))
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.lock().families.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_renders_its_buckets_as_client_golang_does() {
        let registry = Registry::new();
        let times = registry
            .histogram("t_seconds", "Time.", ["b", "a"], &[1e-8, 0.5])
            .unwrap();
        times.with(["x", "y"]).observe(0.25);
        times.with(["x", "y"]).observe(2.0);
        assert_eq!(
            registry.render(),
            "# HELP t_seconds Time.\n\
             # TYPE t_seconds histogram\n\
             t_seconds_bucket{a=\"y\",b=\"x\",le=\"1e-08\"} 0\n\
             t_seconds_bucket{a=\"y\",b=\"x\",le=\"0.5\"} 1\n\
             t_seconds_bucket{a=\"y\",b=\"x\",le=\"+Inf\"} 2\n\
             t_seconds_sum{a=\"y\",b=\"x\"} 2.25\n\
             t_seconds_count{a=\"y\",b=\"x\"} 2\n"
        );
    }

    #[test]
    fn what_would_end_a_label_or_a_line_is_escaped() {
        let registry = Registry::new();
        registry
            .counter("c_total", "a\\b\nc", ["l"])
            .unwrap()
            .with(["a\"b\\c\nd"])
            .inc();
        assert_eq!(
            registry.render(),
            "# HELP c_total a\\\\b\\nc\n# TYPE c_total counter\nc_total{l=\"a\\\"b\\\\c\\nd\"} 1\n"
        );
    }

    #[test]
    fn families_are_sorted_by_name_and_empty_ones_say_nothing() {
        let registry = Registry::new();
        registry.gauge("b", "B.", []).unwrap().with([]).set(1.0);
        registry.gauge("a", "A.", []).unwrap().with([]).set(2.0);
        registry.gauge("c", "C.", ["none"]).unwrap();
        let text = registry.render();
        assert_eq!(
            text,
            "# HELP a A.\n# TYPE a gauge\na 2\n# HELP b B.\n# TYPE b gauge\nb 1\n"
        );
    }

    #[test]
    fn names_that_prometheus_refuses_are_errors() {
        let registry = Registry::new();
        for name in ["", "1a", "a-b", "ä"] {
            assert_eq!(
                registry.counter(name, "", []).unwrap_err(),
                RegistryError::Name(name.to_owned())
            );
        }
        assert!(registry.counter("a:b", "", []).is_ok());
        assert!(registry.counter("a", "", ["x:y"]).is_err());
        assert!(registry.counter("a", "", ["__x"]).is_err());
        assert!(registry.counter("a", "", ["x", "x"]).is_err());
        assert!(registry.histogram("h", "", ["le"], &[1.0]).is_err());
        assert!(registry.histogram("h", "", [], &[2.0, 1.0]).is_err());
        assert!(registry.histogram("h", "", [], &[f64::NAN]).is_err());
    }

    #[test]
    fn two_registries_share_nothing() {
        let (one, other) = (Registry::new(), Registry::new());
        one.counter("c_total", "C.", []).unwrap().with([]).inc();
        other.counter("c_total", "Something else.", []).unwrap();
        assert_eq!(other.render(), "");
    }

    #[test]
    fn a_hook_may_register_and_set_metrics_while_rendering() {
        let registry = Registry::new();
        registry.before_render({
            let registry = registry.clone();
            move || registry.gauge("now", "Now.", []).unwrap().with([]).set(7.0)
        });
        assert!(registry.render().ends_with("now 7\n"));
    }
}
