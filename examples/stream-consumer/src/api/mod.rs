// SPDX-License-Identifier: Apache-2.0

//! The kinds of this operator, by version.

mod retention;
pub mod v1;
pub mod v1alpha1;
pub mod v1beta1;
