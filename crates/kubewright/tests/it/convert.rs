//! Types of two versions, converted by derived code.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kubewright_runtime::conversion::Convert;

mod hub {
    use std::collections::{BTreeMap, BTreeSet, HashMap};

    #[derive(Clone, Debug, Default, PartialEq)]
    pub(super) struct Everything {
        pub(super) same: String,
        pub(super) widened: i64,
        pub(super) renamed: String,
        pub(super) nested: Nested,
        pub(super) boxed: Box<Nested>,
        pub(super) maybe: Option<Nested>,
        pub(super) many: Vec<Nested>,
        pub(super) by_name: BTreeMap<String, Nested>,
        pub(super) hashed: HashMap<String, Vec<Option<Nested>>>,
        pub(super) set: BTreeSet<i64>,
        pub(super) mode: Mode,
        pub(super) r#type: String,
        pub(super) seconds: u64,
        pub(super) added: u8,
        pub(super) listed: Vec<String>,
    }

    #[derive(Clone, Debug, Default, PartialEq)]
    pub(super) struct Nested {
        pub(super) port: u16,
    }

    #[derive(Clone, Debug, Default, PartialEq)]
    pub(super) enum Mode {
        #[default]
        Idle,
        Busy(Nested, u32),
        Stuck {
            since: u64,
            why: String,
            who: Option<Nested>,
        },
        Later,
    }

    #[derive(Clone, Debug, PartialEq)]
    pub(super) struct Pair(pub(super) i64, pub(super) Nested);

    #[derive(Clone, Debug, PartialEq)]
    pub(super) struct Wrapper<T> {
        pub(super) inner: T,
        pub(super) size: u32,
    }

    #[derive(Clone, Debug, PartialEq)]
    pub(super) struct Nothing;

    #[derive(Clone, Debug, PartialEq)]
    pub(super) enum Choice<T> {
        One(T),
        None,
    }
}

#[derive(Convert, Clone, Debug, PartialEq)]
#[convert(hub = hub::Everything, added(added = 1 + 6, listed))]
struct Everything {
    same: String,
    #[convert(from_hub = narrow)]
    widened: i32,
    #[convert(rename = renamed)]
    old_name: String,
    nested: Nested,
    boxed: Box<Nested>,
    maybe: Option<Nested>,
    many: Vec<Nested>,
    by_name: BTreeMap<String, Nested>,
    hashed: HashMap<String, Vec<Option<Nested>>>,
    #[convert(from_hub = narrow_all)]
    set: BTreeSet<i32>,
    mode: Mode,
    r#type: String,
    #[convert(with = minutes, rename = "seconds")]
    minutes: u64,
    #[convert(skip)]
    forgotten: Option<String>,
    #[convert(skip, default = vec![1, 2])]
    defaulted: Vec<u8>,
}

#[derive(Convert, Clone, Debug, PartialEq)]
#[convert(hub = hub::Nested)]
struct Nested {
    port: u16,
}

#[derive(Convert, Clone, Debug, PartialEq)]
#[convert(hub = hub::Mode, added(Later = Mode::Idle))]
enum Mode {
    Idle,
    #[convert(rename = Busy)]
    Working(Nested, u32),
    #[convert(added(why = "unknown".to_owned()))]
    Stuck {
        #[convert(rename = since)]
        from: u64,
        who: Option<Nested>,
        #[convert(skip)]
        note: String,
    },
    #[convert(into = hub::Mode::Idle)]
    Sleeping,
}

#[derive(Convert, Clone, Debug, PartialEq)]
#[convert(hub = hub::Pair)]
struct Pair(#[convert(from_hub = narrow)] i32, Nested);

#[derive(Convert, Clone, Debug, PartialEq)]
#[convert(hub = hub::Wrapper<T>)]
struct Wrapper<T>
where
    T: Clone,
{
    inner: T,
    size: u32,
}

#[derive(Convert, Clone, Debug, PartialEq)]
#[convert(hub = hub::Nothing)]
struct Nothing;

#[derive(Convert, Clone, Debug, PartialEq)]
#[convert(hub = hub::Choice<T>)]
enum Choice<T> {
    One(T),
    #[convert(rename = None)]
    Nothing,
}

mod minutes {
    pub(crate) fn to_hub(minutes: u64) -> u64 {
        minutes * 60
    }

    pub(crate) fn from_hub(seconds: u64) -> u64 {
        seconds / 60
    }
}

fn narrow(value: i64) -> i32 {
    value as i32
}

fn narrow_all(values: BTreeSet<i64>) -> BTreeSet<i32> {
    values.into_iter().map(narrow).collect()
}

fn everything() -> Everything {
    let nested = |port| Nested { port };
    Everything {
        same: "same".to_owned(),
        widened: -3,
        old_name: "old".to_owned(),
        nested: nested(1),
        boxed: Box::new(nested(2)),
        maybe: Some(nested(3)),
        many: vec![nested(4), nested(5)],
        by_name: BTreeMap::from([("six".to_owned(), nested(6))]),
        hashed: HashMap::from([("seven".to_owned(), vec![Some(nested(7)), None])]),
        set: BTreeSet::from([8, 9]),
        mode: Mode::Stuck {
            from: 5,
            who: Some(nested(10)),
            note: String::new(),
        },
        r#type: "t".to_owned(),
        minutes: 3,
        forgotten: None,
        defaulted: vec![1, 2],
    }
}

#[test]
fn every_shape_of_field_converts_there_and_back() {
    let there = hub::Everything::from(everything());
    assert_eq!(there.widened, -3);
    assert_eq!(there.renamed, "old");
    assert_eq!(there.many[1].port, 5);
    assert_eq!(there.by_name["six"].port, 6);
    assert_eq!(there.hashed["seven"], [Some(hub::Nested { port: 7 }), None]);
    assert_eq!((there.seconds, there.added, there.listed.len()), (180, 7, 0));
    let hub::Mode::Stuck { since, why, who } = &there.mode else {
        panic!("{:?}", there.mode);
    };
    assert_eq!((*since, why.as_str(), who.as_ref().unwrap().port), (5, "unknown", 10));
    assert_eq!(Everything::from(there), everything());
}

#[test]
fn variants_that_one_side_does_not_have_become_what_was_said() {
    assert_eq!(hub::Mode::from(Mode::Sleeping), hub::Mode::Idle);
    assert_eq!(Mode::from(hub::Mode::Later), Mode::Idle);
    let busy = Mode::Working(Nested { port: 1 }, 2);
    assert_eq!(
        hub::Mode::from(busy.clone()),
        hub::Mode::Busy(hub::Nested { port: 1 }, 2)
    );
    assert_eq!(Mode::from(hub::Mode::from(busy.clone())), busy);
}

#[test]
fn tuples_units_and_generic_types_convert() {
    let pair = Pair(1, Nested { port: 2 });
    assert_eq!(Pair::from(hub::Pair::from(pair.clone())), pair);
    assert_eq!(Nothing::from(hub::Nothing::from(Nothing)), Nothing);
    let wrapper = Wrapper { inner: "x", size: 1 };
    assert_eq!(Wrapper::from(hub::Wrapper::from(wrapper.clone())), wrapper);
    assert_eq!(Choice::from(hub::Choice::from(Choice::One("x"))), Choice::One("x"));
    assert_eq!(Choice::from(hub::Choice::<u8>::None), Choice::Nothing);
}

mod fallible {
    use std::collections::BTreeMap;

    use kubewright_runtime::conversion::Convert;

    pub(super) mod hub {
        use std::collections::BTreeMap;

        #[derive(Debug, Default, PartialEq)]
        pub(crate) struct Shop {
            pub(crate) http_port: u16,
            pub(crate) doors: Vec<Door>,
            pub(crate) by_name: BTreeMap<String, Option<Door>>,
            pub(crate) main_door: Box<Door>,
            pub(crate) rest: u8,
        }

        #[derive(Debug, Default, PartialEq)]
        pub(crate) struct Door {
            pub(crate) width: u8,
            pub(crate) kind: Kind,
        }

        #[derive(Debug, Default, PartialEq)]
        pub(crate) enum Kind {
            #[default]
            Sliding,
            Revolving,
        }
    }

    #[derive(Convert, Debug, PartialEq)]
    #[convert(hub = hub::Shop, added(..), try)]
    pub(super) struct Shop {
        #[convert(try_with = number)]
        pub(super) http_port: String,
        pub(super) doors: Vec<Door>,
        pub(super) by_name: BTreeMap<String, Option<Door>>,
        pub(super) main_door: Box<Door>,
    }

    // Only shown to the derive, which names fields in errors as they are on the wire.
    #[derive(Convert, serde::Deserialize, Debug, PartialEq, Clone)]
    #[serde(rename_all = "camelCase")]
    #[convert(hub = hub::Door, try)]
    pub(super) struct Door {
        #[convert(rename = width, try_to_hub = u8::try_from, from_hub = i64::from)]
        pub(super) inner_width: i64,
        #[serde(rename = "type")]
        pub(super) kind: Kind,
    }

    #[derive(Convert, serde::Deserialize, Debug, PartialEq, Clone)]
    #[convert(hub = hub::Kind, added(Revolving))]
    pub(super) enum Kind {
        Sliding,
        #[convert(skip)]
        Trap,
    }

    mod number {
        #[expect(clippy::needless_pass_by_value, reason = "fields are given away")]
        pub(crate) fn to_hub(text: String) -> Result<u16, std::num::ParseIntError> {
            text.parse()
        }

        pub(crate) fn from_hub(number: u16) -> Result<String, &'static str> {
            if number == 0 {
                Err("no port")
            } else {
                Ok(number.to_string())
            }
        }
    }

    pub(super) fn shop() -> Shop {
        let door = Door {
            inner_width: 3,
            kind: Kind::Sliding,
        };
        Shop {
            http_port: "80".to_owned(),
            doors: vec![door.clone(), door.clone()],
            by_name: BTreeMap::from([("side".to_owned(), Some(door.clone()))]),
            main_door: Box::new(door),
        }
    }
}

#[test]
fn errors_say_at_which_field_they_are() {
    use fallible::{Kind, hub, shop};

    let converted = hub::Shop::try_from(shop()).unwrap();
    assert_eq!((converted.http_port, converted.doors[1].width), (80, 3));
    assert_eq!(fallible::Shop::try_from(converted).unwrap(), shop());

    let said = |change: fn(&mut fallible::Shop)| {
        let mut shop = shop();
        change(&mut shop);
        hub::Shop::try_from(shop).unwrap_err().to_string()
    };
    assert_eq!(
        said(|shop| shop.http_port = "http".to_owned()),
        "http_port: invalid digit found in string"
    );
    assert_eq!(
        said(|shop| shop.doors[1].inner_width = 300),
        "doors[1].innerWidth: out of range integral type conversion attempted"
    );
    assert_eq!(
        said(|shop| shop.main_door.kind = Kind::Trap),
        "main_door.type: `Trap` does not exist in the hub's version"
    );
    assert_eq!(
        said(|shop| shop.by_name.get_mut("side").unwrap().as_mut().unwrap().inner_width = -1),
        "by_name[side].innerWidth: out of range integral type conversion attempted"
    );

    let mut converted = hub::Shop::try_from(shop()).unwrap();
    converted.doors[0].kind = hub::Kind::Revolving;
    assert_eq!(
        fallible::Shop::try_from(converted).unwrap_err().to_string(),
        "doors[0].type: `Revolving` does not exist in this version"
    );
    assert_eq!(
        fallible::Shop::try_from(hub::Shop::default()).unwrap_err().to_string(),
        "http_port: no port"
    );
}
