//! What evaluating takes from the allocator. Counted, not timed: nothing for reading and comparing fields, however
//! large the object is.
//!
//! A program of its own: counting replaces the allocator of the whole program.

use kubewright_cel::{Decl, Env, Limits, Program, Value};
use serde_json::{Value as Json, json};

fn schema() -> Json {
    json!({"type": "object", "properties": {
        "a": {"type": "integer"},
        "b": {"type": "integer"},
        "my-name": {"type": "string"},
        "since": {"type": "string", "format": "date-time"},
        "until": {"type": "string", "format": "date-time"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "spec": {"type": "object", "properties": {"mode": {"type": "string"}, "size": {"x-kubernetes-int-or-string": true}}},
        "ports": {"type": "array", "items": {"type": "object", "properties": {
            "name": {"type": "string"}, "port": {"type": "integer"}, "hosts": {"type": "array", "items": {"type": "string"}},
        }}},
    }})
}

fn object() -> Json {
    let port = |port: usize| json!({"name": format!("port-{port}"), "port": port, "hosts": ["a", "b"]});
    json!({
        "a": 1,
        "b": 2,
        "my-name": "a name that is longer than any buffer for short strings",
        "since": "2026-01-01T00:00:00Z",
        "until": "2026-02-01T00:00:00Z",
        "labels": {"app.kubernetes.io/name": "orders", "tier": "backend"},
        "spec": {"mode": "fast", "size": 3},
        "ports": (1..=20).map(port).collect::<Vec<_>>(),
    })
}

struct Bench {
    object: Json,
    decl: std::sync::Arc<Decl>,
    env: Env,
}

impl Bench {
    fn new() -> Bench {
        let decl = Decl::from_schema(&schema(), false);
        let ty = decl.cel_type("self").expect("a schema rules can see");
        Bench {
            object: object(),
            env: Env::kubernetes()
                .with_variable("self", ty.clone())
                .with_variable("oldSelf", ty),
            decl,
        }
    }

    fn compile(&self, rule: &str) -> Program {
        self.env
            .compile(rule)
            .unwrap_or_else(|issues| panic!("{rule} does not compile: {issues}"))
    }

    /// How often evaluating a rule that holds asks the allocator, with reading the object as `self` and `oldSelf`.
    fn count(&self, rule: &str) -> u64 {
        let program = self.compile(rule);
        let evaluate = || {
            let read = || Value::typed(&self.object, &self.decl).expect("the object fits");
            let evaluation = program.eval(&[("self", read()), ("oldSelf", read())], Limits::default());
            matches!(evaluation.outcome, Ok(Value::Bool(true)))
        };
        // What is made once and kept, such as the caches of a pattern, is no price of an evaluation.
        assert!(evaluate(), "{rule} does not hold");
        let mut held = false;
        let counted = allocation_counter::measure(|| held = evaluate());
        assert!(held, "{rule} does not hold");
        counted.count_total
    }
}

#[test]
fn the_allocation_counter_counts() {
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(vec![1_u8; 100])));
    assert_eq!(counted.count_total, 1);
    // And an expression that makes a string is seen to.
    assert!(Bench::new().count("(self.spec.mode + self.spec.mode).size() == 8") > 0);
}

#[test]
fn comparing_two_fields_allocates_nothing() {
    assert_eq!(Bench::new().count("self.a <= self.b"), 0);
}

#[test]
fn reading_and_comparing_allocates_nothing() {
    let bench = Bench::new();
    for rule in [
        "has(self.spec.mode) && self.spec.mode == 'fast'",
        "self.my__dash__name.size() > 3 || self.a == 2",
        "self.spec == oldSelf.spec && self.ports == oldSelf.ports",
        "self.labels['tier'] == 'backend' && 'tier' in self.labels",
        "self.ports[3].hosts[1] == 'b'",
        "self.since < self.until && self.until - self.since < duration('1000h')",
        "self.spec.size <= 5",
        "self.spec.mode in ['fast', 'slow']",
        "self.my__dash__name.matches('^[a-z ]+$')",
        "self.spec.mode.startsWith('f') && self.spec.mode.contains('as') && self.spec.mode.endsWith('t')",
        "self.a + self.b * 2 - 1 == 4 && !(self.a > 5)",
    ] {
        assert_eq!(bench.count(rule), 0, "{rule}");
    }
}

#[test]
fn a_loop_over_the_object_allocates_nothing() {
    let bench = Bench::new();
    for rule in [
        "self.ports.all(p, p.port >= 1 && p.port <= 65535)",
        "self.ports.exists(p, p.name == 'port-20')",
        "self.ports.all(p, self.ports.exists_one(q, q.name == p.name))",
        "self.ports.all(i, p, p.port == i + 1)",
        "self.labels.all(key, self.labels[key].size() < 63)",
        "self.labels.all(key, value, key != value)",
    ] {
        assert_eq!(bench.count(rule), 0, "{rule}");
    }
}
