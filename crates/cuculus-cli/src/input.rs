//! The options that say where keys come from and what they look like, and the loop over the keys.
//! Knows nothing of filters.

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use cuculus::KeyHasher;

use crate::keys::{Block, Form, Inputs, Stream};
use crate::progress::Meter;

/// Lines as they are, without a key format.
#[derive(Args)]
pub(crate) struct Lines {
    /// Files with one key per line; standard input if none is given, and for `-`
    #[arg(value_name = "KEYS")]
    files: Vec<PathBuf>,
    /// Keys end in a zero byte, as from `find -print0`; printed keys do too
    #[arg(short = '0', long)]
    null: bool,
}

/// Lines as keys in one of several formats.
#[derive(Args)]
pub(crate) struct Keys {
    #[command(flatten)]
    pub(crate) lines: Lines,
    /// Keys are bytes in hexadecimal
    #[arg(long, conflicts_with = "u64")]
    hex: bool,
    /// Keys are numbers below 2^64; the same keys as `u64` in the library
    #[arg(long)]
    u64: bool,
}

/// Lines that are being read and hashed.
pub(crate) struct Source {
    stream: Stream,
    meter: Meter,
}

impl Lines {
    pub(crate) fn separator(&self) -> u8 {
        if self.null { 0 } else { b'\n' }
    }

    /// Starts reading and hashing. `prints`: whether the command prints lines meanwhile.
    pub(crate) fn source(&self, form: Form, hasher: &KeyHasher, prints: bool) -> Result<Source> {
        let inputs = Inputs::new(&self.files)?;
        let meter = Meter::new(inputs.size, prints);
        let stream = Stream::start(inputs, self.separator(), form, hasher.clone())?;
        Ok(Source { stream, meter })
    }
}

impl Keys {
    /// Starts reading and hashing. `prints`: whether the command prints keys meanwhile.
    pub(crate) fn source(&self, hasher: &KeyHasher, prints: bool) -> Result<Source> {
        let form = match (self.hex, self.u64) {
            (true, _) => Form::Hex,
            (_, true) => Form::U64,
            _ => Form::Text,
        };
        self.lines.source(form, hasher, prints)
    }
}

impl Source {
    /// Calls `work` with each block, until there are no more or it returns `Break`.
    pub(crate) fn each_block(
        mut self,
        mut work: impl FnMut(&Block) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        while let Some(block) = self.stream.next()? {
            if work(&block)?.is_break() {
                break;
            }
            self.meter.advance(block.size() as u64);
            self.stream.reuse(block);
        }
        Ok(())
    }
}
