//! The declaration of operators, and their registration with Paddle.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_void};
use tenon::support::Mutex;

use crate::paddle::ffi::{PD_Kernel, PD_KernelFn, PD_KernelKey, PD_TensorArgDef};
use crate::paddle::{self, KernelArgument, TensorArgDef};
use tenon::device::{DataLayout, DataType, Release};

use crate::error::{Error, Result};
use crate::host::Host;
use crate::kernel::call::Call;
use crate::kernel::element::{BOOL, COMPLEX, Element, FLOATS, INTEGERS};
use crate::provider::{Memory, Provider};

/// The implementation of an operator, for elements of type `T`.
pub(crate) trait Run<T>: Sized {
    /// Runs the operator.
    fn run(self, call: &Call) -> Result<()>;
}

/// The element type of an operator that checks the types of its tensors in each call.
pub(crate) struct Any;

/// An operator that can be registered for elements of type `T`. Implemented by
/// [`kernel!`](crate::kernel::kernel).
pub(crate) trait Kernel<T> {
    /// Its name in Paddle.
    const NAME: &'static CStr;
    /// The kinds of its inputs.
    const INPUTS: &'static [KernelArgument];
    /// The kinds of its attributes.
    const ATTRIBUTES: &'static [KernelArgument];
    /// The kinds of its outputs.
    const OUTPUTS: &'static [KernelArgument];

    /// Returns the entry point with a context.
    fn by_context() -> PD_KernelFn;
    /// Returns the entry point with one parameter for each argument of the operator.
    fn variadic() -> *mut c_void;
}

/// A kernel in the form in which it is registered.
///
/// The registry takes this struct instead of a type parameter, so that the compiler compiles its functions
/// only once.
struct Declared {
    name: &'static CStr,
    /// The kinds of the inputs, the attributes and the outputs.
    arguments: [&'static [KernelArgument]; 3],
    by_context: PD_KernelFn,
    variadic: *mut c_void,
}

impl Declared {
    fn of<K: Kernel<T>, T>() -> Self {
        Self {
            name: K::NAME,
            arguments: [K::INPUTS, K::ATTRIBUTES, K::OUTPUTS],
            by_context: K::by_context(),
            variadic: K::variadic(),
        }
    }
}

/// The kernels that are registered: device type, name, element type, and true for tensors of any strides.
static REGISTERED: Mutex<BTreeSet<(&CStr, &CStr, i32, bool)>> = Mutex::new(BTreeSet::new());

/// The registry of operators.
#[derive(Clone, Copy)]
pub(crate) struct Registry {
    host: &'static Host,
    provider: &'static Provider,
    device_type: &'static CStr,
}

impl Registry {
    /// Creates the registry of a host for a device type.
    pub(crate) fn new(host: &'static Host, provider: &'static Provider, device_type: &'static CStr) -> Self {
        Self { host, provider, device_type }
    }

    /// Returns true if the host can access the memory of the device.
    pub(crate) fn has_host_memory(self) -> bool {
        self.provider.memory == Memory::OfTheHost
    }

    /// Returns the release of the host.
    pub(crate) fn release(self) -> Release {
        self.host.release
    }

    /// Registers a kernel for elements of type `T` if the device has the methods that the kernel calls.
    pub(crate) fn add<K: Kernel<T>, T: Element>(self, methods: &[&str]) -> Result<()> {
        if self.provider.provides(methods, T::DATA_TYPE) {
            self.register(&Declared::of::<K, T>(), T::DATA_TYPE, leave_definitions)
        } else {
            Ok(())
        }
    }

    /// Registers a kernel for all element types for which the device has the methods that the kernel calls.
    pub(crate) fn add_every<K: Kernel<Any>>(self, methods: &[&str]) -> Result<()> {
        self.add_any::<K>(methods, &[FLOATS, INTEGERS, BOOL, COMPLEX])
    }

    /// Registers a kernel for those of the given types for which the device has the methods that the kernel
    /// calls.
    pub(crate) fn add_any<K: Kernel<Any>>(self, methods: &[&str], types: &[&[DataType]]) -> Result<()> {
        self.register_each(&Declared::of::<K, Any>(), methods, types)
    }

    /// Registers a kernel as [`add_any`](Self::add_any) does, that takes real inputs beside complex ones.
    ///
    /// Paddle converts real inputs of a complex kernel to its type, and rounds float64 to float32 on the way.
    pub(crate) fn add_mixed<K: Kernel<Any>>(self, methods: &[&str], types: &[&[DataType]]) -> Result<()> {
        let kernel = Declared::of::<K, Any>();
        let is_provided = |ty: &&DataType| self.provider.provides(methods, **ty);
        let mut provided = types.iter().copied().flatten().filter(is_provided);
        provided.try_for_each(|ty| self.register(&kernel, *ty, take_any_type))
    }

    fn register_each(self, kernel: &Declared, methods: &[&str], types: &[&[DataType]]) -> Result<()> {
        let is_provided = |ty: &&DataType| self.provider.provides(methods, **ty);
        let mut provided = types.iter().copied().flatten().filter(is_provided);
        provided.try_for_each(|ty| self.register(kernel, *ty, leave_definitions))
    }

    /// Registers a kernel that supports tensors of any strides, for elements of type `T`, if the device has
    /// the methods that the kernel calls.
    pub(crate) fn add_strided<K: Kernel<T>, T>(self, methods: &[&str], data_type: DataType) -> Result<()> {
        if !self.provider.provides(methods, data_type) {
            return Ok(());
        }
        let kernel = Declared::of::<K, T>();
        self.register(&kernel, data_type, leave_definitions)?;
        self.register(&kernel, data_type, take_strides)
    }

    /// Registers a kernel for one element type, in one layout.
    ///
    /// # Errors
    /// If this library has registered a kernel with this name for the type: PaddlePaddle would keep one of the two.
    fn register(self, kernel: &Declared, data_type: DataType, definitions: Definitions) -> Result<()> {
        let is_strided = std::ptr::fn_addr_eq(definitions, take_strides as Definitions);
        let mut registered = REGISTERED.lock();
        if !registered.insert((self.device_type, kernel.name, data_type.0, is_strided)) {
            let name = kernel.name.to_string_lossy();
            return Err(Error::broken(format!("`{name}` is registered twice for {data_type:?}")));
        }
        let [mut inputs, mut attributes, mut outputs] = kernel.arguments.map(<[_]>::to_vec);
        // SAFETY: the numbers of kinds are correct, and the kinds are only read; the entry points take
        // arguments of these kinds, and live as long as the process, because the library is never unloaded.
        unsafe {
            self.host.api.register_phi_kernel(
                kernel.name.as_ptr(),
                self.device_type.as_ptr(),
                data_type,
                DataLayout::ANY,
                inputs.len(),
                inputs.as_mut_ptr(),
                attributes.len(),
                attributes.as_mut_ptr(),
                outputs.len(),
                outputs.as_mut_ptr(),
                Some(definitions),
                kernel.by_context,
                kernel.variadic,
            )
        }?;
        Ok(())
    }
}

/// Leaves the definitions unchanged: Paddle assumes that tensors are on the device and have the registered
/// type, and types are checked in each call.
unsafe extern "C-unwind" fn leave_definitions(_: *const PD_KernelKey, _: *mut PD_Kernel) {}

/// Declares that inputs may have any type, so that Paddle does not convert them.
unsafe extern "C-unwind" fn take_any_type(_: *const PD_KernelKey, kernel: *mut PD_Kernel) {
    let Some(host) = Host::get() else { return };
    let api = &host.api;
    // SAFETY: the kernel is live during the call, and its definitions belong to it. The list is this function's.
    let result = unsafe {
        api.kernel_get_args_def(paddle::Kernel::from_raw(kernel)).and_then(|definitions| {
            let inputs = api.kernel_args_def_get_input_arg_defs(definitions)?;
            for index in 0..inputs.size {
                let input = inputs.data.cast::<*mut PD_TensorArgDef>().add(index).read();
                api.tensor_arg_def_set_data_type(TensorArgDef::from_raw(input), DataType::UNDEFINED)?;
            }
            api.delete_pointer_list(inputs)
        })
    };
    // Without the change Paddle converts inputs, which the kernel refuses.
    drop(result);
}

/// Changes a key so that Paddle treats the kernel as supporting tensors of any strides.
///
/// Otherwise Paddle packs a view before it calls a kernel, and writes the result back. The registration
/// function rejects this layout, but reads the key again after calling this function.
unsafe extern "C-unwind" fn take_strides(key: *const PD_KernelKey, _: *mut PD_Kernel) {
    // SAFETY: a key consists of three C++ enums with the layout in the middle, and the key of this call is a
    // mutable variable.
    unsafe {
        let layout = key.cast_mut().cast::<i32>().add(1);
        if *layout == 0 {
            *layout = STRIDED;
        }
    }
}

/// The strided layout in the numbering of C++; the code of any layout is 0. It is the same from 2.6 to 3.3.
const STRIDED: i32 = 9;

/// The function that a registration calls to change the definitions of arguments.
type Definitions = unsafe extern "C-unwind" fn(*const PD_KernelKey, *mut PD_Kernel);

/// Registers a kernel that calls some methods for some element types, `register!(registry, &["relu"], Kernel,
/// [f32])`, or for all element types: `register!(registry, &["expand"], Kernel, every)`.
macro_rules! register {
    ($registry:expr, $methods:expr, $kernel:ident, every) => {{
        use $crate::kernel::{Bf16, Bool, Complex, F16};
        register!($registry, $methods, $kernel, [Bool, u8, i8, i16, i32, i64]);
        register!($registry, $methods, $kernel, [F16, Bf16, f32, f64, Complex<f32>, Complex<f64>]);
    }};
    ($registry:expr, $methods:expr, $kernel:ident, [$($element:ty),* $(,)?]) => {
        $($registry.add::<$kernel<'static>, $element>($methods)?;)*
    };
}
pub(crate) use register;

/// Declares an operator by its name in Paddle and its arguments in Paddle's order.
///
/// ```text
/// kernel! {
///     /// What it does.
///     struct Add<'c> = c"add" {
///         inputs: { x: Tensor<'c>, y: Tensor<'c> },
///         attributes: {},
///         outputs: { out: Output<'c> },
///     }
/// }
///
/// impl<T: Element> Run<T> for Add<'_> { … }
/// ```
macro_rules! kernel {
    (
        $(#[$doc:meta])*
        struct $kernel:ident<$life:lifetime> = $name:literal {
            inputs: { $($input:ident: $input_type:ty),* $(,)? },
            attributes: { $($attribute:ident: $attribute_type:ty),* $(,)? },
            outputs: { $($output:ident: $output_type:ty),* $(,)? } $(,)?
        }
    ) => {
        $(#[$doc])*
        #[allow(dead_code, reason = "Paddle also passes what an operator has no use for")]
        pub(crate) struct $kernel<$life> {
            $($input: $input_type,)*
            $($attribute: $attribute_type,)*
            $($output: $output_type,)*
        }

        const _: () = {
            use std::ffi::{CStr, c_void};
            use $crate::error::Result;
            use $crate::kernel::{
                Argument, Attribute, Call, Input, Kernel, Outcome, Run, Section, enter,
            };
            use crate::paddle::ffi::{PD_DeviceContext, PD_KernelContext, PD_KernelFn};
            use crate::paddle::{DeviceContext, KernelArgument, KernelContext};

            #[allow(dead_code, reason = "an operator need not have inputs")]
            const fn input<$life, T: Input<$life>>() -> KernelArgument {
                T::KIND
            }
            #[allow(dead_code, reason = "an operator need not have attributes")]
            const fn attribute<$life, T: Attribute<$life>>() -> KernelArgument {
                T::KIND
            }
            const fn output<$life, T: Outcome<$life>>() -> KernelArgument {
                T::KIND
            }

            impl<$life, T: 'static> Kernel<T> for $kernel<$life>
            where
                for<'a> $kernel<'a>: Run<T>,
            {
                const NAME: &'static CStr = $name;
                const INPUTS: &'static [KernelArgument] = &[$(input::<$input_type>()),*];
                const ATTRIBUTES: &'static [KernelArgument] = &[$(attribute::<$attribute_type>()),*];
                const OUTPUTS: &'static [KernelArgument] = &[$(output::<$output_type>()),*];

                fn by_context() -> PD_KernelFn {
                    Some(by_context::<T>)
                }

                fn variadic() -> *mut c_void {
                    variadic::<T> as *mut c_void
                }
            }

            /// # Safety
            /// Paddle must call it as an operator of this declaration.
            unsafe extern "C-unwind" fn by_context<T: 'static>(context: *mut PD_KernelContext)
            where
                for<'a> $kernel<'a>: Run<T>,
            {
                let context = KernelContext::from_raw(context);
                enter(
                    $name,
                    // SAFETY: the context is Paddle's.
                    &|host| Ok(unsafe { host.api.kernel_context_get_device_context(context) }?),
                    &|call| {
                        // SAFETY: the context is Paddle's, with the registered arguments.
                        let arguments = unsafe { gather(call, context) }?;
                        Run::<T>::run(arguments, call)
                    },
                );
            }

            /// # Safety
            /// The context must be that of the call, with the arguments of this declaration.
            #[allow(unused_mut, unused_variables, reason = "a section may be empty")]
            unsafe fn gather<$life>(call: &$life Call, context: KernelContext) -> Result<$kernel<$life>> {
                let section = || Section::new(call, context);
                let (mut inputs, mut attributes, mut outputs) = (section(), section(), section());
                // SAFETY: the caller's promise; each section has its own counter.
                unsafe {
                    Ok($kernel {
                        $($input: inputs.next(stringify!($input))?,)*
                        $($attribute: attributes.next(stringify!($attribute))?,)*
                        $($output: outputs.next(stringify!($output))?,)*
                    })
                }
            }

            /// # Safety
            /// Paddle must call it as an operator of this declaration.
            #[allow(clippy::too_many_arguments, reason = "Paddle passes that many")]
            unsafe extern "C-unwind" fn variadic<$life, T: 'static>(
                context: *mut PD_DeviceContext,
                $($input: <$input_type as Argument<$life>>::Raw,)*
                $($attribute: <$attribute_type as Argument<$life>>::Raw,)*
                $($output: <$output_type as Argument<$life>>::Raw,)*
            ) where
                for<'a> $kernel<'a>: Run<T>,
            {
                enter(
                    $name,
                    &|_| Ok(DeviceContext::from_raw(context)),
                    &|call| {
                        // SAFETY: these are the arguments that Paddle passed.
                        let arguments = unsafe {
                            $kernel {
                                $($input: Argument::from_raw(call, stringify!($input), $input)?,)*
                                $($attribute: Argument::from_raw(call, stringify!($attribute), $attribute)?,)*
                                $($output: Argument::from_raw(call, stringify!($output), $output)?,)*
                            }
                        };
                        Run::<T>::run(arguments, call)
                    },
                );
            }
        };
    };
}
pub(crate) use kernel;
