//! Reading keys: files or standard input, one key per line, read and hashed on a separate thread.
//! Knows lines and hashes, nothing of filters.

mod block; // a block of lines and their hashes
mod form; // key formats: from a line to a hash
mod inputs; // the files and their size
mod printer; // prints lines of a block
mod reader; // reads blocks without copying lines
mod stream; // the reading thread

pub(crate) use block::Block;
pub(crate) use form::Form;
pub(crate) use inputs::Inputs;
pub(crate) use printer::Printer;
pub(crate) use reader::Reader;
pub(crate) use stream::Stream;
