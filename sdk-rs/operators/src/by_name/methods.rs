//! The methods of operators by their names.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::entry::{Entry, Work};
use super::{Argument, Arguments};
use crate::{Launch, Operators, attributes};
use tenon::device::{Error, Result};

/// Returns true if there is a method of this name.
#[must_use]
pub fn exists(method: &str) -> bool {
    find(method).is_some()
}

/// Returns the method with a name.
pub(crate) fn find(method: &str) -> Option<&'static Entry> {
    static METHODS: OnceLock<HashMap<&str, &Entry>> = OnceLock::new();
    METHODS.get_or_init(|| ENTRIES.iter().map(|entry| (entry.name, entry)).collect()).get(method).copied()
}

/// Calls a method that computes elements.
///
/// # Errors
/// Those of the method, and [`Status::FAILED`](tenon::device::Status::FAILED) if there is no such method.
///
/// # Safety
/// As for [`Arguments::new`].
pub unsafe fn call_method(
    operators: &dyn Operators,
    method: &str,
    launch: Launch,
    arguments: &[Argument],
) -> Result<()> {
    let entry = find(method).ok_or_else(|| Error::unsupported(method))?;
    // SAFETY: the caller's promise.
    entry.call(operators, launch, unsafe { Arguments::new(arguments) }).map(drop)
}

/// Makes an entry of each method, which takes its arguments in the order of a call.
macro_rules! entries {
    ($($group:ident { $(
        $method:ident(
            $($output:ident: $written:ident),*;
            $($input:ident: $read:ident),*;
            $({$Attributes:ident; $($field:ident: $field_kind:ident $(= $field_default:expr)?),*})?
            $($attribute:ident: $kind:ident $(= $default:expr)?),*
        ) $(random($($random:ident),*))? = $work:ident($($of:tt)*);
    )* })*) => {
        &[$($(Entry {
            name: stringify!($method),
            parameters: &[
                $(stringify!($output),)* $(stringify!($input),)*
                $($(stringify!($random),)*)? $($(stringify!($field),)*)? $(stringify!($attribute)),*
            ],
            work: work!($work)(|operators: &dyn Operators, launch: Launch, arguments| {
                $(let $output = arguments.$written()?;)*
                $(let $input = arguments.$read()?;)*
                $($(let $random = arguments.integer()?;)*)?
                $($(let $field = attribute!(arguments $field_kind $(= $field_default)?);)*)?
                $(let $attribute = attribute!(arguments $kind $(= $default)?);)*
                operators.$method(
                    launch,
                    $(lend!($output $written),)*
                    $(lend!($input $read),)*
                    $(&attributes::$Attributes { $($field: lend!($field $field_kind)),* },)?
                    $(lend!($attribute $kind),)*
                    $($($random),*)?
                )
            }),
        },)*)*]
    };
}

/// What a method computes.
macro_rules! work {
    (shape) => {
        Work::Shape
    };
    ($elements:ident) => {
        Work::Elements
    };
}

/// Takes the next argument as an attribute, or its default if the caller passes no more.
macro_rules! attribute {
    ($arguments:ident $kind:ident) => {
        $arguments.$kind()?
    };
    ($arguments:ident texts = $default:expr) => {
        if $arguments.is_empty() { $default.to_vec() } else { $arguments.texts()? }
    };
    ($arguments:ident $kind:ident = $default:expr) => {
        if $arguments.is_empty() { $default } else { $arguments.$kind()? }
    };
}

/// Passes an argument to a method.
macro_rules! lend {
    ($name:ident output) => {
        &mut { $name }
    };
    ($name:ident optional_output) => {{ $name }.as_mut()};
    ($name:ident outputs) => {
        &mut { $name }
    };
    ($name:ident input) => {
        &$name
    };
    ($name:ident inputs) => {
        &$name
    };
    ($name:ident optional_input) => {
        $name.as_ref()
    };
    ($name:ident optional_inputs) => {
        $name.as_deref()
    };
    ($name:ident texts) => {
        &$name
    };
    ($name:ident $kind:ident) => {
        $name
    };
}

static ENTRIES: &[Entry] = operator_methods!(entries);

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use tenon::support::Mutex;

    use super::super::{Argument, Arguments, Kind, Tensor, Text};
    use super::*;
    use crate::{TensorMut, TensorRef};
    use tenon::DevicePtr;
    use tenon::device::{DataType, DeviceId, Result, Status, Stream};

    /// A device that notes the attributes of its calls.
    #[derive(Default)]
    struct Npu(Mutex<Vec<String>>);

    #[tenon_operators::operators]
    impl Operators for Npu {
        fn leaky_relu(&self, _: Launch, _: &mut TensorMut<'_>, _: &TensorRef<'_>, alpha: f64) -> Result<()> {
            self.0.lock().push(format!("{alpha}"));
            Ok(())
        }

        fn merged_momentum(
            &self,
            _: Launch,
            _: &mut [Option<TensorMut<'_>>],
            _: &mut [Option<TensorMut<'_>>],
            _: &mut [Option<TensorMut<'_>>],
            _: &[TensorRef<'_>],
            _: &[TensorRef<'_>],
            _: &[TensorRef<'_>],
            _: &[TensorRef<'_>],
            _: Option<&[TensorRef<'_>]>,
            with: &attributes::MergedMomentumAttributes<'_>,
        ) -> Result<()> {
            let attributes::MergedMomentumAttributes {
                mu,
                use_nesterov,
                regularization_method,
                rescale_grad,
                ..
            } = with;
            let noted = format!("{mu} {use_nesterov} {regularization_method:?} {rescale_grad}");
            self.0.lock().push(noted);
            Ok(())
        }
    }

    fn argument<T>(kind: Kind, values: &[T]) -> Argument {
        Argument { kind, count: values.len(), values: values.as_ptr().cast::<c_void>() }
    }

    /// Calls a method. Returns what the device noted.
    fn call(method: &str, arguments: &[Argument]) -> Result<Vec<String>> {
        let npu = Npu::default();
        let launch = Launch { device: DeviceId(0), stream: Stream::NULL };
        // SAFETY: each argument is that of values which live as long as this call.
        let arguments = unsafe { Arguments::new(arguments) };
        find(method).unwrap().call(&npu, launch, arguments)?;
        Ok(npu.0.into_inner())
    }

    fn number() -> Tensor {
        Tensor {
            data: DevicePtr::from_addr(64).as_ptr(),
            data_type: DataType::FLOAT32,
            rank: 0,
            dims: std::ptr::null(),
            strides: std::ptr::null(),
        }
    }

    #[test]
    fn missing_attributes_have_their_defaults_and_further_ones_are_refused() {
        let number = number();
        let tensor = [&raw const number];
        let tensors = [argument(Kind::TENSORS, &tensor), argument(Kind::TENSORS, &tensor)];
        let alpha = argument(Kind::NUMBERS, &[0.5]);
        let with = |further: &[Argument]| call("leaky_relu", &[&tensors, further].concat());
        assert_eq!(with(&[]).unwrap(), ["0.01"]);
        assert_eq!(with(&[alpha]).unwrap(), ["0.5"]);
        let refused = with(&[alpha, alpha]).unwrap_err();
        assert_eq!(
            (refused.status, &*refused.message),
            (Status::FAILED, "the method takes 3 arguments, not 4")
        );
        let refused = call("leaky_relu", &tensors[..1]).unwrap_err();
        assert_eq!((refused.status, &*refused.message), (Status::ERROR, "the method takes more arguments"));
    }

    #[test]
    fn texts_of_a_list_arrive() {
        let none = argument::<*const Tensor>(Kind::TENSORS, &[]);
        let absent = Argument { kind: Kind::ABSENT, count: 0, values: std::ptr::null() };
        let texts =
            [Text { first: c"l2_decay".as_ptr(), count: 8 }, Text { first: std::ptr::null(), count: 0 }];
        let (mu, nesterov) = ([0.25], [1_i64]);
        let coefficients = argument::<f64>(Kind::NUMBERS, &[]);
        let arguments = [
            &[none; 7][..],
            &[absent, argument(Kind::NUMBERS, &mu), argument(Kind::INTEGERS, &nesterov)],
            &[argument(Kind::TEXTS, &texts), coefficients, argument(Kind::INTEGERS, &nesterov)],
        ];
        let noted = call("merged_momentum", &arguments.concat()).unwrap();
        assert_eq!(noted, [r#"0.25 true ["l2_decay", ""] 1"#]);
    }
}
