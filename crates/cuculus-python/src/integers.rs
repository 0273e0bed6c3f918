//! Arrays of integers by the buffer protocol: numpy, `array`, `memoryview`. Knows widths, signs and
//! strides; knows nothing of filters.
#![allow(unsafe_code, reason = "elements are read in place, without the interpreter")]

use std::ops::Range;

use cuculus::{KeyHash, KeyHasher};
use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// An array whose elements are read where they are.
pub(crate) struct Integers {
    /// Keeps the memory in place.
    _buffer: PyUntypedBuffer,
    first: *const u8,
    stride: isize,
    len: usize,
    form: Form,
}

// SAFETY: the buffer is exported until it is dropped, so the memory stays, in whichever thread it is read.
// Whoever writes to it meanwhile gets the answers for some mixture of old and new numbers.
unsafe impl Send for Integers {}
// SAFETY: as above; nothing is changed through a shared reference.
unsafe impl Sync for Integers {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
}

impl Form {
    /// In 64 bits signed and unsigned numbers are the same: two's complement.
    pub(crate) fn new(bytes: usize, signed: bool) -> Option<Self> {
        Some(match (bytes, signed) {
            (1, false) => Self::U8,
            (2, false) => Self::U16,
            (4, false) => Self::U32,
            (8, _) => Self::U64,
            (1, true) => Self::I8,
            (2, true) => Self::I16,
            (4, true) => Self::I32,
            _ => return None,
        })
    }

    /// The bytes of a number.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 => 4,
            Self::U64 => 8,
        }
    }

    /// Visits numbers that lie in memory, widened to 64 bits as their values say.
    ///
    /// # Safety
    /// There are `count` numbers of this form that can be read, the first at `first`, each `stride`
    /// bytes after the one before.
    #[inline]
    pub(crate) unsafe fn each(
        self,
        (first, stride): (*const u8, isize),
        count: usize,
        mut visit: impl FnMut(u64),
    ) {
        macro_rules! each {
            ($type:ty, $stride:expr, $number:ident => $wide:expr) => {
                for i in 0..count as isize {
                    let place = first.wrapping_offset(i * $stride).cast::<$type>();
                    // SAFETY: the caller's promise; numbers need not be aligned.
                    let $number = unsafe { place.read_unaligned() };
                    visit($wide);
                }
            };
        }
        match self {
            Self::U8 => each!(u8, stride, n => u64::from(n)),
            Self::U16 => each!(u16, stride, n => u64::from(n)),
            Self::U32 => each!(u32, stride, n => u64::from(n)),
            Self::U64 => each!(u64, stride, n => n),
            Self::I8 => each!(i8, stride, n => i64::from(n) as u64),
            Self::I16 => each!(i16, stride, n => i64::from(n) as u64),
            Self::I32 => each!(i32, stride, n => i64::from(n) as u64),
        }
    }
}

impl Integers {
    /// The array, or `None` if the object is no array of numbers and may be iterated over.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        // SAFETY: only the type is looked at.
        if unsafe { pyo3::ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            return Ok(None);
        }
        // numpy's masked arrays export the elements that are masked, too.
        if object.hasattr("mask")? {
            let numpy = object.py().import("numpy.ma")?;
            let masked: usize = numpy.call_method1("count_masked", (object,))?.extract()?;
            if masked > 0 {
                return Err(PyValueError::new_err(format!(
                    "the array has {masked} masked elements, which are no keys; give array.compressed()"
                )));
            }
        }
        // Arrays that cannot be exported, of dates or of numpy's new strings, can be iterated over.
        let Ok(buffer) = PyUntypedBuffer::get(object) else { return Ok(None) };
        let format = buffer.format().to_owned();
        let (bytes, signed) = match ElementType::from_format(&format) {
            ElementType::UnsignedInteger { bytes } => (bytes, false),
            ElementType::SignedInteger { bytes } => (bytes, true),
            ElementType::Float { .. } | ElementType::Bool => return Err(no_key(object, &buffer)),
            // Complex numbers and long doubles.
            ElementType::Unknown if is_number(format.to_bytes()) => {
                return Err(no_key(object, &buffer));
            }
            ElementType::Unknown => return Ok(None),
        };
        let swapped = if cfg!(target_endian = "little") { &b">!"[..] } else { &b"<"[..] };
        if bytes > 1 && swapped.contains(&format.to_bytes()[0]) {
            return Err(PyTypeError::new_err(format!(
                "the array has the byte order of another machine (dtype {}); convert it with \
                 array.astype(array.dtype.newbyteorder('='))",
                dtype(object, &buffer)
            )));
        }
        let form = Form::new(bytes, signed).filter(|_| buffer.item_size() == bytes);
        let form = form.ok_or_else(|| no_key(object, &buffer))?;
        let one_dimension = buffer.dimensions() == 1 && buffer.suboffsets().is_none();
        if !one_dimension {
            return Err(PyValueError::new_err(format!(
                "the array has {} dimensions; give one row or column, or array.ravel()",
                buffer.dimensions()
            )));
        }
        let (len, stride) = (buffer.shape()[0], buffer.strides()[0]);
        let first = buffer.buf_ptr().cast::<u8>().cast_const();
        Ok(Some(Self { _buffer: buffer, first, stride, len, form }))
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends the hashes of some of the elements.
    pub(crate) fn hash(&self, range: Range<usize>, hasher: &KeyHasher, hashes: &mut Vec<KeyHash>) {
        debug_assert!(range.end <= self.len);
        let first = self.first.wrapping_offset(range.start as isize * self.stride);
        if self.form == Form::U64 && self.stride == 8 {
            // The usual case, written so that the list is not looked at for each number.
            hashes.extend((0..range.len()).map(|i| {
                let place = first.wrapping_add(8 * i).cast::<u64>();
                // SAFETY: as below; it need not be aligned.
                hasher.hash(&unsafe { place.read_unaligned() })
            }));
            return;
        }
        // SAFETY: the exporter promises `len` elements, `stride` bytes apart, as long as the buffer is held.
        unsafe {
            let push = |number| hashes.push(hasher.hash(&number));
            self.form.each((first, self.stride), range.len(), push);
        }
    }
}

fn is_number(format: &[u8]) -> bool {
    let letters = format.strip_prefix(b"<").or(format.strip_prefix(b"=")).unwrap_or(format);
    matches!(letters, b"g" | b"Zf" | b"Zd" | b"Zg")
}

/// What numpy calls the elements, or what the struct module does.
fn dtype(object: &Bound<'_, PyAny>, buffer: &PyUntypedBuffer) -> String {
    let named = object.getattr("dtype").and_then(|dtype| Ok(dtype.str()?.to_string()));
    named.unwrap_or_else(|_| format!("'{}'", buffer.format().to_string_lossy()))
}

fn no_key(object: &Bound<'_, PyAny>, buffer: &PyUntypedBuffer) -> PyErr {
    PyTypeError::new_err(format!(
        "keys are str, bytes or int, but the array has dtype {}; convert it to integers first",
        dtype(object, buffer)
    ))
}
