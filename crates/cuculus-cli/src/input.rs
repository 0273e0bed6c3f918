//! Where keys come from and what they look like, as options of the commands, and how a command goes
//! through them.

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use cuculus::KeyHasher;

use crate::keys::{Block, Form, Inputs, Stream};
use crate::progress::Meter;

/// Lines as they are.
#[derive(Args)]
pub(crate) struct Lines {
    /// Files with a key a line; standard input if there are none, and for `-`
    #[arg(value_name = "KEYS")]
    files: Vec<PathBuf>,
    /// Keys end in zero bytes, as those of `find -print0`; so do keys that are printed
    #[arg(short = '0', long)]
    null: bool,
}

/// Lines that stand for keys.
#[derive(Args)]
pub(crate) struct Keys {
    #[command(flatten)]
    pub(crate) lines: Lines,
    /// Keys are bytes in hexadecimal
    #[arg(long, conflicts_with = "u64")]
    hex: bool,
    /// Keys are numbers below 2^64, the same keys as `u64` in the library
    #[arg(long)]
    u64: bool,
}

/// Lines that are on their way.
pub(crate) struct Source {
    stream: Stream,
    meter: Meter,
}

impl Lines {
    pub(crate) fn separator(&self) -> u8 {
        if self.null { 0 } else { b'\n' }
    }

    pub(crate) fn inputs(&self) -> Result<Inputs> {
        Inputs::new(&self.files)
    }

    /// Starts reading and hashing. `prints` if lines are printed meanwhile.
    pub(crate) fn source(&self, form: Form, hasher: &KeyHasher, prints: bool) -> Result<Source> {
        let inputs = self.inputs()?;
        let meter = Meter::new(inputs.size, prints);
        let stream = Stream::start(inputs, self.separator(), form, hasher.clone())?;
        Ok(Source { stream, meter })
    }
}

impl Keys {
    /// Starts reading and hashing. `prints` if keys are printed meanwhile.
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
    /// Works on one block after the other, until there are no more or the work is done.
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
