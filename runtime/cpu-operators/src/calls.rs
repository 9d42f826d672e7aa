//! The operators of the CPU device as calls of the functions of `tenon-kernels`, from the list of the spec.

use tenon_kernels::formulas;
use tenon_operators::{Launch, attributes};

use crate::CpuOperators;
use crate::host::{done, meta, metas, optional_meta, optional_view, optional_views, ready, view};
use crate::queue::{Call, borrowed, common_shape, expect_shape, gradient, same_gradient, texts};

/// Implements the traits.
macro_rules! implement {
    ($($group:ident { $(
        $method:ident(
            $($output:ident: $written:ident),*;
            $($input:ident: $read:ident),*;
            $({$Attributes:ident; $($field:ident: $field_kind:ident $(= $field_default:expr)?),*})?
            $($attribute:ident: $kind:ident $(= $default:expr)?),*
        ) $(random($($random:ident),*))? = $work:ident($($of:tt)*);
    )* })*) => {$(
        impl tenon_operators::$group for CpuOperators { $(
            fn $method(
                &self,
                launch: Launch,
                $($output: tenon_operators::operator_parameter!($written),)*
                $($input: tenon_operators::operator_parameter!($read),)*
                $(with: &attributes::$Attributes,)?
                $($attribute: tenon_operators::operator_parameter!($kind),)*
                $($($random: i64,)*)?
            ) -> tenon_operators::operator_result!($work) {
                $(let attributes::$Attributes { $($field),* } = *with;)?
                $work! {
                    $method launch
                    ($($output: $written)*)
                    ($($input: $read)*)
                    {$($Attributes $($field: $field_kind)*)?}
                    ($($attribute: $kind)* $($($random: integer)*)?)
                    $($of)*
                }
            }
        )* }
    )*};
}

/// Computes the outputs with a kernel.
macro_rules! kernel {
    (
        $method:ident $launch:ident
        ($($output:ident: $written:ident)*) ($($input:ident: $read:ident)*)
        {$($Attributes:ident $($field:ident: $field_kind:ident)*)?} ($($attribute:ident: $kind:ident)*)
        $($function:ident)::+
    ) => {{
        let mut call = Call::new($launch);
        $(own!(call $output $written);)*
        $(own!(call $input $read);)*
        $($(own!(call $field $field_kind);)*)?
        $(own!(call $attribute $kind);)*
        call.run(stringify!($method), move || {
            tenon_kernels::$($function)::+(
                $(pass!($output $written),)*
                $(pass!($input $read),)*
                $(&attributes::$Attributes { $($field: pass!($field $field_kind)),* },)?
                $(pass!($attribute $kind),)*
            )
        })
    }};
}

/// Computes an output element by element.
macro_rules! formula {
    (
        $method:ident $launch:ident
        ($output:ident: $written:ident) ($($input:ident: $read:ident)*)
        {$($Attributes:ident $($field:ident: $field_kind:ident)*)?} ($($attribute:ident: $kind:ident)*)
        $($function:ident)::+
    ) => {{
        let mut call = Call::new($launch);
        own!(call $output $written);
        $(own!(call $input $read);)*
        expect_shape(&$output, &[$(&$input),*])?;
        call.run(stringify!($method), move || {
            formulas::$($function)::+(&mut $output, $(&$input,)* $($($field,)*)? $($attribute),*)
        })
    }};
}

/// Computes the gradient of an operand, which is summed over the dimensions along which the operand was repeated.
macro_rules! gradient {
    (
        $method:ident $launch:ident
        ($output:ident: $written:ident) ($($input:ident: $read:ident)*)
        {$($Attributes:ident $($field:ident: $field_kind:ident)*)?} ($($attribute:ident: $kind:ident)*)
        $($function:ident)::+; $($used:ident),*
    ) => {{
        let mut call = Call::new($launch);
        own!(call $output $written);
        $(own!(call $input $read);)*
        let dims = common_shape(&[$(&$input),*])?;
        call.run(stringify!($method), move || {
            gradient(&mut $output, &dims, |gradient| {
                formulas::$($function)::+(gradient, $(&$used,)* $($($field,)*)? $($attribute),*)
            })
        })
    }};
}

/// Computes the gradient of an operand that the result equals.
macro_rules! same {
    ($method:ident $launch:ident ($output:ident: $written:ident) ($input:ident: $read:ident) {} ()) => {{
        let mut call = Call::new($launch);
        own!(call $output $written);
        own!(call $input $read);
        call.run(stringify!($method), move || same_gradient(&mut $output, &$input))
    }};
}

/// Computes the shape of an output, after waiting for the elements that it depends on.
macro_rules! shape {
    (
        $method:ident $launch:ident () ($($input:ident: $read:ident)*)
        {$($Attributes:ident $($field:ident: $field_kind:ident)*)?} ($($attribute:ident: $kind:ident)*)
        $($function:ident)::+; $($taken:ident: $form:ident),*
    ) => {{
        if false $(|| is_read!($taken $form))* {
            ready($launch)?;
        }
        done(tenon_kernels::$($function)::+(
            $(take!($taken $form),)* $(&attributes::$Attributes { $($field),* },)? $($attribute),*
        ))
    }};
}

/// Makes an argument part of work that may run later.
macro_rules! own {
    ($call:ident $name:ident output) => {
        let mut $name = $call.output($name)?;
    };
    ($call:ident $name:ident optional_output) => {
        let mut $name = $call.optional_output($name)?;
    };
    ($call:ident $name:ident outputs) => {
        let mut $name = $call.outputs($name)?;
    };
    ($call:ident $name:ident input) => {
        let $name = $call.input($name)?;
    };
    ($call:ident $name:ident optional_input) => {
        let $name = $call.optional($name)?;
    };
    ($call:ident $name:ident inputs) => {
        let $name = $call.inputs($name)?;
    };
    ($call:ident $name:ident optional_inputs) => {
        let $name = $call.optional_inputs($name)?;
    };
    ($call:ident $name:ident integers) => {
        let $name = $name.to_vec();
    };
    ($call:ident $name:ident numbers) => {
        let $name = $name.to_vec();
    };
    ($call:ident $name:ident text) => {
        let $name = $name.to_owned();
    };
    ($call:ident $name:ident texts) => {
        let $name = texts($name);
    };
    ($call:ident $name:ident $kind:ident) => {};
}

/// An argument as a kernel takes it.
macro_rules! pass {
    ($name:ident output) => {
        &mut $name
    };
    ($name:ident optional_output) => {
        $name.as_mut()
    };
    ($name:ident outputs) => {
        &mut $name
    };
    ($name:ident optional_input) => {
        $name.as_ref()
    };
    ($name:ident optional_inputs) => {
        $name.as_deref()
    };
    ($name:ident boolean) => {
        $name
    };
    ($name:ident integer) => {
        $name
    };
    ($name:ident number) => {
        $name
    };
    ($name:ident texts) => {
        &borrowed(&$name)
    };
    ($name:ident $kind:ident) => {
        &$name
    };
}

/// True if the function of a shape reads the elements of an input that is there.
macro_rules! is_read {
    ($name:ident view) => {
        true
    };
    ($name:ident optional_view) => {
        $name.is_some()
    };
    ($name:ident optional_views) => {
        $name.is_some()
    };
    ($name:ident $form:ident) => {
        false
    };
}

/// An input as the function of a shape takes it.
macro_rules! take {
    ($name:ident view) => {
        &view($name)?
    };
    ($name:ident optional_view) => {
        optional_view($name)?.as_ref()
    };
    ($name:ident optional_views) => {
        optional_views($name)?.as_deref()
    };
    ($name:ident meta) => {
        meta($name)?
    };
    ($name:ident metas) => {
        &metas($name)?
    };
    ($name:ident optional_meta) => {
        optional_meta($name)?
    };
}

tenon_operators::operator_methods!(implement);
