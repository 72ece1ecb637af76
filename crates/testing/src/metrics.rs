//! The metrics of a manager, as a test asks for them.

/// The metrics of a manager at a moment.
///
/// ```
/// use kubewright_testing::Metrics;
///
/// let metrics = Metrics::parse("orders_total{country=\"ch\"} 2\norders_total{country=\"jp\"} 3\n");
/// assert_eq!(metrics.value("orders_total", &[("country", "jp")]), Some(3.0));
/// assert_eq!(metrics.sum("orders_total", &[]), 5.0);
/// assert_eq!(metrics.value("orders_total", &[("country", "fr")]), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics(Vec<Sample>);

#[derive(Clone, Debug, PartialEq)]
struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Metrics {
    /// Reads Prometheus' text format. Malformed lines are ignored.
    pub fn parse(text: &str) -> Self {
        Metrics(text.lines().filter_map(Sample::parse).collect())
    }

    /// The value of the first series that has these labels, and maybe more.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.matching(name, labels).next().map(|sample| sample.value)
    }

    /// The sum over all series that have these labels, and maybe more.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        // Not `sum()`, which begins at -0.
        self.matching(name, labels).fold(0.0, |sum, sample| sum + sample.value)
    }

    /// All series of a name that are not zero: their labels and values.
    pub(crate) fn series(&self, name: &str) -> Vec<(String, f64)> {
        let present = self.matching(name, &[]).filter(|sample| sample.value != 0.0);
        let told = present.map(|sample| {
            let labels: Vec<_> = sample.labels.iter().map(|(_, value)| value.as_str()).collect();
            (labels.join(", "), sample.value)
        });
        told.collect()
    }

    fn matching<'a>(&'a self, name: &'a str, labels: &'a [(&'a str, &'a str)]) -> impl Iterator<Item = &'a Sample> {
        self.0.iter().filter(move |sample| {
            let has = |(wanted, value): &(&str, &str)| {
                sample
                    .labels
                    .iter()
                    .any(|(label, found)| label == wanted && found == value)
            };
            sample.name == name && labels.iter().all(has)
        })
    }
}

impl Sample {
    fn parse(line: &str) -> Option<Self> {
        if line.starts_with('#') {
            return None;
        }
        let (series, value) = line.rsplit_once(' ')?;
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, parse_labels(labels.strip_suffix('}')?)?),
            None => (series, Vec::new()),
        };
        Some(Sample {
            name: name.to_owned(),
            labels,
            value: value.parse().ok()?,
        })
    }
}

/// `a="b",c="d"` with backslashes before quotes, backslashes and ends of lines.
fn parse_labels(mut text: &str) -> Option<Vec<(String, String)>> {
    let mut labels = Vec::new();
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = rest.char_indices();
        let end = loop {
            match characters.next()? {
                (at, '"') => break at,
                (_, '\\') => match characters.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (_, other) => value.push(other),
            }
        };
        labels.push((name.to_owned(), value));
        text = rest[end + 1..].trim_start_matches(',');
    }
    Some(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_may_hold_anything() {
        let metrics = Metrics::parse("# HELP x\nx{a=\"b\\\"{},\\\\\",c=\"\"} 1e3\nx 2\nnot a metric\n");
        assert_eq!(metrics.value("x", &[("a", "b\"{},\\"), ("c", "")]), Some(1000.0));
        assert!((metrics.sum("x", &[]) - 1002.0).abs() < 1e-9);
    }
}
