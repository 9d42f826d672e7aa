//! The methods of composed operators: each runs its plan if it is composed, and is the device's own otherwise.

use super::Composed;
use super::interpreter::Running;
use crate::{Launch, attributes};

macro_rules! implement {
    ($($group:ident { $(
        $method:ident(
            $($output:ident: $written:ident),*;
            $($input:ident: $read:ident),*;
            $({$Attributes:ident; $($field:ident: $field_kind:ident $(= $field_default:expr)?),*})?
            $($attribute:ident: $kind:ident $(= $default:expr)?),*
        ) $(random($($random:ident),*))? = $work:ident($($of:tt)*);
    )* })*) => {$(
        impl crate::$group for Composed<'_> { $(
            fn $method(
                &self,
                launch: Launch,
                $($output: crate::operator_parameter!($written),)*
                $($input: crate::operator_parameter!($read),)*
                $(with: &attributes::$Attributes,)?
                $($attribute: crate::operator_parameter!($kind),)*
                $($($random: i64,)*)?
            ) -> crate::operator_result!($work) {
                $(let attributes::$Attributes { $($field),* } = *with;)?
                run! {
                    $work self launch $method
                    ($($output)*) ($($input: $read)*) ($($($field)*)? $($attribute)* $($($random)*)?)
                }
                self.own(|own| {
                    own.$method(
                        launch, $($output,)* $($input,)* $(&attributes::$Attributes { $($field),* },)?
                        $($attribute,)* $($($random,)*)?
                    )
                })
            }
        )* }
    )*};
}

/// Runs the plan of a method that computes elements. Shapes have no plans.
macro_rules! run {
    (shape $($method:tt)*) => {};
    (
        $work:ident $self:ident $launch:ident $method:ident
        ($($output:ident)*) ($($input:ident: $read:ident)*) ($($attribute:ident)*)
    ) => {
        let ty = Self::elements(&[$(one!($input $read)),*]);
        if let Some(plan) = $self.compositions.plan(stringify!($method), ty) {
            let mut running = Running::new($self, $launch, plan, ty)?;
            $(running.output(stringify!($output), $output);)*
            $(running.value(stringify!($input), $input);)*
            $(running.value(stringify!($attribute), $attribute);)*
            return running.run();
        }
    };
}

/// A tensor whose type decides whether a method is composed.
macro_rules! one {
    ($input:ident input) => {
        Some($input)
    };
    ($input:ident $read:ident) => {
        None
    };
}

operator_methods!(implement);
