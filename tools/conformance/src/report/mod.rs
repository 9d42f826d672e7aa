//! Reports of a run, for people and programs.

mod json;
mod junit;
mod list;
mod provider;
mod style;
mod table;

pub use json::json;
pub use junit::junit;
pub use list::{list, list_json};
pub use provider::{provider_list, provider_table};
pub use style::Style;
pub use table::{bar, table};
