//! `tenon rules`: explains the rules of validation.

use clap::Args;
use tenon_layers::validate::{Rule, RuleText, UnknownRule, catalogue};

#[derive(Debug, Args)]
pub struct Options {
    /// A rule, such as V031; all of them if left out
    rule: Option<String>,
    /// For programs
    #[arg(long)]
    json: bool,
}

/// The rule does not exist.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error(transparent)]
#[diagnostic(help("`tenon rules` lists all"))]
pub struct Failure(#[from] UnknownRule);

pub fn run(options: &Options) -> Result<String, Failure> {
    let wanted: Option<Rule> = options.rule.as_deref().map(str::parse).transpose()?;
    let wanted = wanted.map(|rule| rule.to_string());
    let rules: Vec<RuleText> =
        catalogue().filter(|rule| wanted.as_ref().is_none_or(|wanted| rule.id == *wanted)).collect();
    if options.json {
        return Ok(crate::json(&serde_json::json!(rules)));
    }
    Ok(match rules.as_slice() {
        [rule] => format!("{} ({}): {}\n\n{}\n", rule.id, rule.severity, rule.title, rule.explanation),
        rules => {
            rules.iter().map(|rule| format!("{}  {:<7}  {}\n", rule.id, rule.severity, rule.title)).collect()
        }
    })
}
