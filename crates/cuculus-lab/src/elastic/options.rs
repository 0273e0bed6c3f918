//! What can be asked for on the command line.

use std::path::PathBuf;

use clap::Args;

/// How far to grow.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The most keys.
    #[arg(long, default_value_t = 16_000_000)]
    pub keys: usize,
    /// False positive rates to ask for, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [0.01, 0.001])]
    pub rates: Vec<f64>,
    /// Absent keys asked for at every size.
    #[arg(long, default_value_t = 4_000_000)]
    pub probes: usize,
    /// The seed of the keys and of the filter.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Writes all numbers to this file too.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Only this rate, in this process, with the numbers to the standard output.
    #[arg(long, hide = true)]
    pub alone: Option<f64>,
    /// With the number of keys declared, when alone.
    #[arg(long, hide = true)]
    pub declared: bool,
}
