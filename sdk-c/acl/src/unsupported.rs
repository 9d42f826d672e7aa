//! The groups without an implementation. Their functions use the fallbacks of the spec, which return an error.

use crate::api::{AclCapture, AclLabel, AclModel, AclOperator, AclSnapshot, AclSymbol};
use crate::runtime::Runtime;

impl AclSymbol for Runtime {}

impl AclLabel for Runtime {}

impl AclSnapshot for Runtime {}

impl AclModel for Runtime {}

impl AclCapture for Runtime {}

impl AclOperator for Runtime {}
