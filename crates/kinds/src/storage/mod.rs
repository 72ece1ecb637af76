//! The kinds of `storage.k8s.io`.

mod capacity;
mod class;
mod csi;
mod volume_attachment;

pub(crate) use capacity::CsiStorageCapacity;
pub(crate) use class::{StorageClass, VolumeAttributesClass};
pub(crate) use csi::{CsiDriver, CsiNode};
pub(crate) use volume_attachment::VolumeAttachment;
