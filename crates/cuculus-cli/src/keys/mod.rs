//! Keys as they arrive: files or standard input, one key a line, read and hashed on a thread of
//! its own. Knows lines and hashes, nothing of filters.

mod block; // a piece of input, its lines and their hashes
mod form; // from a line to a hash
mod inputs; // which files, and how large they are
mod printer; // lines of a block, written in runs
mod reader; // blocks of input, without copying lines
mod stream; // the thread

pub(crate) use block::Block;
pub(crate) use form::Form;
pub(crate) use inputs::Inputs;
pub(crate) use printer::Printer;
pub(crate) use reader::Reader;
pub(crate) use stream::Stream;
