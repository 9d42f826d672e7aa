//! Operators of the library, by the form of their parameters.

use tenon_diopi::runtime::DiopiError;
use tenon_diopi::runtime::ffi::{
    diopiConstTensorHandle_t as Input, diopiContextHandle_t as Context, diopiSize_t as Size,
    diopiTensorHandle_t as Output,
};

macro_rules! declare {
    ($name:ident ($($param:ty),*)) => {
        unsafe extern "C" {
            fn $name(context: Context, $(_: $param),*) -> DiopiError;
        }
    };
}

macro_rules! function {
    (($($param:ty),*)) => { unsafe extern "C" fn(Context, $($param),*) -> DiopiError };
}

macro_rules! forms {
    ($($form:ident $params:tt: $($name:ident)*;)*) => {
        $($(declare!($name $params);)*)*

        /// An operator with the form of its parameters.
        #[derive(Clone, Copy)]
        pub enum Operator {
            $($form(&'static str, function!($params)),)*
        }

        pub const OPERATORS: &[Operator] = &[$($(Operator::$form(stringify!($name), $name),)*)*];

        impl Operator {
            pub fn name(self) -> &'static str {
                match self {
                    $(Operator::$form(name, _) => name,)*
                }
            }
        }
    };
}
forms! {
    Unary(Output, Input): diopiAbs diopiNeg diopiExp diopiSqrt diopiExpand diopiCastDtype diopiRelu diopiSilu
        diopiLogicalNot diopiIsNan diopiErf diopiMaxAll diopiReciprocal diopiBitwiseNot;
    Binary(Output, Input, Input): diopiMul diopiMm diopiBmm diopiMatmul diopiMaximum diopiEq diopiLogicalAnd
        diopiBitwiseAnd diopiRemainderTensor diopiPowTensor;
    InPlace(Output, Input): diopiMulInp diopiEqInp diopiLogicalOrInp;
    Alone(Output): diopiAbsInp diopiZeroInp diopiExpInp;
    Copied(Input, Output): diopiCopyInp;
    Made(*mut Output, Input): diopiNonzero;
    MadeOfTwo(*mut Output, Input, Input): diopiMaskedSelect;
    WithDimension(Output, Input, i64): diopiSoftmax diopiLogSoftmax diopiCumsum diopiTril diopiTriu;
    WithList(Output, Input, Size): diopiSum diopiMean diopiPermute diopiFlip diopiRepeat;
    AtIndices(Output, Input, i64, Input): diopiGather diopiIndexSelect;
    Ternary(Output, Input, Input, Input): diopiWhere diopiLinear diopiMaskedFill;
}
