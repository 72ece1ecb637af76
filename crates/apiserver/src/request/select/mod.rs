//! Label and field selectors: which objects a list, a watch or a deletecollection means (R8).

pub(crate) mod fields;

use kubewright_apimachinery::labels::{self, Labels};
use kubewright_store::Record;

use crate::custom::conversion::{ConversionCache, Unfinished};

/// Both selectors of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) labels: labels::Selector,
    pub(crate) fields: fields::Selector,
}

impl Selection {
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_empty()
    }

    /// Whether a record is selected. Fields of a custom resource are those of the version that is asked for, which may
    /// have to be converted first.
    pub(crate) fn matches(&self, record: &Record, cache: &ConversionCache) -> Result<bool, Unfinished> {
        Ok(self.labels.matches(&LabelsOf(record)) && self.fields.matches(record, cache)?)
    }
}

struct LabelsOf<'a>(&'a Record);

impl Labels for LabelsOf<'_> {
    fn label(&self, key: &str) -> Option<&str> {
        self.0.label(key)
    }
}
