//! The conformance corpus: cases, recorder, replay.
