//! The laboratory at the command line: which experiments there are, one of them, or all of them on
//! a page. The experiments themselves are in the laboratory.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use cuculus_lab::figures::{self, Figure, Outcome, Settings, Size};
use cuculus_lab::flows::Trace;
use cuculus_lab::machine;
use cuculus_page::Page;

use crate::progress::Progress;

#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The experiments, one a line
    List,
    /// Run an experiment and print what it found
    Run(Run),
    /// Run all experiments and write a page with plots
    Report(Report),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus lab run cf-table3               Table 3 of the Cuckoo Filter paper, at a small size
  cuculus lab run cf-table3 --full        the same with 192 MB for each filter: half an hour
  cuculus lab run ccf-trace --csv FILE    filters that follow a trace of your own
  cuculus lab run dcf-times --json        all numbers, for programs")]
struct Run {
    /// The name of an experiment, as `cuculus lab list` has it
    name: String,
    #[command(flatten)]
    how: How,
    /// A trace of real flows for ccf-trace, as lines of source,destination,start,end in seconds
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print all numbers as JSON instead
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus lab report --out report                       all experiments, in minutes
  cuculus lab report --out report --only systems,peers  some of them")]
struct Report {
    /// The directory to write report.html and report.json to; made if it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    how: How,
    /// Only these experiments
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
}

#[derive(Args, Clone, Copy)]
struct How {
    /// As large as in the papers: minutes to hours instead of seconds
    #[arg(long)]
    full: bool,
    /// The seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl How {
    fn size(self) -> Size {
        if self.full { Size::Paper } else { Size::Quick }
    }

    /// The command that runs an experiment in this way.
    fn command(self, name: &str) -> String {
        let full = if self.full { " --full" } else { "" };
        let seed = if self.seed == 1 { String::new() } else { format!(" --seed {}", self.seed) };
        format!("cuculus lab run {name}{full}{seed}")
    }

    fn run(self, figure: &Figure, progress: &Progress) -> anyhow::Result<Outcome> {
        self.run_with(figure, progress, figure.run)
    }

    fn run_with(
        self,
        figure: &Figure,
        progress: &Progress,
        run: impl FnOnce(&Settings<'_>) -> anyhow::Result<Outcome>,
    ) -> anyhow::Result<Outcome> {
        let told = |part: &str| progress.part(format!("{}: {part}", figure.name));
        told(figure.title);
        let settings = Settings { size: self.size(), seed: self.seed, progress: &told };
        run(&settings).with_context(|| format!("{} failed", figure.name))
    }
}

pub(crate) fn run(options: &Options, out: &mut impl Write) -> anyhow::Result<()> {
    match &options.command {
        Command::List => list(out),
        Command::Run(options) => run_one(options, out),
        Command::Report(options) => report(options, out),
    }
}

fn list(out: &mut impl Write) -> anyhow::Result<()> {
    let width = figures::ALL.iter().map(|figure| figure.name.len()).max().unwrap_or(0);
    for figure in figures::ALL {
        writeln!(out, "{:width$}  {}", figure.name, figure.question)?;
    }
    Ok(())
}

fn named(name: &str) -> anyhow::Result<&'static Figure> {
    match Figure::named(name) {
        Some(figure) => Ok(figure),
        None => bail!("there is no experiment {name:?}; `cuculus lab list` has all"),
    }
}

fn run_one(options: &Run, out: &mut impl Write) -> anyhow::Result<()> {
    let figure = named(&options.name)?;
    let outcome = match &options.csv {
        None => options.how.run(figure, &Progress::new(1))?,
        Some(path) => {
            ensure!(figure.name == "ccf-trace", "only ccf-trace takes --csv");
            let trace = Trace::from_csv(path)?;
            let run = |settings: &Settings<'_>| figures::of_trace(&trace, settings);
            options.how.run_with(figure, &Progress::new(1), run)?
        }
    };
    if options.json {
        writeln!(out, "{:#}", outcome.to_json())?;
        return Ok(());
    }
    writeln!(out, "{}\n", figure.question)?;
    for (title, table) in &outcome.tables {
        writeln!(out, "{title}\n{table}")?;
    }
    for finding in &outcome.findings {
        writeln!(
            out,
            "{}: {}\n  measured: {}",
            finding.holds.word(),
            finding.claim,
            finding.measured
        )?;
        if !finding.reason.is_empty() {
            writeln!(out, "  {}", finding.reason)?;
        }
    }
    for note in &outcome.notes {
        writeln!(out, "\n{note}")?;
    }
    Ok(())
}

fn report(options: &Report, out: &mut impl Write) -> anyhow::Result<()> {
    let figures: Vec<&Figure> = match options.only.as_slice() {
        [] => figures::ALL.iter().collect(),
        names => names.iter().map(|name| named(name)).collect::<anyhow::Result<_>>()?,
    };
    // Before the experiments, so that a place that cannot be written to costs no time.
    let (page_path, numbers_path) =
        (options.out.join("report.html"), options.out.join("report.json"));
    fs::create_dir_all(&options.out).and_then(|()| fs::write(&page_path, "")).with_context(
        || format!("cannot write to {}; give another --out", options.out.display()),
    )?;
    let started = Instant::now();
    let progress = Progress::new(figures.len() as u64);
    let mut page = Page {
        title: "Cuckoo filters: the papers' figures, reproduced and judged".to_owned(),
        introduction: "Every figure and table of the Cuckoo Filter, Dynamic Cuckoo Filter and \
                       Consistent Cuckoo Filter papers: what is claimed, what was measured here, \
                       and whether it holds."
            .to_owned(),
        ..Page::default()
    };
    let mut numbers = serde_json::Map::new();
    for figure in figures {
        let outcome = options.how.run(figure, &progress)?;
        numbers.insert(figure.name.to_owned(), outcome.to_json());
        page.sections.push(figure.section(outcome, options.how.command(figure.name)));
        progress.advance(1);
    }
    drop(progress);
    let size = if options.how.full { "as in the papers" } else { "quick" };
    page.facts = vec![
        ("processor".to_owned(), machine::processor()),
        ("size".to_owned(), size.to_owned()),
        ("seed".to_owned(), options.how.seed.to_string()),
        ("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("time taken".to_owned(), format!("{:.0} s", started.elapsed().as_secs_f64())),
    ];
    let written = fs::write(&page_path, page.to_html()).and_then(|()| {
        fs::write(&numbers_path, format!("{:#}\n", serde_json::Value::Object(numbers)))
    });
    written.with_context(|| format!("cannot write to {}", options.out.display()))?;
    writeln!(out, "{}", page_path.display())?;
    Ok(())
}
