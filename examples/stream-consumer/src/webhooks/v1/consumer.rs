// SPDX-License-Identifier: Apache-2.0

//! The versions of a `Consumer`.

use kubewright::conversion::Conversion;

use crate::api::v1::Consumer;

/// The versions of a `Consumer`: every other one is converted to this one and back, as its
/// types say. What a version has no place for survives in the annotation `stream.kubewright.dev/conversion-data`.
pub fn conversion() -> Conversion {
    Conversion::hub::<Consumer>()
        .spoke::<crate::api::v1beta1::Consumer>()
        .spoke::<crate::api::v1alpha1::Consumer>()
        .preserving()
        .into()
}
