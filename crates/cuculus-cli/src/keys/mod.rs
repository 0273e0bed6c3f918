//! Reading keys: files or standard input, one key per line, read and hashed on threads of their own.
//! Knows lines and hashes, nothing of filters.

mod block; // a block of lines and their hashes
mod form; // key formats: from a line to a hash
mod inputs; // the files and their size
mod json; // a value in a JSON document
mod packed; // compressed input
mod part; // the part of a line that is its key
mod printer; // prints lines of a block
mod reader; // reads blocks without copying lines
mod stream; // the threads that read and hash

pub(crate) use block::Block;
pub(crate) use cuculus_file::shown;
pub(crate) use form::{Encoding, Form, Keyless, Unreadable};
pub(crate) use inputs::{Inputs, packing_of};
pub(crate) use json::Pointer;
pub(crate) use packed::Packing;
pub(crate) use part::{Fields, Part};
pub(crate) use printer::Printer;
pub(crate) use reader::Reader;
pub(crate) use stream::{Batch, Stream, error_in_line};
