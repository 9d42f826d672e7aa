//! Tables of function pointers: how a plugin fills them, how a host calls them, and their description at run time.

pub mod c_functions;
pub mod calls;
pub mod functions;
pub mod loaded;
pub mod loaded_method;
pub mod plugin;
pub mod raw_call;
pub mod reflection;
pub mod releases;
pub mod signature;
pub mod trait_table;
