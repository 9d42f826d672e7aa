//! The groups without an implementation. Their functions use the fallbacks of the spec, which return an error.

use crate::api::{
    AclAllocator, AclCapture, AclDataChannel, AclDump, AclKernel, AclLabel, AclModel, AclOperator,
    AclPlatform, AclProfiling, AclQueue, AclSnapshot, AclSymbol,
};
use crate::runtime::Runtime;

impl AclSymbol for Runtime {}

impl AclLabel for Runtime {}

impl AclSnapshot for Runtime {}

impl AclModel for Runtime {}

impl AclCapture for Runtime {}

impl AclOperator for Runtime {}

impl AclKernel for Runtime {}

impl AclProfiling for Runtime {}

impl AclDataChannel for Runtime {}

impl AclQueue for Runtime {}

impl AclDump for Runtime {}

impl AclAllocator for Runtime {}

impl AclPlatform for Runtime {}
