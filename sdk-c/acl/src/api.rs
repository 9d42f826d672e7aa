//! The interface: the trait [`Acl`], its types, and the symbols, expanded from `spec/acl`.

tenon::interface!("acl");
