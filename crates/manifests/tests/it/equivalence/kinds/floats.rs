//! Numbers with fractions.

/// MeasurementSpec has a field of each width.
#[kubewright::resource(
    group = "floats.example.com",
    version = "v1",
    kind = "Measurement",
    namespaced,
    doc = "Measurement has fractions."
)]
pub struct MeasurementSpec {
    /// Single is a number of 32 bits.
    pub single: f32,
    /// Double is a number of 64 bits.
    #[schema(minimum = 0.5, multiple_of = 0.25)]
    pub double: f64,
}
