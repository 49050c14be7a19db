//! Tensors from and to the arrays of other libraries, without copying where their layout allows.
//!
//! [`Element`] is a number type that is a format: `f32`, `f64` and integers always, `half::f16` and
//! `half::bf16` under feature `half`, `float8::F8E4M3` and `F8E5M2` under feature `float8`. Arrays of
//! `ndarray` convert under feature `ndarray`.
//!
//! ```
//! # #[cfg(feature = "ndarray")] {
//! use ndarray::array;
//! use tcverify_tensor::Tensor;
//!
//! let tensor = Tensor::from(array![[1.0f32, 2.0], [3.0, 4.0]]);
//! assert_eq!(tensor.planes().plane(0).code(1, 0), u64::from(3.0f32.to_bits()));
//! assert_eq!(tensor.view::<f32>().unwrap()[[0, 1]], 2.0);
//! # }
//! ```

use std::sync::Arc;

use bytemuck::Pod;

use crate::{Encoding, Order, Stored, Tensor};
use tcverify_num::Format;

/// A type whose values are the codes of a format.
pub trait Element: Pod + Send + Sync {
    const FORMAT: Format;
}

macro_rules! elements {
    ($($element:ty: $format:ident),* $(,)?) => {
        $(impl Element for $element {
            const FORMAT: Format = Format::$format;
        })*
    };
}

elements!(f32: Fp32, f64: Fp64, i8: Int8, u8: Uint8, i32: Int32);
#[cfg(feature = "half")]
elements!(half::f16: Fp16, half::bf16: Bf16);
#[cfg(feature = "float8")]
elements!(float8::F8E4M3: E4m3, float8::F8E5M2: E5m2);

/// Numbers as the bytes they are.
struct Numbers<T>(Vec<T>);

impl<T: Pod> AsRef<[u8]> for Numbers<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

fn stored<T: Element>() -> Stored {
    Stored {
        width: size_of::<T>(),
        big_endian: cfg!(target_endian = "big"),
        encoding: Encoding::Code,
    }
}

impl Tensor {
    /// A tensor that takes numbers over as they are, in C order.
    ///
    /// # Panics
    /// If there are not as many as the shape asks.
    pub fn from_vec<T: Element>(shape: Vec<usize>, numbers: Vec<T>) -> Tensor {
        assert_eq!(numbers.len(), shape.iter().product::<usize>());
        Tensor::over(shape, Order::C, numbers, 0)
    }

    fn over<T: Element>(shape: Vec<usize>, order: Order, numbers: Vec<T>, first: usize) -> Tensor {
        let bytes = Arc::new(Numbers(numbers));
        let start = first * size_of::<T>();
        let tensor = Tensor::new(T::FORMAT, shape, order, stored::<T>(), bytes, start);
        tensor.expect("every number is a code of its format")
    }
}

#[cfg(feature = "ndarray")]
mod arrays {
    use ndarray::{Array, ArrayD, ArrayView, ArrayViewD, Dimension, IxDyn, ShapeBuilder};

    use super::{Element, stored};
    use crate::{Order, Tensor};

    impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor {
        /// Takes the array over; copies it only if it is in neither C nor Fortran order.
        fn from(array: Array<T, D>) -> Tensor {
            let shape = array.shape().to_vec();
            let order = if array.is_standard_layout() {
                Order::C
            } else if array.t().is_standard_layout() {
                Order::Fortran
            } else {
                return Tensor::from(array.view());
            };
            let (numbers, first) = array.into_raw_vec_and_offset();
            Tensor::over(shape, order, numbers, first.unwrap_or(0))
        }
    }

    impl<T: Element, D: Dimension> From<ArrayView<'_, T, D>> for Tensor {
        /// Copies what the view shows, in C order.
        fn from(view: ArrayView<'_, T, D>) -> Tensor {
            Tensor::from_vec(view.shape().to_vec(), view.iter().copied().collect())
        }
    }

    impl Tensor {
        /// The tensor as an array, without a copy; none if it is of another format, or its bytes do not lie as
        /// this machine's numbers do.
        pub fn view<T: Element>(&self) -> Option<ArrayViewD<'_, T>> {
            let (layout, order, bytes) = self.parts()?;
            if layout != stored::<T>() || self.format() != T::FORMAT {
                return None;
            }
            let numbers: &[T] = bytemuck::try_cast_slice(bytes).ok()?;
            let shape = IxDyn(self.shape());
            let shape = shape.set_f(order == Order::Fortran);
            ArrayViewD::from_shape(shape, numbers).ok()
        }

        /// The tensor as an array of its own, in C order; none if it is of another format.
        pub fn to_array<T: Element>(&self) -> Option<ArrayD<T>> {
            if self.format() != T::FORMAT {
                return None;
            }
            let mut payload = Vec::with_capacity(self.len() * size_of::<T>());
            self.for_each_payload_chunk(|chunk| payload.extend_from_slice(chunk));
            let little = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                if cfg!(target_endian = "big") {
                    bytes.reverse();
                }
                bytemuck::pod_read_unaligned(&bytes)
            };
            let numbers = payload.chunks_exact(size_of::<T>()).map(little).collect();
            ArrayD::from_shape_vec(IxDyn(self.shape()), numbers).ok()
        }
    }

    #[cfg(test)]
    mod tests;
}
