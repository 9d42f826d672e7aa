//! The specs of published interfaces, held against their headers.

mod acl;
mod diopi;
mod import;
mod layout;
mod releases;
