//! A versioned object store.
