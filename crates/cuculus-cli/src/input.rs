//! The options that say where keys come from and what they look like, and the loop over the keys.
//! Knows nothing of filters.

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;
use cuculus::KeyHasher;

use crate::interrupt;
use crate::keys::{
    Block, Encoding, Fields, Form, Inputs, Keyless, Part, Pointer, Reader, Stream, error_in_line,
};
use crate::progress::Meter;

/// Lines, without a key format.
#[derive(Args)]
pub(crate) struct Lines {
    /// Files with one key per line, plain or compressed with gzip or zstd; standard input if none is
    /// given, and for `-`
    #[arg(value_name = "KEYS")]
    files: Vec<PathBuf>,
    /// Keys end in a zero byte, as from `find -print0`; printed keys do too
    #[arg(short = '0', long)]
    null: bool,
}

/// Lines as keys in one of several encodings.
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

/// Which part of a line is compared.
#[derive(Args)]
pub(crate) struct Compared {
    /// Compare only these fields, as `cut -f`: 2, or 1,3, or 2-4. A line without a delimiter is
    /// compared as a whole
    #[arg(short, long, value_name = "FIELDS", conflicts_with = "json_key")]
    key: Option<Fields>,
    /// The character between fields
    #[arg(
        short = 't',
        long,
        value_name = "CHARACTER",
        default_value = "\t",
        hide_default_value = true
    )]
    #[arg(requires = "key", value_parser = one_character)]
    #[arg(help = "The character between fields; a tab if not given")]
    delimiter: char,
    /// Lines are JSON documents: compare only the value at this pointer, such as /id. A document
    /// without such a value is never a repetition
    #[arg(short, long, value_name = "POINTER")]
    json_key: Option<Pointer>,
    /// Compare without regard to upper and lower case
    #[arg(short, long)]
    ignore_case: bool,
}

fn one_character(text: &str) -> Result<char, &'static str> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) => Ok(only),
        _ => Err("expected one character, such as , or ; (a tab if not given)"),
    }
}

impl Compared {
    pub(crate) fn form(&self) -> Form {
        let part = match (&self.key, &self.json_key) {
            (Some(fields), _) => Part::Fields { fields: fields.clone(), delimiter: self.delimiter },
            (_, Some(pointer)) => Part::Json(pointer.clone()),
            _ => Part::Line,
        };
        Form { part, ignore_case: self.ignore_case, encoding: Encoding::Text }
    }
}

/// Lines that are being read and hashed.
pub(crate) struct Source {
    stream: Stream<()>,
    meter: Meter,
}

impl Lines {
    pub(crate) fn separator(&self) -> u8 {
        if self.null { 0 } else { b'\n' }
    }

    /// Starts reading and hashing. `prints`: whether the command prints lines meanwhile.
    pub(crate) fn source(
        &self,
        form: Form,
        keyless: Keyless,
        hasher: &KeyHasher,
        prints: bool,
    ) -> Result<Source> {
        let inputs = Inputs::new(&self.files)?;
        let meter = Meter::new(inputs.size, prints);
        let hasher = hasher.clone();
        let hash = move |block: &mut Block, _: &mut ()| {
            form.hash(&hasher, keyless, block).map_err(|error| error_in_line(block, &error))
        };
        let stream = Stream::start(Reader::new(inputs, self.separator()), 1, hash)?;
        Ok(Source { stream, meter })
    }
}

impl Keys {
    /// How keys are written.
    pub(crate) fn encoding(&self) -> Encoding {
        match (self.hex, self.u64) {
            (true, _) => Encoding::Hex,
            (_, true) => Encoding::U64,
            _ => Encoding::Text,
        }
    }

    /// Starts reading and hashing. `prints`: whether the command prints keys meanwhile.
    pub(crate) fn source(&self, form: Form, hasher: &KeyHasher, prints: bool) -> Result<Source> {
        let source = self.lines.source(form, Keyless::Refuse, hasher, prints);
        source.map_err(|error| match error.root_cause().downcast_ref::<io::Error>() {
            Some(cause) if cause.kind() == io::ErrorKind::NotFound => {
                anyhow!("{error:#}; keys are in files or come by a pipe: echo KEY | cuculus …")
            }
            _ => error,
        })
    }
}

impl Source {
    /// When the program is interrupted, the input ends.
    pub(crate) fn ends_when_interrupted(&self) {
        interrupt::ends_in_order(self.stream.stopper());
    }

    /// Calls `work` with each block, until there are no more or it returns `Break`.
    pub(crate) fn each_block(
        mut self,
        mut work: impl FnMut(&Block) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        while let Some((block, ())) = self.stream.next()? {
            if work(&block)?.is_break() || interrupt::is_requested() {
                break;
            }
            self.meter.advance(block.size() as u64);
            self.stream.reuse((block, ()));
        }
        Ok(())
    }
}
