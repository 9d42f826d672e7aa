//! Forwarding, layers, and calls with arguments as numbers, for the trait of a device.

/// Defines them from the list of the methods, with their parameters in the order of the ABI.
///
/// `#[call(Variant)]` names the function of a method. `asks` follows for a boolean result, and `returns(value)`
/// for a function that cannot fail: what it returns if a layer rejects the call.
///
/// A parameter without an attribute is a value. The others are:
/// - `#[changed]`: a value that the function reads and writes.
/// - `#[slice(length)]`, `#[text]`: a reference that can be made from numbers. A length is a parameter or a number.
/// - `#[callback(context)]`: a callback with its context.
/// - `#[lent]`, `#[unseen]`: a reference or a value that cannot; layers see its address, or 0.
///
/// Those that are not in the signature are:
/// - `#[length(of)]`, `#[context(of)]`: what another parameter has already.
/// - `#[result]`, `#[member]`: the result, or a member of it.
/// - `#[output]`: a result that 64 bits cannot represent.
#[doc(hidden)]
#[macro_export]
macro_rules! calls {
    // A spec may define a type `Option`, so names of the prelude are paths here.
    (
        #[forward($function:ident)]
        $(#[layers($error:ident)])?
        trait $device:ident: $partial:ident $methods:tt
    ) => {
        $crate::calls! { @forward $function $device $partial $methods }
        $($crate::calls! { @layers $function $error $device $partial $methods })?
    };

    (@forward $function:ident $device:ident $partial:ident { $(
        $(#[doc = $doc:expr])*
        #[call($variant:ident $($mode:tt)*)]
        fn $method:ident($($parameters:tt)*) $(-> $result:ty)?;
    )* }) => {
        /// An implementation that wraps another one.
        pub trait Wrapper: ::core::marker::Send + ::core::marker::Sync + 'static {
            /// Returns the other implementation.
            fn target(&self) -> &dyn $partial;

            /// Returns true if the function is implemented.
            fn provides(&self, function: $function) -> bool {
                $partial::provides(Wrapper::target(self), function)
            }
        }

        /// An implementation that forwards each call to another one. Override the functions that should differ.
        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        pub trait Forward: Wrapper {
            $($crate::calls! {
                @split { @default [$(#[doc = $doc])*] $device $method [$($result)?] } [] [] $($parameters)*
            })*
        }

        /// The interface of a [`Forward`].
        #[derive(Clone, Copy, Debug)]
        pub struct Forwarded<D>(pub D);

        impl<D: Forward> $partial for Forwarded<D> {
            fn provides(&self, function: $function) -> bool {
                Wrapper::provides(&self.0, function)
            }
        }

        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        impl<D: Forward> $device for Forwarded<D> {
            $($crate::calls! { @split { @forwarded $method [$($result)?] } [] [] $($parameters)* })*
        }
    };

    (@layers $function:ident $error:ident $device:ident $partial:ident { $(
        $(#[doc = $doc:expr])*
        #[call($variant:ident $($mode:tt)*)]
        fn $method:ident($($parameters:tt)*) $(-> $result:ty)?;
    )* }) => {
        /// Observes every call before and after it reaches the implementation.
        ///
        /// Its methods run on the calling thread. Many threads may call them at the same time.
        pub trait Layer: ::core::marker::Send + ::core::marker::Sync + 'static {
            /// Runs before the call. The layer can query the implementation below.
            ///
            /// The returned number is passed to [`after`](Layer::after).
            ///
            /// # Errors
            /// An error rejects the call: no layer below sees it, and the caller receives the error.
            fn before(
                &self,
                call: &$crate::reflect::Call<'_>,
                next: &dyn $device,
            ) -> ::core::result::Result<u64, $error>;

            /// Runs after the call, even if a layer below rejected it. The arguments now include the outputs.
            fn after(&self, call: &$crate::reflect::Call<'_>, note: u64, outcome: &Outcome<'_>, next: &dyn $device);
        }

        /// The outcome of a call.
        #[derive(Clone, Copy, Debug)]
        pub struct Outcome<'a> {
            /// The error; `None`: the call succeeded.
            pub error: ::core::option::Option<&'a $error>,
            /// The boolean result of a query.
            pub answer: ::core::option::Option<bool>,
        }

        /// An implementation behind layers. The first layer is the outermost.
        pub struct Layered<D> {
            inner: D,
            layers: ::std::vec::Vec<::std::sync::Arc<dyn Layer>>,
        }

        impl<D> Layered<D> {
            /// Maximum number of layers.
            pub const MOST: usize = 8;

            /// Puts layers around an implementation.
            ///
            /// # Panics
            /// If there are more layers than [`MOST`](Self::MOST).
            pub fn new(inner: D, layers: ::std::vec::Vec<::std::sync::Arc<dyn Layer>>) -> Self {
                ::core::assert!(layers.len() <= Self::MOST, "at most {} layers", Self::MOST);
                Self { inner, layers }
            }

            /// Returns the implementation behind the layers.
            pub fn inner(&self) -> &D {
                &self.inner
            }
        }

        #[allow(dead_code, reason = "an interface may have no function of a mode")]
        impl<D: $device> Layered<D> {
            /// Makes a call through the layers. Its arguments are numbers; the results of the call are written to them.
            #[inline]
            fn pass<T>(
                &self,
                function: $function,
                words: &mut [u64],
                call: impl FnOnce(&D, &mut [u64]) -> ::core::result::Result<T, $error>,
            ) -> ::core::result::Result<T, $error> {
                let mut notes = [0; 8];
                self.before(&function.called_with(words), &mut notes)?;
                let returned = call(&self.inner, words);
                let outcome = Outcome { error: returned.as_ref().err(), answer: ::core::option::Option::None };
                self.after(&function.called_with(words), &notes, &outcome);
                returned
            }

            /// Makes a call like [`pass`](Self::pass), for a function with a boolean result.
            #[inline]
            fn pass_question(
                &self,
                function: $function,
                words: &mut [u64],
                call: impl FnOnce(&D, &mut [u64]) -> ::core::result::Result<bool, $error>,
            ) -> ::core::result::Result<bool, $error> {
                let mut notes = [0; 8];
                self.before(&function.called_with(words), &mut notes)?;
                let returned = call(&self.inner, words);
                let outcome =
                    Outcome { error: returned.as_ref().err(), answer: returned.as_ref().ok().copied() };
                self.after(&function.called_with(words), &notes, &outcome);
                returned
            }

            /// Makes a call like [`pass`](Self::pass), for a function that cannot fail. Returns `refused` if a layer
            /// rejects the call.
            #[inline]
            fn pass_value<T>(
                &self,
                function: $function,
                refused: T,
                words: &mut [u64],
                call: impl FnOnce(&D, &mut [u64]) -> T,
            ) -> T {
                let mut notes = [0; 8];
                if self.before(&function.called_with(words), &mut notes).is_err() {
                    return refused;
                }
                let returned = call(&self.inner, words);
                let outcome = Outcome { error: ::core::option::Option::None, answer: ::core::option::Option::None };
                self.after(&function.called_with(words), &notes, &outcome);
                returned
            }

            // The notes are not moved: copying them right after they were written would cost more than the call.
            fn before(
                &self,
                call: &$crate::reflect::Call<'_>,
                notes: &mut [u64; 8],
            ) -> ::core::result::Result<(), $error> {
                for (index, layer) in self.layers.iter().enumerate() {
                    match layer.before(call, &self.inner) {
                        ::core::result::Result::Ok(note) => notes[index] = note,
                        ::core::result::Result::Err(error) => {
                            let outcome = Outcome {
                                error: ::core::option::Option::Some(&error),
                                answer: ::core::option::Option::None,
                            };
                            for above in (0..index).rev() {
                                self.layers[above].after(call, notes[above], &outcome, &self.inner);
                            }
                            return ::core::result::Result::Err(error);
                        }
                    }
                }
                ::core::result::Result::Ok(())
            }

            fn after(&self, call: &$crate::reflect::Call<'_>, notes: &[u64; 8], outcome: &Outcome<'_>) {
                // Iterates by index: a reversed `zip` would first drop the additional items of the longer side.
                for index in (0..self.layers.len()).rev() {
                    self.layers[index].after(call, notes[index], outcome, &self.inner);
                }
            }
        }

        impl<D: $partial> $partial for Layered<D> {
            fn provides(&self, function: $function) -> bool {
                $partial::provides(&self.inner, function)
            }
        }

        #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
        impl<D: $device> $device for Layered<D> {
            $($crate::calls! {
                @split { @layered [$($mode)*] $function $variant $device $method [$($result)?] } [] [] $($parameters)*
            })*
        }

        impl $function {
            /// Describes a call of the function for layers.
            fn called_with(self, arguments: &[u64]) -> $crate::reflect::Call<'_> {
                $crate::reflect::Call { function: self.info(), index: self as usize, arguments }
            }

            /// Calls the function with its arguments as numbers, in the form in which layers see them, and writes its
            /// results to them. A boolean result is returned; it is false for all other functions.
            ///
            /// Returns `None` if there are fewer arguments than parameters, or if numbers cannot represent the
            /// arguments.
            ///
            /// # Safety
            /// The method may be called with these arguments: addresses are valid for the given lengths, and handles
            /// belong to the implementation.
            #[allow(
                unused_variables, unreachable_code, unreachable_patterns, irrefutable_let_patterns,
                clippy::diverging_sub_expression,
                reason = "what the methods of an interface need"
            )]
            pub unsafe fn call_with(
                self,
                below: &dyn $device,
                words: &mut [u64],
            ) -> ::core::option::Option<::core::result::Result<bool, $error>> {
                match self {
                    $($function::$variant => $crate::calls!(
                        @split { @repeated [$($mode)*] $device $method below words } [] [] $($parameters)*
                    ),)*
                    _ => ::core::option::Option::None,
                }
            }
        }
    };

    // Takes one parameter after the other: those of the signature, and the words of those of the ABI.
    (@split $use:tt $in:tt [$($word:tt)*] #[length($of:ident)] $name:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::calls! { @split $use $in [$($word)* { length $name $of }] $($($rest)*)? }
    };
    (@split $use:tt $in:tt [$($word:tt)*] #[context($of:ident)] $name:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::calls! { @split $use $in [$($word)* { context $name $of }] $($($rest)*)? }
    };
    (@split $use:tt $in:tt [$($word:tt)*] #[result] $name:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::calls! { @split $use $in [$($word)* { result $name }] $($($rest)*)? }
    };
    (@split $use:tt $in:tt [$($word:tt)*] #[member] $name:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::calls! { @split $use $in [$($word)* { member $name }] $($($rest)*)? }
    };
    (@split $use:tt $in:tt [$($word:tt)*] #[output] $name:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::calls! { @split $use $in [$($word)* { output $name }] $($($rest)*)? }
    };
    (@split $use:tt [$($in:tt)*] [$($word:tt)*]
        #[$kind:ident $(($with:tt))?] $name:ident: $type:ty $(, $($rest:tt)*)?
    ) => {
        $crate::calls! {
            @split $use [$($in)* { $kind $name [$($with)?] $type }] [$($word)* { $kind $name }] $($($rest)*)?
        }
    };
    (@split $use:tt [$($in:tt)*] [$($word:tt)*] $name:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::calls! {
            @split $use [$($in)* { value $name [] $type }] [$($word)* { value $name }] $($($rest)*)?
        }
    };
    (@split { @$use:ident $($with:tt)* } $in:tt $word:tt) => { $crate::calls! { @$use [$($with)*] $in $word } };

    (@default [[$($doc:tt)*] $device:ident $method:ident [$($result:ty)?]]
        [$({ $kind:ident $name:ident $with:tt $type:ty })*] $word:tt
    ) => {
        $($doc)*
        fn $method(&self, $($name: $type),*) $(-> $result)? {
            $device::$method(Wrapper::target(self), $($name),*)
        }
    };

    (@forwarded [$method:ident [$($result:ty)?]] [$({ $kind:ident $name:ident $with:tt $type:ty })*] $word:tt) => {
        fn $method(&self, $($name: $type),*) $(-> $result)? {
            Forward::$method(&self.0, $($name),*)
        }
    };

    (@layered [[$($mode:tt)*] $function:ident $variant:ident $device:ident $method:ident [$($result:ty)?]]
        [$({ $kind:ident $name:ident $with:tt $type:ty })*] [$($word:tt)*]
    ) => {
        fn $method(&self, $($name: $type),*) $(-> $result)? {
            let mut words: [u64; _] = [$($crate::calls!(@before $word)),*];
            $crate::calls!(
                @pass [$($mode)*] (self, $function::$variant, words)
                |below, words| $device::$method(below, $($crate::calls!(@argument $kind $name)),*),
                returned => $crate::support::update_words(words, [$($crate::calls!(@after returned $word)),*])
            )
        }
    };
    (@pass [] ($self:expr, $function:expr, $all:ident)
        |$below:ident, $words:ident| $call:expr, $returned:ident => $update:expr
    ) => {
        $self.pass($function, &mut $all, |$below, $words| {
            let $returned = $call?;
            $update;
            ::core::result::Result::Ok($returned)
        })
    };
    (@pass [, asks] ($self:expr, $function:expr, $all:ident)
        |$below:ident, $words:ident| $call:expr, $returned:ident => $update:expr
    ) => {
        $self.pass_question($function, &mut $all, |$below, $words| {
            let $returned = $call?;
            $update;
            ::core::result::Result::Ok($returned)
        })
    };
    (@pass [, returns($refused:expr)] ($self:expr, $function:expr, $all:ident)
        |$below:ident, $words:ident| $call:expr, $returned:ident => $update:expr
    ) => {
        $self.pass_value($function, $refused, &mut $all, |$below, $words| {
            let $returned = $call;
            $update;
            $returned
        })
    };

    // An argument that is passed on.
    (@argument changed $name:ident) => { &mut *$name };
    (@argument $kind:ident $name:ident) => { $name };

    // The word of a parameter before the call.
    (@before { changed $name:ident }) => { $crate::support::ToWord::to_word(&*$name) };
    (@before { length $name:ident $of:ident }) => { $crate::support::ToLength::to_length(&$of) };
    (@before { context $name:ident $of:ident }) => { $crate::support::ToContext::to_context(&$of) };
    (@before { unseen $name:ident }) => { 0 };
    (@before { result $name:ident }) => { 0 };
    (@before { member $name:ident }) => { 0 };
    (@before { output $name:ident }) => { 0 };
    (@before { $kind:ident $name:ident }) => { $crate::support::ToWord::to_word(&$name) };

    // Its new word after a call that succeeded.
    (@after $returned:ident { changed $name:ident }) => { $crate::calls!(@new *$name) };
    (@after $returned:ident { result $name:ident }) => { $crate::calls!(@new $returned) };
    (@after $returned:ident { member $name:ident }) => { $crate::calls!(@new $returned.$name) };
    (@after $returned:ident $word:tt) => { ::core::option::Option::None };
    (@new $value:expr) => { ::core::option::Option::Some($crate::support::ToWord::to_word(&$value)) };

    // A call with arguments as numbers.
    (@repeated [[] $device:ident $method:ident $below:ident $words:ident]
        [$({ $kind:ident $name:ident $with:tt $type:ty })*] [$({ $use:ident $word:ident $($of:ident)? })*]
    ) => {{
        let [$($word,)* ..] = $words else { return ::core::option::Option::None };
        $($crate::calls!(@refer $kind $name $with);)*
        $($crate::calls!(@hold $kind $name);)*
        let returned = $device::$method($below, $($crate::calls!(@from $kind $name $with)),*);
        ::core::option::Option::Some(returned.map(|returned| {
            $($crate::calls!(@write returned $use $word);)*
            false
        }))
    }};
    (@repeated [[, asks] $device:ident $method:ident $below:ident $words:ident]
        [$({ $kind:ident $name:ident $with:tt $type:ty })*] [$({ $use:ident $word:ident $($of:ident)? })*]
    ) => {{
        let [$($word,)* ..] = $words else { return ::core::option::Option::None };
        $($crate::calls!(@refer $kind $name $with);)*
        ::core::option::Option::Some($device::$method($below, $($crate::calls!(@from $kind $name $with)),*))
    }};
    (@repeated [[, returns($refused:expr)] $($head:tt)*] $in:tt $word:tt) => { ::core::option::Option::None };

    // A reference, made before a length may be held.
    (@refer text $name:ident []) => { $crate::calls!(@checked $name 0) };
    (@refer slice $name:ident [$length:ident]) => { $crate::calls!(@checked $name *$length as usize) };
    (@refer slice $name:ident [$length:literal]) => { $crate::calls!(@checked $name $length) };
    (@refer $kind:ident $name:ident $with:tt) => {};
    (@checked $name:ident $length:expr) => {
        // SAFETY: the caller promises the memory.
        let checked = unsafe {
            $crate::support::FromWords::from_words(::core::stringify!($name), *$name, $length)
        };
        let $name = match checked {
            ::core::result::Result::Ok(reference) => reference,
            ::core::result::Result::Err(error) => {
                return ::core::option::Option::Some(::core::result::Result::Err(error));
            }
        };
    };

    // A value that the call changes, beside its word.
    (@hold changed $name:ident) => { let mut $name = ($crate::support::FromWord::from_word(*$name), $name); };
    (@hold $kind:ident $name:ident) => {};

    // An argument from its word.
    (@from value $name:ident []) => { $crate::support::FromWord::from_word(*$name) };
    (@from changed $name:ident []) => { &mut $name.0 };
    (@from text $name:ident []) => { $name };
    (@from slice $name:ident $length:tt) => { $name };
    (@from callback $name:ident [$context:ident]) => {
        // SAFETY: the caller promises the callback and its context.
        unsafe { $crate::support::Callback::from_words(*$name, *$context) }
    };
    (@from $kind:ident $name:ident []) => { return ::core::option::Option::None };

    // Its new word after a repeated call that succeeded.
    (@write $returned:ident changed $word:ident) => { *$word.1 = $crate::support::ToWord::to_word(&$word.0) };
    (@write $returned:ident result $word:ident) => { *$word = $crate::support::ToWord::to_word(&$returned) };
    (@write $returned:ident member $word:ident) => { *$word = $crate::support::ToWord::to_word(&$returned.$word) };
    (@write $returned:ident $kind:ident $word:ident) => {};
}
