//! What can be asked for on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What to measure.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of keys, separated by commas.
    ///
    /// The last of the defaults is there because the first two flatter tables that are a power
    /// of two.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000_000, 16_000_000, 1_300_000])]
    pub items: Vec<usize>,
    /// False positive rates to ask for, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [0.01, 0.001])]
    pub fpr: Vec<f64>,
    /// What keys are.
    #[arg(long, value_enum, default_value_t = KeyKind::U64)]
    pub keys: KeyKind,
    /// Rounds; the best of them counts.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Questions of each kind in a round; a million at least.
    #[arg(long, default_value_t = 4_000_000)]
    pub queries: usize,
    /// Only filters with one of these in their name, separated by commas.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// Also our filter with less usual parameters.
    #[arg(long)]
    pub all: bool,
    /// The seed of the keys.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Writes all numbers to this file too.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// What keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyKind {
    /// 64-bit integers.
    U64,
    /// Texts of 24 bytes.
    Str24,
}

impl Options {
    /// Whether a filter of this name is to be measured.
    pub(super) fn wants(&self, label: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| label.contains(part.as_str()))
    }
}
