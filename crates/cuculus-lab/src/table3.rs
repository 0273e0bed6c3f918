//! Table 3 of the Cuckoo Filter paper at any scale; see [`figures`](crate::figures).

use clap::Args;

use crate::figures::cf_table3::{PAPER_LOG2_BUCKETS, Scale, table3};
use crate::figures::{Settings, Size};

/// How large.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The paper's size: 2^25 buckets, 192 MB a filter.
    #[arg(long)]
    pub full: bool,
    /// Two to this power times fewer buckets than the paper.
    #[arg(long, default_value_t = 5, conflicts_with = "full", value_parser = clap::value_parser!(u32).range(0..=15))]
    pub scale: u32,
    /// The seed of the keys.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Enough that chance moves a rate of 0.19 % by less than a hundredth of it.
const QUESTIONS: u64 = 1 << 24;

/// Fills the filters and prints the paper's figures beside ours.
///
/// # Errors
/// If there is not enough memory.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let scale = if options.full { 0 } else { options.scale };
    let progress = |part: &str| eprintln!("{part}");
    let settings = Settings { size: Size::Quick, seed: options.seed, progress: &progress };
    let scale = Scale { log2_buckets: PAPER_LOG2_BUCKETS - scale, rounds: 1, questions: QUESTIONS };
    let outcome = table3(&scale, &settings)?;
    for (title, table) in &outcome.tables {
        println!("{title}\n{table}");
    }
    for finding in &outcome.findings {
        println!("{}: {}\n  {}", finding.holds.word(), finding.claim, finding.measured);
    }
    Ok(())
}
