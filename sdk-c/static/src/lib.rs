//! `libtenon.a`: the functions of libtenon, and those of ACL, which shared libraries have in `libascendcl.so`.

#[macro_use]
#[path = "../../ascendcl/src/function.rs"]
mod function;
/// The functions of `spec/acl`.
#[path = "../../ascendcl/src/functions.rs"]
mod functions;

use tenon_acl::api;
use tenon_sdk_c::acl::address as find;
