//! Functions that another library exports, from a list of their declarations.

/// Defines a struct with an address for each declaration, a function that looks them up, and a method for each that calls
/// it if it is there.
///
/// `#[import(c"symbol", …)]` states the symbol, and what the call returns:
/// - `checked`: a status. A failure is an error; the results are the parameters with `#[out]`.
/// - `checked(object)`: the same with an error object, which the method `refused` reads; null is success.
/// - `returned` or `returned(as)`: the result.
/// - neither: nothing.
///
/// A parameter without an attribute is passed as it is. The others are:
/// - `#[handle(T)]`, `#[const_handle(T)]`: a `T` of the interface, passed by its address.
/// - `#[out]`, `#[out(as)]`: a place that the function fills.
/// - `#[status]`: a place for a status, checked after the call.
///
/// A struct with a member, such as `struct Host { release: Release }`, keeps what `load` gets for it, and has a method
/// `absent`, which makes the error for a function that is missing.
///
/// `as` is `handle T`, `const_handle T` or `address T`: the type that the address becomes.
#[doc(hidden)]
#[macro_export]
macro_rules! import_functions {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $imports:ident $({ $state:ident: $state_type:ty $(,)? })? $(;)?

        type Failure = $failure:ty;

        const LIBRARIES: $libraries:ty = $names:expr;

        unsafe extern $convention:literal {
            $(
                $(#[doc = $doc:expr])*
                #[import($symbol:literal $(, $mode:ident $(($($as:tt)*))?)?)]
                fn $function:ident($($parameters:tt)*) $(-> $result:ty)?;
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug)]
        #[allow(clippy::type_complexity, reason = "the ABI has that many parameters")]
        $visibility struct $imports {
            $($state: $state_type,)?
            $($function: ::core::option::Option<
                $crate::import_functions!(@pointer $convention [$($parameters)*] $($result)?)
            >,)*
        }

        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        impl $imports {
            /// Libraries that export the symbols, in the order of lookup.
            pub const LIBRARIES: $libraries = $names;

            /// Looks every symbol up. Symbols that are not found are absent.
            ///
            /// # Safety
            /// `look_up` returns null, or the function of that name in a host of the releases that the spec describes, and
            /// stays loaded as long as this struct is used.
            pub unsafe fn load(
                $($state: $state_type,)?
                mut look_up: impl FnMut(&::core::ffi::CStr) -> *mut ::core::ffi::c_void,
            ) -> Self {
                // SAFETY: the caller promises that a symbol of a name has this signature; null becomes `None`.
                unsafe { Self { $($state,)? $($function: $crate::support::function(look_up($symbol)),)* } }
            }

            /// Returns the names of the symbols that were not found.
            pub fn missing(&self) -> ::std::vec::Vec<&'static str> {
                let all = [$(($symbol, self.$function.is_none())),*];
                all.iter().filter(|(_, is_missing)| *is_missing).filter_map(|(name, _)| name.to_str().ok()).collect()
            }

            $crate::import_functions! { @absent $failure $(, $state)? }

            $($crate::import_functions! {
                @method
                {
                    [$(#[doc = $doc])*] $function [$($mode $(($($as)*))?)?] [$($result)?] [$failure]
                }
                [] [] [] []
                $($parameters)*
            })*
        }
    };

    (@absent $failure:ty) => {
        fn absent(&self, function: &'static str) -> $failure {
            <$failure>::unsupported(function)
        }
    };
    (@absent $failure:ty, $state:ident) => {};

    // The type of a pointer to the function.
    (@pointer $convention:literal
        [$($(#[$role:ident $(($($with:tt)*))?])? $name:ident: $type:ty),* $(,)?] $($result:ty)?
    ) => {
        unsafe extern $convention fn(
            $($crate::import_functions!(@parameter [$($role)?] $type)),*
        ) $(-> $result)?
    };
    (@parameter [out] $type:ty) => { *mut $type };
    (@parameter [status] $type:ty) => { *mut $type };
    (@parameter [$($role:ident)?] $type:ty) => { $type };

    // A type that an address becomes, and the conversion.
    (@type [] $raw:ty) => { $raw };
    (@type [$kind:ident $type:ty] $raw:ty) => { $type };
    (@convert [] $value:expr) => { $value };
    (@convert [handle $type:ty] $value:expr) => { <$type>::from_raw($value) };
    (@convert [const_handle $type:ty] $value:expr) => { <$type>::from_raw($value.cast_mut()) };
    (@convert [address $type:ty] $value:expr) => { <$type>::from_ptr($value) };

    // Takes one parameter after the other: inputs, arguments, places that are filled, and the place of a status.
    (@method $head:tt [$($in:tt)*] [$($argument:tt)*] [$($out:tt)*] [$($status:tt)*]
        #[out $(($($as:tt)*))?] $name:ident: $type:ty $(, $($rest:tt)*)?
    ) => {
        $crate::import_functions! {
            @method $head [$($in)*] [$($argument)* $name.as_mut_ptr(),] [$($out)* { $name [$($($as)*)?] $type }]
            [$($status)*] $($($rest)*)?
        }
    };
    (@method $head:tt [$($in:tt)*] [$($argument:tt)*] [$($out:tt)*] []
        #[status] $name:ident: $type:ty $(, $($rest:tt)*)?
    ) => {
        $crate::import_functions! {
            @method $head [$($in)*] [$($argument)* &raw mut $name,] [$($out)*] [$name $type] $($($rest)*)?
        }
    };
    (@method $head:tt [$($in:tt)*] [$($argument:tt)*] [$($out:tt)*] [$($status:tt)*]
        #[handle($handle:ty)] $name:ident: $type:ty $(, $($rest:tt)*)?
    ) => {
        $crate::import_functions! {
            @method $head [$($in)* $name: $handle,] [$($argument)* $name.as_raw(),] [$($out)*] [$($status)*]
            $($($rest)*)?
        }
    };
    (@method $head:tt [$($in:tt)*] [$($argument:tt)*] [$($out:tt)*] [$($status:tt)*]
        #[const_handle($handle:ty)] $name:ident: $type:ty $(, $($rest:tt)*)?
    ) => {
        $crate::import_functions! {
            @method $head [$($in)* $name: $handle,] [$($argument)* $name.as_raw().cast_const(),] [$($out)*]
            [$($status)*] $($($rest)*)?
        }
    };
    (@method $head:tt [$($in:tt)*] [$($argument:tt)*] [$($out:tt)*] [$($status:tt)*]
        $name:ident: $type:ty $(, $($rest:tt)*)?
    ) => {
        $crate::import_functions! {
            @method $head [$($in)* $name: $type,] [$($argument)* $name,] [$($out)*] [$($status)*] $($($rest)*)?
        }
    };

    (@method { [$($doc:tt)*] $function:ident [checked $(($how:ident))?] [$result:ty] [$failure:ty] }
        [$($in:tt)*] [$($argument:tt)*] [$({ $out:ident [$($as:tt)*] $raw:ty })*] []
    ) => {
        $($doc)*
        ///
        /// # Errors
        /// If the symbol is missing, or the host reports a failure.
        ///
        /// # Safety
        /// The handles are live handles of the host, and the pointers are valid as the interface requires.
        #[allow(unused_parens, reason = "one result is no tuple")]
        pub unsafe fn $function(
            &self,
            $($in)*
        ) -> ::core::result::Result<($($crate::import_functions!(@type [$($as)*] $raw)),*), $failure> {
            let callee = self.$function.ok_or_else(|| self.absent(stringify!($function)))?;
            $(let mut $out = ::core::mem::MaybeUninit::<$raw>::zeroed();)*
            // SAFETY: the caller's promise is handed on.
            let status = unsafe { callee($($argument)*) };
            $crate::import_functions!(@check [$($how)?] self $function status $failure);
            $(
                // SAFETY: zero is a value of the type, and the function may have written another.
                let $out = unsafe { $out.assume_init() };
            )*
            Ok(($($crate::import_functions!(@convert [$($as)*] $out)),*))
        }
    };
    (@method { [$($doc:tt)*] $function:ident [$($mode:ident $(($($as:tt)*))?)?] [$($result:ty)?] [$failure:ty] }
        [$($in:tt)*] [$($argument:tt)*] [] [$($status:ident $code:ty)?]
    ) => {
        $($doc)*
        ///
        /// # Errors
        /// If the symbol is missing, or the host reports a failure.
        ///
        /// # Safety
        /// The handles are live handles of the host, and the pointers are valid as the interface requires.
        #[allow(clippy::let_unit_value, reason = "a function may return nothing")]
        pub unsafe fn $function(
            &self,
            $($in)*
        ) -> ::core::result::Result<$crate::import_functions!(@returned [$($($($as)*)?)?] $($result)?), $failure> {
            let callee = self.$function.ok_or_else(|| self.absent(stringify!($function)))?;
            $(let mut $status = <$code as $crate::StatusCode>::SUCCESS;)?
            // SAFETY: the caller's promise is handed on.
            let returned = unsafe { callee($($argument)*) };
            $(if $status != <$code as $crate::StatusCode>::SUCCESS {
                return Err(<$failure>::new($status, concat!("the host failed in `", stringify!($function), "`")));
            })?
            Ok($crate::import_functions!(@convert [$($($($as)*)?)?] returned))
        }
    };
    (@check [] $imports:ident $function:ident $status:ident $failure:ty) => {
        if $crate::StatusCode::code($status) != 0 {
            return Err(<$failure>::new($status, concat!("the library refused `", stringify!($function), "`")));
        }
    };
    (@check [object] $imports:ident $function:ident $status:ident $failure:ty) => {
        if let Some(error) = $imports.refused(stringify!($function), $status.cast()) {
            return Err(error);
        }
    };
    (@returned []) => { () };
    (@returned [$($as:tt)*] $raw:ty) => { $crate::import_functions!(@type [$($as)*] $raw) };
}
