//! Rules for language models: attention, caches and token penalties.

pub mod attention;
pub mod flash_attention;
pub mod inference;
pub mod lmdeploy;
pub mod prompts;
pub mod sampling;
pub mod transformer;
