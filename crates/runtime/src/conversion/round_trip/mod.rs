//! A property test of two versions in one line: an object that is converted and converted back is as it was.
//! Values are made from the schemas that the types publish; an object that fails is reduced before it is shown.

mod checker;
mod difference;
mod generate;
mod shrink;

use std::fmt;
use std::marker::PhantomData;

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::convert::convert;
use super::preserve;
use crate::object::{Kind, Object};
use crate::strict::located::{Segment, misfit};

use checker::{Checker, Failure, Outcome};
use generate::Generator;

/// The variable of the environment that sets another seed.
const SEED_VARIABLE: &str = "KUBEWRIGHT_SEED";
const DEFAULT_SEED: u64 = 7;
const DEFAULT_CASES: usize = 256;
/// How many fields are removed from a value that the schema allows but the type cannot read.
const MENDINGS: usize = 16;

/// Asserts that nothing gets lost between two versions of a kind, in either direction.
///
/// The values come from the schemas of the types, as `#[derive(CustomResource)]` publishes them. They are the same in every
/// run; the variable `KUBEWRIGHT_SEED` asks for others. What the conversion refuses is left out, but what went must come back.
///
/// ```
/// use kube::CustomResource;
/// use kubewright_runtime::conversion::{Convert, conversion_round_trips};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// mod v1 {
/// #   use super::*;
///     #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
///     #[kube(group = "shop.example.com", version = "v1", kind = "Shop", namespaced)]
///     pub struct ShopSpec {
///         pub replicas: i64,
///     }
/// }
/// mod v1beta1 {
/// #   use super::*;
///     #[derive(CustomResource, Convert, JsonSchema, Serialize, Deserialize, Clone, Debug)]
///     #[kube(group = "shop.example.com", version = "v1beta1", kind = "Shop", namespaced)]
///     #[convert(hub = super::v1::ShopSpec)]
///     pub struct ShopSpec {
///         #[convert(rename = replicas)]
///         pub size: i64,
///     }
/// }
///
/// # fn main() {
/// conversion_round_trips::<v1::Shop, v1beta1::Shop>();
/// # }
/// ```
///
/// # Panics
/// If something does not come back. The message shows the smallest object found, and which fields changed.
#[track_caller]
pub fn conversion_round_trips<A, B>()
where
    A: Object + JsonSchema + TryFrom<B>,
    B: Object + JsonSchema + TryFrom<A>,
    <A as TryFrom<B>>::Error: fmt::Display,
    <B as TryFrom<A>>::Error: fmt::Display,
{
    RoundTrip::<A, B>::new().check();
}

/// [`conversion_round_trips`] for kinds that are [preserving](super::Hub::preserving): what a version cannot hold may travel
/// in the annotation.
///
/// # Panics
/// If something does not come back.
#[track_caller]
pub fn conversion_round_trips_preserving<A, B>()
where
    A: Object + JsonSchema + TryFrom<B>,
    B: Object + JsonSchema + TryFrom<A>,
    <A as TryFrom<B>>::Error: fmt::Display,
    <B as TryFrom<A>>::Error: fmt::Display,
{
    RoundTrip::<A, B>::new().preserving().check();
}

/// [`conversion_round_trips`] with choices.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::conversion::RoundTrip;
/// use serde_json::json;
///
/// // Types without `#[derive(CustomResource)]` publish no schema.
/// let schema = json!({ "type": "object", "properties": {
///     "data": { "type": "object", "additionalProperties": { "type": "string" } },
/// } });
/// let same = RoundTrip::<ConfigMap, ConfigMap>::with_schemas(schema.clone(), schema);
/// let tally = same.cases(100).seed(42).run().unwrap();
/// assert_eq!(tally.came_back, 200);
/// ```
#[derive(Clone, Debug)]
pub struct RoundTrip<A, B> {
    schemas: [Value; 2],
    cases: usize,
    seed: u64,
    preserving: bool,
    versions: PhantomData<fn(A) -> B>,
}

/// What became of the values that were tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoundTripCounts {
    /// They came back as they were.
    pub came_back: usize,
    /// The conversion said that the other version cannot have them.
    pub refused: usize,
    /// The schema allows them, the type does not.
    pub unreadable: usize,
}

/// What did not come back, ready to be read by people.
#[derive(Clone, Debug)]
pub struct RoundTripFailure {
    text: String,
}

impl fmt::Display for RoundTripFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for RoundTripFailure {}

impl<A, B> RoundTrip<A, B>
where
    A: Object + TryFrom<B>,
    B: Object + TryFrom<A>,
    <A as TryFrom<B>>::Error: fmt::Display,
    <B as TryFrom<A>>::Error: fmt::Display,
{
    /// Two versions that publish their schemas.
    pub fn new() -> Self
    where
        A: JsonSchema,
        B: JsonSchema,
    {
        Self::with_schemas(schema::<A>(), schema::<B>())
    }

    /// Two versions with these structural schemas (`openAPIV3Schema`) of the whole object.
    pub fn with_schemas(a: Value, b: Value) -> Self {
        let seed = std::env::var(SEED_VARIABLE).ok();
        RoundTrip {
            schemas: [a, b],
            cases: DEFAULT_CASES,
            seed: seed.and_then(|seed| seed.parse().ok()).unwrap_or(DEFAULT_SEED),
            preserving: false,
            versions: PhantomData,
        }
    }

    /// How many values are tried in each direction. Default: 256.
    pub fn cases(mut self, cases: usize) -> Self {
        self.cases = cases;
        self
    }

    /// Where values start from. Default: the variable `KUBEWRIGHT_SEED`, or 7.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// What a version cannot hold may travel in the annotation, as [`Hub::preserving`](super::Hub::preserving) does it.
    pub fn preserving(mut self) -> Self {
        self.preserving = true;
        self
    }

    /// Asserts that everything comes back.
    ///
    /// # Panics
    /// If something does not.
    #[track_caller]
    pub fn check(&self) {
        if let Err(failure) = self.run() {
            panic!("{failure}");
        }
    }

    /// Tries both directions.
    pub fn run(&self) -> Result<RoundTripCounts, RoundTripFailure> {
        let mut tally = RoundTripCounts::default();
        self.direction::<A, B>(&self.schemas[0], &mut tally)?;
        self.direction::<B, A>(&self.schemas[1], &mut tally)?;
        Ok(tally)
    }

    fn direction<X, Y>(&self, schema: &Value, tally: &mut RoundTripCounts) -> Result<(), RoundTripFailure>
    where
        X: Object + TryFrom<Y>,
        Y: Object + TryFrom<X>,
        <X as TryFrom<Y>>::Error: fmt::Display,
        <Y as TryFrom<X>>::Error: fmt::Display,
    {
        let (start, middle) = (Kind::of::<X>(), Kind::of::<Y>());
        let checker = Checker::<X, Y>::new(self.preserving.then(|| preserve::annotation(start.group())));
        let mut last_unreadable = None;
        let before = *tally;
        for case in 0..self.cases {
            let random = StdRng::seed_from_u64(self.seed.wrapping_add(case as u64));
            let object = object(&start, &mut Generator::new(random, case), schema);
            let object = match mend::<X>(object) {
                Ok(object) => object,
                Err(error) => {
                    last_unreadable = Some(error);
                    tally.unreadable += 1;
                    continue;
                }
            };
            match checker.check(&object) {
                Outcome::CameBack => tally.came_back += 1,
                Outcome::Refused => tally.refused += 1,
                Outcome::Failed(failure) => {
                    let smallest = match failure {
                        Failure::Panicked(_) => object,
                        _ => shrink::smallest(object, |candidate| {
                            matches!(checker.check(candidate), Outcome::Failed(_))
                        }),
                    };
                    let Outcome::Failed(failure) = checker.check(&smallest) else {
                        continue;
                    };
                    let text = failure.explain(start.version(), middle.version(), &smallest);
                    let hint = self.hint(&failure, middle.version());
                    let (number, cases, seed) = (case + 1, self.cases, self.seed);
                    let again = format!("case {number} of {cases}; the same again: {SEED_VARIABLE}={seed}");
                    return Err(RoundTripFailure {
                        text: format!("{text}\n{hint}{again}\n"),
                    });
                }
            }
        }
        // A test that tried nothing proves nothing.
        if self.cases > 0 && tally.came_back == before.came_back {
            let (refused, unreadable) = (tally.refused - before.refused, tally.unreadable - before.unreadable);
            let example = last_unreadable.map_or(String::new(), |error| format!(" (the last one: {error})"));
            let (start, middle, cases) = (start.version(), middle.version(), self.cases);
            return Err(RoundTripFailure {
                text: format!(
                    "none of {cases} values of {start} made it to {middle} and back: {refused} were refused by the \
                     conversion, {unreadable} could not be read{example}"
                ),
            });
        }
        Ok(())
    }

    /// What to do about data that gets lost.
    fn hint(&self, failure: &Failure, middle: &str) -> String {
        match failure {
            Failure::Differs { .. } if !self.preserving => format!(
                "If {middle} cannot hold this, keep it with `preserving()` and test with \
                 `conversion_round_trips_preserving`.\n\n"
            ),
            _ => String::new(),
        }
    }
}

impl<A, B> Default for RoundTrip<A, B>
where
    A: Object + JsonSchema + TryFrom<B>,
    B: Object + JsonSchema + TryFrom<A>,
    <A as TryFrom<B>>::Error: fmt::Display,
    <B as TryFrom<A>>::Error: fmt::Display,
{
    fn default() -> Self {
        Self::new()
    }
}

/// The schema of a type, as one value without references.
fn schema<K: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<K>().into()
}

/// An object of a kind with the content its schema allows.
fn object(kind: &Kind, generator: &mut Generator, schema: &Value) -> Value {
    let mut object = match generator.value(schema) {
        Value::Object(members) => members,
        _ => serde_json::Map::new(),
    };
    object.insert("apiVersion".to_owned(), kind.api_version().into());
    object.insert("kind".to_owned(), kind.kind().into());
    let mut metadata =
        json!({ "name": "sample", "uid": "8b5c1e4e-6d0a-4c55-9d0c-5d1b8e1c7a11", "labels": { "app": "sample" } });
    if kind.is_namespaced() {
        metadata["namespace"] = "default".into();
    }
    object.insert("metadata".to_owned(), metadata);
    Value::Object(object)
}

/// Takes out what the type cannot read although its schema allows it, a few times.
fn mend<K: Object>(mut object: Value) -> Result<Value, String> {
    let mut error = String::new();
    for _ in 0..MENDINGS {
        error = match convert::<K, K>(&object) {
            Ok(_) => return Ok(object),
            Err(error) => error.to_string(),
        };
        let Some(path) = misfit::<K>(&object) else { break };
        if !take_out(&mut object, &path) {
            break;
        }
    }
    Err(error)
}

/// Removes what is at a path. Says whether there was something.
fn take_out(object: &mut Value, path: &[Segment]) -> bool {
    let Some((last, parents)) = path.split_last() else {
        return false;
    };
    let parent = parents.iter().try_fold(object, |value, segment| match segment {
        Segment::Key(key) => value.get_mut(key),
        Segment::Index(index) => value.get_mut(index),
    });
    match (parent, last) {
        (Some(Value::Object(members)), Segment::Key(key)) => members.remove(key).is_some(),
        (Some(Value::Array(elements)), Segment::Index(index)) if *index < elements.len() => {
            elements.remove(*index);
            true
        }
        _ => false,
    }
}
