//! `libtenon.a`: the functions of libtenon, and those of ACL, which shared libraries have in `libascendcl.so`.

#[path = "../../ascendcl/src/function.rs"]
mod function;
/// The functions of `spec/acl`.
#[path = "../../ascendcl/src/functions/mod.rs"]
#[rustfmt::skip]
mod functions;

use function::Function;
use tenon_acl::api;
use tenon_sdk_c::acl::address as find;
