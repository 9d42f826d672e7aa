//! Types of an interface that wrap a number: handles, and enums that a newer release may add values to.

/// Defines a handle by the type that the C ABI has for it. `#[null("…")]` says what the null handle means, if a function
/// accepts it.
#[doc(hidden)]
#[macro_export]
macro_rules! handle {
    ($(#[doc = $doc:expr])* $(#[null($null:literal)])? pub struct $name:ident($raw:ty);) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(usize);

        impl $name {
            #[doc = $crate::handle!(@null $($null)?)]
            pub const NULL: Self = Self(0);

            /// Makes a handle from the number that the implementation chose for it.
            pub const fn from_addr(addr: usize) -> Self {
                Self(addr)
            }

            /// Returns the number of the handle.
            pub const fn addr(self) -> usize {
                self.0
            }

            /// Returns true if it is the null handle.
            pub const fn is_null(self) -> bool {
                self.0 == 0
            }

            /// Makes a handle from a pointer of the ABI.
            pub fn from_raw(raw: $raw) -> Self {
                Self(raw.expose_provenance())
            }

            /// Returns the pointer of the ABI.
            pub fn as_raw(self) -> $raw {
                ::core::ptr::with_exposed_provenance_mut(self.0)
            }
        }

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::write!(formatter, ::core::concat!(::core::stringify!($name), "({:#x})"), self.0)
            }
        }
    };
    (@null) => { " The null handle, which no function accepts as live." };
    (@null $null:literal) => { ::core::concat!(" The null handle: ", $null, ".") };
}

/// Defines an enum as an integer with named values, because a newer release may know more of them. The name of a value
/// in the spec is that of the constant in lower case. `#[alias(VALUE)]` marks a further name of another value.
#[doc(hidden)]
#[macro_export]
macro_rules! numbers {
    (
        $(#[doc = $doc:expr])*
        #[repr($integer:ty)]
        pub enum $name:ident {
            $($(#[doc = $value_doc:expr])* $(#[alias($alias:ident)])? $value:ident = $number:expr,)*
        }
    ) => {
        $(#[doc = $doc])*
        ///
        /// Numbers without a name are valid too, because a newer host may know more values.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub $integer);

        impl $name {
            $($(#[doc = $value_doc])* pub const $value: Self = Self($number);)*

            /// Returns its name in the spec, if it has one.
            pub const fn name(self) -> ::core::option::Option<&'static str> {
                $(if self.0 == $number $(&& $crate::numbers!(@is_not $alias))? {
                    return $crate::numbers!(@lower_case $value);
                })*
                ::core::option::Option::None
            }
        }

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, formatter: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self.name() {
                    ::core::option::Option::Some(name) => formatter.write_str(name),
                    ::core::option::Option::None => {
                        ::core::write!(formatter, ::core::concat!(::core::stringify!($name), "({})"), self.0)
                    }
                }
            }
        }
    };
    (@is_not $alias:ident) => { false };
    (@lower_case $value:ident) => {{
        const UPPER: &::core::primitive::str = ::core::stringify!($value);
        const LOWER: [::core::primitive::u8; UPPER.len()] = $crate::support::lower_case(UPPER);
        $crate::support::name_of(&LOWER)
    }};
}

/// Returns a name in lower case.
#[must_use]
pub const fn lower_case<const LENGTH: usize>(name: &str) -> [u8; LENGTH] {
    let mut lower = [0; LENGTH];
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    lower
}

/// Returns the name of a value in the spec by its constant in lower case: `_1d` is `1d`, which a constant cannot be.
#[must_use]
pub const fn name_of(constant: &[u8]) -> Option<&str> {
    let name = match constant {
        [b'_', digit, ..] if digit.is_ascii_digit() => constant.split_at(1).1,
        _ => constant,
    };
    match str::from_utf8(name) {
        Ok(name) => Some(name),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    crate::numbers! {
        /// The layout of an image.
        #[repr(i32)]
        pub enum Layout {
            /// Any.
            ANY = 0,
            /// One row.
            _1D = -1,
            /// The older name of `ANY`.
            #[alias(ANY)]
            UNKNOWN = 0,
            /// Rows first.
            ROW_MAJOR = 2,
        }
    }

    #[test]
    fn numbers_have_the_names_of_the_spec() {
        let names = [Layout::ANY, Layout::_1D, Layout::UNKNOWN, Layout::ROW_MAJOR].map(Layout::name);
        assert_eq!(names, [Some("any"), Some("1d"), Some("any"), Some("row_major")]);
        assert_eq!(Layout(7).name(), None);
        assert_eq!(format!("{:?} {:?}", Layout::_1D, Layout(7)), "1d Layout(7)");
    }
}
