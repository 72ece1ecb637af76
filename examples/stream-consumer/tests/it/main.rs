// SPDX-License-Identifier: Apache-2.0

//! The operator on an API server in this process. One program: a module for each part of the operator.

mod broker;
mod consumer;
mod consumer_conversion;
mod consumer_scale;
mod consumer_schema;
mod support;
