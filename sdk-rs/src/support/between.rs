//! Functions in front of those of objects, for layers between a host and the objects of any plugin.
//!
//! The pointers in an object are replaced where it is, so that its address stays what its plugin knows.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// A function of a kind of object, by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The position of the kind among those of the interface.
    pub kind: usize,
    /// The position of the function in the object.
    pub function: usize,
}

/// A function of an object.
#[derive(Clone, Copy, Debug)]
pub struct ObjectFunction {
    /// Its name in C.
    pub name: &'static str,
    /// The number of the oldest release that reads it; 0 for all.
    pub since: u32,
    /// True if the host calls it without a look at the pointer.
    pub is_required: bool,
    /// The objects that it makes.
    pub makes: &'static [ObjectPart],
    /// The objects that it releases; its own for one without parameters.
    pub releases: Option<ObjectPart>,
    /// True if it returns a pointer to an error, or null.
    pub has_status: bool,
}

/// Objects among the arguments of a function.
#[derive(Clone, Copy, Debug)]
pub struct ObjectPart {
    /// The position of their kind.
    pub kind: usize,
    /// The position of the argument: an object, or the address of one or several.
    pub argument: usize,
    /// The position of the argument with their number, if it is an array.
    pub count: Option<usize>,
}

impl ObjectFunction {
    /// Returns an optional function, which makes and releases nothing.
    pub const fn new(name: &'static str, since: u32) -> Self {
        Self { name, since, is_required: false, makes: &[], releases: None, has_status: false }
    }

    /// Returns the same one, which the host calls without a look at the pointer.
    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// Returns the same one, which returns a pointer to an error, or null.
    pub const fn with_status(self) -> Self {
        Self { has_status: true, ..self }
    }

    /// Returns the same one, which makes objects.
    pub const fn making(self, makes: &'static [ObjectPart]) -> Self {
        Self { makes, ..self }
    }

    /// Returns the same one, which releases objects.
    pub const fn releasing(self, part: ObjectPart) -> Self {
        Self { releases: Some(part), ..self }
    }
}

impl ObjectPart {
    /// Returns the object that is an argument, or whose address is.
    pub const fn new(kind: usize, argument: usize) -> Self {
        Self { kind, argument, count: None }
    }

    /// Returns an array of objects, with their number in another argument.
    pub const fn counted_by(self, count: usize) -> Self {
        Self { count: Some(count), ..self }
    }
}

/// A kind of object.
#[derive(Clone, Copy, Debug)]
pub struct ObjectInfo {
    /// The name of the struct in C.
    pub name: &'static str,
    /// Where the struct has the number of its release, in bytes; `None` if it has none.
    pub release_at: Option<usize>,
    /// Its functions, in the order of the struct.
    pub functions: &'static [ObjectFunction],
}

/// Code that runs before and after functions of objects.
pub trait Between: 'static {
    /// The state of a call between its begin and its end.
    type Call;

    /// Keeps the address of a function, which is replaced after this.
    fn keep(place: Place, object: *mut c_void, function: usize);

    /// Runs before a function, whose arguments it may change. The first one is the object.
    fn begin(place: Place, words: &mut [usize]) -> Self::Call;

    /// Returns the address that was kept of the function of a call.
    fn kept(call: &Self::Call) -> usize;

    /// Runs after a function, whose result it may change.
    fn end(call: Self::Call, words: &[usize], result: usize) -> usize;
}

/// One function, and the code that runs before and after it.
pub trait Front: 'static {
    /// The code.
    type Between: Between;
    /// The function.
    const PLACE: Place;
}

/// The function `FUNCTION` of the kind `KIND`.
pub struct At<B, const KIND: usize, const FUNCTION: usize>(PhantomData<B>);

impl<B: Between, const KIND: usize, const FUNCTION: usize> Front for At<B, KIND, FUNCTION> {
    type Between = B;
    const PLACE: Place = Place { kind: KIND, function: FUNCTION };
}

/// A pointer to a function of an object.
///
/// # Safety
/// It is as large as a `usize`, and [`Slot::front`] has its convention.
pub unsafe trait Slot: Copy {
    /// Returns the function in front of one.
    fn front<F: Front>() -> Self;
}

/// Returns the bits of an argument or a result.
fn word<T: Copy>(value: T) -> usize {
    const { assert!(size_of::<T>() <= size_of::<usize>(), "it is passed in several registers") };
    let mut word = 0_usize;
    // SAFETY: the value fits, and is `Copy`. Its padding, if it had any, is not read: no such type is passed in a register.
    unsafe { (&raw mut word).cast::<T>().write_unaligned(value) };
    word
}

/// Returns the value that [`word`] was made of.
///
/// # Safety
/// The bits are of a value of this type.
unsafe fn value<T: Copy>(word: usize) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: the value fits into the word, and the caller says that the bits are of one.
    unsafe {
        std::ptr::copy_nonoverlapping(
            (&raw const word).cast(),
            value.as_mut_ptr().cast::<u8>(),
            size_of::<T>(),
        );
        value.assume_init()
    }
}

macro_rules! slots {
    ($(($($argument:ident)+))+) => {$(
        // SAFETY: a pointer to a function, and `call` has the same arguments and the same convention.
        unsafe impl<R: Copy, $($argument: Copy),+> Slot for unsafe extern "C-unwind" fn($($argument),+) -> R {
            fn front<F: Front>() -> Self {
                #[allow(non_snake_case, reason = "an argument is named as its type")]
                #[allow(clippy::too_many_arguments, reason = "the ABI has that many")]
                unsafe extern "C-unwind" fn call<F: Front, R: Copy, $($argument: Copy),+>(
                    $($argument: $argument),+
                ) -> R {
                    let mut words = [$(word($argument)),+];
                    let call = F::Between::begin(F::PLACE, &mut words);
                    let kept = F::Between::kept(&call);
                    // SAFETY: it was a pointer of this type when it was replaced. Arguments are those of the host, or what
                    // stands in front has changed them to others of their types.
                    let result = unsafe {
                        let function: unsafe extern "C-unwind" fn($($argument),+) -> R = value(kept);
                        let mut words = words.iter().copied();
                        $(let $argument: $argument = value(words.next().unwrap_or_default());)+
                        function($($argument),+)
                    };
                    let result = F::Between::end(call, &words, word(result));
                    // SAFETY: the result of the function, or another one of its type.
                    unsafe { value(result) }
                }
                call::<F, R, $($argument),+>
            }
        }
    )+};
}

slots! {
    (A)
    (A B)
    (A B C)
    (A B C D)
    (A B C D E)
    (A B C D E G)
    (A B C D E G H)
    (A B C D E G H I)
}

/// Replaces a pointer in an object, unless it is null.
///
/// # Safety
/// The pointer is in the object, which can be written, and nothing calls it meanwhile.
pub unsafe fn replace<F: Front, S: Slot>(object: *mut c_void, place: *mut Option<S>) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(function) = *place {
            F::Between::keep(F::PLACE, object, word(function));
            *place = Some(S::front::<F>());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Doubled;

    impl Between for Doubled {
        type Call = usize;

        fn keep(place: Place, object: *mut c_void, function: usize) {
            assert_eq!((place, object as usize), (Place { kind: 3, function: 4 }, 7));
            assert_eq!(function, add as *const () as usize);
        }

        fn begin(_: Place, words: &mut [usize]) -> usize {
            words[1] *= 2;
            words.len()
        }

        fn kept(_: &usize) -> usize {
            add as *const () as usize
        }

        fn end(call: usize, words: &[usize], result: usize) -> usize {
            assert_eq!((call, words[0]), (3, 7));
            result + 1000
        }
    }

    unsafe extern "C-unwind" fn add(_: *mut c_void, a: u32, b: u8) -> u32 {
        a + u32::from(b)
    }

    #[test]
    fn function_in_front_sees_and_changes_arguments_and_results() {
        let mut place: Option<unsafe extern "C-unwind" fn(*mut c_void, u32, u8) -> u32> = Some(add);
        let object = std::ptr::without_provenance_mut(7);
        // SAFETY: the pointer is a variable, and the functions take numbers.
        unsafe {
            replace::<At<Doubled, 3, 4>, _>(object, &raw mut place);
            assert_eq!(place.unwrap()(object, 20, 200), 1240);
        }
        place = None;
        // SAFETY: as above.
        unsafe { replace::<At<Doubled, 3, 4>, _>(object, &raw mut place) };
        assert!(place.is_none());
    }
}
