//! Cases derived from the spec: for each function, the promises of its entry.

mod arguments;
mod calls;
mod handles;
mod invalid_arguments;

use tenon::device::{Function, reflection};
use tenon::reflect::{FunctionInfo, Need};

use crate::case::{Body, Case, Level, Place, PromisedBy, Verdict, failed};
use crate::plugin_under_test::PluginUnderTest;

pub(super) use calls::cases as calls;
pub(super) use invalid_arguments::cases as invalid_arguments;

/// Returns the parts of the entry that it tests: the functions, with their entries.
fn functions() -> impl Iterator<Item = (Function, &'static FunctionInfo)> {
    Function::ALL.into_iter().zip(&reflection::FUNCTIONS)
}

/// Returns a case for one function.
fn made(
    id: String,
    level: Level,
    function: Function,
    (source, promise): (PromisedBy, String),
    body: impl Fn(&PluginUnderTest) -> Verdict + Send + Sync + 'static,
) -> Case {
    Case {
        id: id.into(),
        level,
        functions: vec![function],
        uses: Vec::new(),
        native: false,
        always: false,
        promise: promise.into(),
        source,
        place: Place::Group,
        body: Body::Made(Box::new(body)),
    }
}

/// Returns true if a plugin has what a host needs.
pub(super) fn presence() -> Vec<Case> {
    functions()
        .filter(|(_, info)| info.need != Need::Optional)
        .map(|(function, info)| {
            let (promise, message) = match info.need {
                Need::Load => ("PaddlePaddle refuses a plugin without it", "a host does not load the plugin"),
                _ => (
                    "PaddlePaddle loads a plugin without it, and then crashes or computes with garbage",
                    "a host crashes or computes with garbage",
                ),
            };
            let case = made(
                format!("presence.{}", info.name),
                Level::Required,
                function,
                (PromisedBy::Host, promise.to_owned()),
                move |plugin| {
                    if plugin.has(function) {
                        Ok(())
                    } else {
                        failed(format!("`{}` is missing: {message}", function.name()))
                    }
                },
            );
            // The case tests missing functions, so no function can prevent it.
            Case { always: true, ..case }
        })
        .collect()
}
