//! The methods of composed operators: each runs its plan if it is composed, and is the device's own otherwise.

use super::Composed;
use super::interpreter::Running;
use crate::Launch;

macro_rules! implement {
    ($($group:ident { $(
        $method:ident(
            $($output:ident: $written:ident),*;
            $($input:ident: $read:ident),*;
            $($attribute:ident: $kind:ident $(= $default:expr)?),*
        ) $(random($($random:ident),*))? = $work:ident($($with:tt)*);
    )* })*) => {$(
        impl crate::$group for Composed<'_> { $(
            #[allow(clippy::too_many_arguments, reason = "a method has as many parameters as its entry in the spec")]
            fn $method(
                &self,
                launch: Launch,
                $($output: crate::operator_parameter!($written),)*
                $($input: crate::operator_parameter!($read),)*
                $($attribute: crate::operator_parameter!($kind),)*
                $($($random: i64,)*)?
            ) -> crate::operator_result!($work) {
                run! {
                    $work self launch $method ($($output)*) ($($input: $read)*) ($($attribute)* $($($random)*)?)
                }
                self.own(|own| own.$method(launch, $($output,)* $($input,)* $($attribute,)* $($($random,)*)?))
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
