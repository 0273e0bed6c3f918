//! The structures of the Arrow C data interface and who releases them. Knows nothing of what is in a
//! column.
//!
//! They are written out here as the specification has them: a library for all of Arrow would be larger
//! than this package.
#![allow(unsafe_code, reason = "structures of C")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Deref;
use std::ptr;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

#[repr(C)]
pub(super) struct Schema {
    pub(super) format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    pub(super) n_children: i64,
    pub(super) children: *mut *mut Schema,
    pub(super) dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub(super) struct Array {
    pub(super) length: i64,
    pub(super) null_count: i64,
    pub(super) offset: i64,
    pub(super) n_buffers: i64,
    pub(super) n_children: i64,
    pub(super) buffers: *mut *const c_void,
    pub(super) children: *mut *mut Array,
    pub(super) dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

#[repr(C)]
pub(super) struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Self, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Self, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Self) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Self)>,
    private_data: *mut c_void,
}

/// A structure of which the last owner calls `release`, once.
///
/// # Safety
/// All zeros are a value of the type: one that was released.
pub(super) unsafe trait Released: Sized {
    const CAPSULE: &'static CStr;
    fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

macro_rules! released {
    ($($type:ident $name:literal),*) => {$(
        // SAFETY: pointers, numbers and optional functions: all may be zero.
        unsafe impl Released for $type {
            const CAPSULE: &'static CStr = $name;
            fn release(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
                self.release
            }
        }
    )*};
}
released!(Schema c"arrow_schema", Array c"arrow_array", Stream c"arrow_array_stream");

/// A structure that is released when it is dropped.
pub(super) struct Owned<T: Released>(T);

// SAFETY: the interface allows the structures to be moved to, and released in, any thread; they are only
// read through a shared reference.
unsafe impl<T: Released> Send for Owned<T> {}
// SAFETY: as above.
unsafe impl<T: Released> Sync for Owned<T> {}

impl<T: Released> Owned<T> {
    fn none() -> Self {
        // SAFETY: the promise of the trait.
        Self(unsafe { std::mem::zeroed() })
    }

    /// Moves the structure out of its capsule, as consumers must: what is left there is released.
    pub(super) fn of(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        let place = capsule.cast::<PyCapsule>()?.pointer_checked(Some(T::CAPSULE))?.cast::<T>();
        let mut taken = Self::none();
        // SAFETY: a capsule of this name holds such a structure; it lives as long as the capsule, and the
        // interpreter is attached, so nobody else takes it at the same time.
        unsafe { ptr::swap(place.as_ptr(), &raw mut taken.0) };
        match taken.release() {
            Some(_) => Ok(taken),
            None => Err(PyValueError::new_err("the Arrow data has been taken already")),
        }
    }
}

impl<T: Released> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Released> Drop for Owned<T> {
    fn drop(&mut self) {
        if let Some(release) = self.0.release() {
            // SAFETY: it was not released yet, and nobody uses it afterwards.
            unsafe { release(&raw mut self.0) }
        }
    }
}

impl Owned<Stream> {
    /// The type and all pieces.
    pub(super) fn read(mut self) -> Result<(Owned<Schema>, Vec<Owned<Array>>), String> {
        let (Some(get_schema), Some(get_next)) = (self.get_schema, self.get_next) else {
            return Err("the Arrow stream is empty".into());
        };
        let mut schema = Owned::<Schema>::none();
        // SAFETY: the stream was not released; the schema is written by the producer.
        if unsafe { get_schema(&raw mut self.0, &raw mut schema.0) } != 0 {
            return Err(self.last_error());
        }
        let mut arrays = Vec::new();
        loop {
            let mut array = Owned::<Array>::none();
            // SAFETY: as above.
            if unsafe { get_next(&raw mut self.0, &raw mut array.0) } != 0 {
                return Err(self.last_error());
            }
            if array.release().is_none() {
                return Ok((schema, arrays));
            }
            arrays.push(array);
        }
    }

    fn last_error(&mut self) -> String {
        // SAFETY: asked right after a failed call, as the interface says; the text lives until the next.
        let text = self.get_last_error.map(|error| unsafe { error(&raw mut self.0) });
        match text {
            Some(text) if !text.is_null() => {
                // SAFETY: it ends in a zero.
                unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
            }
            _ => "the producer of the Arrow data failed".into(),
        }
    }
}
