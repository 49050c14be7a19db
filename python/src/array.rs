//! Arrays of NumPy, in place.

use std::path::Path;
use std::sync::Arc;

use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use tcverify::io::npy::Descr;
use tcverify::io::{IN_MEMORY, Source};

use crate::error;

/// An array and the type of its elements, as a `.npy` header or ml_dtypes would call it.
#[derive(FromPyObject)]
pub struct Array<'py>(Bound<'py, PyUntypedArray>, String);

/// The memory of an array, which lives as long as this.
struct Memory {
    first: *const u8,
    bytes: usize,
    _owner: Py<PyUntypedArray>,
}

// SAFETY: bytes that may be read from any thread; what keeps them alive may be dropped on any thread.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: NumPy owns these bytes as long as the array lives. Another thread of Python that writes to them
        // meanwhile can only change what the codes are, as another process can of a mapped file; every bit pattern
        // is one of plain bytes.
        unsafe { std::slice::from_raw_parts(self.first, self.bytes) }
    }
}

impl Array<'_> {
    /// The array as the library reads it; nothing is copied.
    pub fn source(&self, name: &str) -> PyResult<Source> {
        let Array(array, descr) = self;
        let fail = |reason: String| error::request(array.py(), name, format!("`{name}`: {reason}"));
        let descr = Descr::parse(descr).map_err(|fault| fail(fault.to_string()))?;
        let width = array.dtype().itemsize();
        let shape = array.shape().to_vec();
        let elements = shape.iter().try_fold(1usize, |n, &m| n.checked_mul(m));
        let bytes = elements.and_then(|n| n.checked_mul(descr.width()));
        if bytes.is_none_or(|bytes| bytes > isize::MAX as usize / 2) {
            return Err(fail(format!("{shape:?} has more elements than any memory")));
        }
        let stepped = || fail("its strides go backwards, or are no multiples of an element".into());
        let mut strides = Vec::with_capacity(shape.len());
        let mut last = 0usize;
        for (&n, &stride) in shape.iter().zip(array.strides()) {
            // Of an axis of one NumPy may say anything.
            let stride = if n <= 1 { 0 } else { stride };
            let stride = usize::try_from(stride).map_err(|_| stepped())?;
            if stride % width != 0 || width != descr.width() {
                return Err(stepped());
            }
            last += n.saturating_sub(1) * (stride / width);
            strides.push(stride / width);
        }
        let empty = shape.contains(&0);
        // SAFETY: a pointer to an array that lives.
        let first = unsafe { (*array.as_array_ptr()).data };
        let memory = Memory {
            first: first.cast_const().cast(),
            bytes: if empty { 0 } else { (last + 1) * width },
            _owner: array.clone().unbind(),
        };
        Source::of_array(
            Path::new(IN_MEMORY),
            descr,
            shape,
            strides,
            Arc::new(memory),
        )
        .map_err(|error| fail(format!("{error:#}")))
    }
}
