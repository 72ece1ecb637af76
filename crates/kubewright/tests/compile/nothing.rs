//! Nothing but the front door.
use kubewright as _;
