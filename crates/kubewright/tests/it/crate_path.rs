//! Derived code names the crate `kubewright`, or the path that `crate = …` gives.

use kubewright_macros::Convert;

/// A crate of a user that hides the toolkit behind a name of its own.
mod toolkit {
    pub(crate) use kubewright_runtime as front;
}

#[derive(Debug, PartialEq)]
struct Hub {
    size: u8,
}

#[derive(Convert, Debug, PartialEq)]
#[convert(hub = Hub, try)]
struct Spoke {
    size: i64,
}

#[derive(Convert, Debug, PartialEq)]
#[convert(hub = Hub, try, crate = crate::crate_path::toolkit::front)]
struct Renamed {
    size: i64,
}

#[test]
fn derived_code_finds_kubewright_and_a_crate_of_another_name() {
    let said = "size: out of range integral type conversion attempted";
    assert_eq!(Hub::try_from(Spoke { size: 300 }).unwrap_err().to_string(), said);
    assert_eq!(Hub::try_from(Renamed { size: -1 }).unwrap_err().to_string(), said);
    assert_eq!(Spoke::try_from(Hub { size: 3 }).unwrap(), Spoke { size: 3 });
    assert_eq!(Renamed::try_from(Hub { size: 3 }).unwrap(), Renamed { size: 3 });
}
