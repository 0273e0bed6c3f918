//! Where the elements of a column are: the layouts of integers, text, bytes and dictionaries in the Arrow
//! columnar format. Knows nothing of Python.
#![allow(unsafe_code, reason = "elements are read in place")]

use std::ffi::{CStr, c_void};
use std::ops::Range;
use std::slice;

use cuculus::{KeyHash, KeyHasher};

use super::interface::{Array, Owned, Schema};
use crate::integers::Form;

/// How the elements of a column lie in memory.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    Integers(Form),
    /// Offsets of 32 bits, and the bytes.
    Short,
    /// Offsets of 64 bits, and the bytes.
    Long,
    /// Twelve bytes in place, or where they are.
    Views,
    /// As many bytes each.
    Fixed(usize),
    /// Places in a list of distinct elements.
    Dictionary(Form, Box<Layout>),
    /// A table of one column.
    Table(Box<Layout>),
}

impl Layout {
    /// The layout of a type that is no table.
    fn of_column(schema: &Schema) -> Result<Self, String> {
        match Self::of(schema)? {
            Self::Table(_) => Err("the column is a table itself; select a column of keys".into()),
            layout => Ok(layout),
        }
    }

    /// The layout of a type, or why its elements are no keys.
    pub(super) fn of(schema: &Schema) -> Result<Self, String> {
        if schema.format.is_null() {
            return Err("the Arrow data has no type".into());
        }
        // SAFETY: the format is a text that ends in a zero.
        let format = unsafe { CStr::from_ptr(schema.format) }.to_bytes();
        let form = |bytes, signed| Form::new(bytes, signed).map(Self::Integers);
        let layout = match format {
            b"c" => form(1, true),
            b"C" => form(1, false),
            b"s" => form(2, true),
            b"S" => form(2, false),
            b"i" => form(4, true),
            b"I" => form(4, false),
            b"l" => form(8, true),
            b"L" => form(8, false),
            b"u" | b"z" => Some(Self::Short),
            b"U" | b"Z" => Some(Self::Long),
            b"vu" | b"vz" => Some(Self::Views),
            [b'w', b':', digits @ ..] => {
                let width = str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
                width.map(Self::Fixed)
            }
            b"+s" if schema.n_children == 1 => {
                // SAFETY: the schema has one child.
                let child = unsafe { &**schema.children };
                return Ok(Self::Table(Box::new(Self::of_column(child)?)));
            }
            b"+s" => {
                return Err(format!(
                    "the table has {} columns; select the one with the keys",
                    schema.n_children
                ));
            }
            _ => None,
        };
        // SAFETY: a dictionary is null or a schema that lives as long as this one.
        let dictionary = unsafe { schema.dictionary.as_ref() };
        match (layout, dictionary) {
            (Some(Self::Integers(form)), Some(values)) => match Self::of_column(values)? {
                Self::Dictionary(..) => Err("the column has nested dictionaries".into()),
                values => Ok(Self::Dictionary(form, Box::new(values))),
            },
            (Some(layout), None) => Ok(layout),
            _ => Err(format!(
                "keys are str, bytes or int, but the column has type {}; cast it first",
                name(format)
            )),
        }
    }
}

fn name(format: &[u8]) -> String {
    match format {
        b"n" => "null".into(),
        b"b" => "bool".into(),
        b"e" => "float16".into(),
        b"f" => "float32".into(),
        b"g" => "float64".into(),
        [b't', b'd', ..] => "date".into(),
        [b't', b's', ..] => "timestamp".into(),
        _ => format!("'{}' (Arrow)", String::from_utf8_lossy(format)),
    }
}

/// A piece of a column.
pub(super) struct Chunk {
    /// Keeps the memory in place.
    array: Owned<Array>,
    layout: Layout,
    /// For a dictionary, the hashes of its elements.
    dictionary: Vec<KeyHash>,
    nulls: usize,
    len: usize,
}

impl Chunk {
    pub(super) fn new(
        array: Owned<Array>,
        layout: &Layout,
        hasher: &KeyHasher,
    ) -> Result<Self, String> {
        let len = usize::try_from(array.length).map_err(|_| "the Arrow data has no length")?;
        // SAFETY: the producer describes its arrays truly.
        let (mut nulls, mut inner) = (unsafe { null_count(&array, array.offset, len) }, &*array);
        let mut start = array.offset;
        let mut layout = layout;
        if let Layout::Table(column) = layout {
            layout = column;
            // SAFETY: as many children as the type has; they live as long as the array.
            inner = unsafe { &**array.children };
            start += inner.offset;
            // SAFETY: as above.
            nulls += unsafe { null_count(inner, start, len) };
        }
        let mut dictionary = Vec::new();
        if let Layout::Dictionary(form, values) = layout {
            // SAFETY: the type has a dictionary, so the array has one.
            let list = unsafe { &*inner.dictionary };
            let count = usize::try_from(list.length).map_err(|_| "a dictionary has no length")?;
            // SAFETY: the producer describes its arrays truly.
            unsafe {
                hash(list, values, list.offset, count, hasher, &mut dictionary);
                let is_within = |place: u64| place < dictionary.len() as u64;
                let mut places = Vec::new();
                read_places(inner, *form, start, len, &mut places);
                if nulls == 0 && !places.into_iter().all(is_within) {
                    return Err("a place in the dictionary of the column does not exist".into());
                }
                nulls += null_count(list, list.offset, count);
            }
        }
        Ok(Self { layout: layout.clone(), dictionary, nulls, len, array })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn nulls(&self) -> usize {
        self.nulls
    }

    /// Appends the hashes of some of the elements.
    pub(super) fn hash(&self, range: Range<usize>, hasher: &KeyHasher, hashes: &mut Vec<KeyHash>) {
        debug_assert!(range.end <= self.len && self.nulls == 0);
        let (mut inner, mut start) = (&*self.array, self.array.offset);
        if self.array.n_children == 1 {
            // SAFETY: it has one child, which lives as long as the array.
            inner = unsafe { &**self.array.children };
            start += inner.offset;
        }
        let start = start + range.start as i64;
        match &self.layout {
            Layout::Dictionary(form, _) => {
                let mut places = Vec::with_capacity(range.len());
                // SAFETY: the producer describes its arrays truly.
                unsafe { read_places(inner, *form, start, range.len(), &mut places) };
                hashes.extend(places.iter().map(|&place| self.dictionary[place as usize]));
            }
            // SAFETY: as above.
            layout => unsafe { hash(inner, layout, start, range.len(), hasher, hashes) },
        }
    }
}

/// Buffer `i` of an array; null if there is none.
///
/// # Safety
/// The array lists as many buffers as it says.
unsafe fn buffer(array: &Array, i: i64) -> *const c_void {
    if i >= array.n_buffers || array.buffers.is_null() {
        return std::ptr::null();
    }
    // SAFETY: the caller's promise.
    unsafe { *array.buffers.offset(i as isize) }
}

/// How many of some elements are missing.
///
/// # Safety
/// The array has elements up to `start + len`, and its bitmap, if any, a bit for each.
unsafe fn null_count(array: &Array, start: i64, len: usize) -> usize {
    // SAFETY: the caller's promise.
    let bits = unsafe { buffer(array, 0) }.cast::<u8>();
    if array.null_count == 0 || bits.is_null() {
        return 0;
    }
    let range = start as usize..start as usize + len;
    // SAFETY: the caller's promise.
    range.filter(|&i| unsafe { *bits.add(i / 8) } >> (i % 8) & 1 == 0).count()
}

/// Appends the places of some elements in their dictionary.
///
/// # Safety
/// The array has integers of this form up to `start + len`.
unsafe fn read_places(array: &Array, form: Form, start: i64, len: usize, places: &mut Vec<u64>) {
    // SAFETY: the caller's promise.
    let data = unsafe { buffer(array, 1) }.cast::<u8>();
    if !data.is_null() {
        let width = form.bytes() as isize;
        let first = data.wrapping_offset(start as isize * width);
        // SAFETY: as above.
        unsafe { form.each((first, width), len, |place| places.push(place)) }
    }
}

/// Appends the hashes of some elements.
///
/// # Safety
/// The array has elements of this layout up to `start + len`, described as the format says.
unsafe fn hash(
    array: &Array,
    layout: &Layout,
    start: i64,
    len: usize,
    hasher: &KeyHasher,
    hashes: &mut Vec<KeyHash>,
) {
    if len == 0 {
        return;
    }
    // SAFETY: everything below reads what the caller promises.
    unsafe {
        let first = buffer(array, 1).cast::<u8>();
        let elements = start as usize..start as usize + len;
        let bytes = |from: *const u8, len: usize| match len {
            0 => &[][..],
            _ => slice::from_raw_parts(from, len),
        };
        match layout {
            Layout::Integers(form) => {
                let width = form.bytes() as isize;
                let first = first.wrapping_offset(start as isize * width);
                form.each((first, width), len, |number| hashes.push(hasher.hash(&number)));
            }
            Layout::Short => {
                let (offsets, data) = (first.cast::<i32>(), buffer(array, 2).cast::<u8>());
                hashes.extend(elements.map(|i| {
                    let (from, to) = (*offsets.add(i) as usize, *offsets.add(i + 1) as usize);
                    hasher.hash(bytes(data.wrapping_add(from), to.saturating_sub(from)))
                }));
            }
            Layout::Long => {
                let (offsets, data) = (first.cast::<i64>(), buffer(array, 2).cast::<u8>());
                hashes.extend(elements.map(|i| {
                    let (from, to) = (*offsets.add(i) as usize, *offsets.add(i + 1) as usize);
                    hasher.hash(bytes(data.wrapping_add(from), to.saturating_sub(from)))
                }));
            }
            Layout::Views => hashes.extend(elements.map(|i| {
                let view = first.add(16 * i);
                let word = |at: usize| view.add(at).cast::<u32>().read_unaligned();
                let from = match word(0) {
                    0..=12 => view.add(4),
                    _ => buffer(array, 2 + i64::from(word(8))).cast::<u8>().add(word(12) as usize),
                };
                hasher.hash(bytes(from, word(0) as usize))
            })),
            Layout::Fixed(width) => hashes.extend(
                elements.map(|i| hasher.hash(bytes(first.wrapping_add(i * width), *width))),
            ),
            // Made of the others by the caller.
            Layout::Dictionary(..) | Layout::Table(_) => {}
        }
    }
}
