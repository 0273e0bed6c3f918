//! `cuculus demo`: a set grows from nothing to millions of keys and back, and four filters follow
//! it. Knows the order of the steps; each step is a module.

mod clock; // processor time
mod contestants; // the filters that take part
mod follower; // one filter that follows the set
mod keys; // the set
mod page; // the results as a page
mod report; // the results as text and JSON
mod view; // the live table

use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use anyhow::Result;
use clap::Args;

use crate::count::{self, Count};
use follower::Follower;
use keys::{Course, Stop};
use report::Report;
use view::View;

/// The false positive rate that every filter promises.
const RATE: f64 = 0.01;
/// Lookups of absent keys at each stop, to measure the rate.
const PROBES: u64 = 50_000;

/// Options of the demo.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus demo                     3,000,000 keys, in less than a minute
  cuculus demo --keys 1M           a smaller set
  cuculus demo --out .             write the page to ./demo.html
  cuculus demo --json > demo.json  all numbers of the plots as JSON")]
pub(crate) struct Options {
    /// The number of keys when the set is largest
    #[arg(long, value_name = "N", default_value = "3M", value_parser = count::between(10_000, 50_000_000))]
    keys: Count,

    /// The directory for the page, demo.html; created if missing
    ///
    /// Without it the page goes to the directory for temporary files, under a unique name.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print all numbers as JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the demo; the results go to `out`.
///
/// # Errors
/// A filter that broke a promise, or a page or an output that cannot be written.
pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<()> {
    let place = page::Place::new(options.out.as_deref())?;
    let course = Course::new(options.keys.get());
    let entries = contestants::entries(course.most())?;
    if !options.json {
        report::heading(course.most(), out)?;
    }
    let started = Instant::now();
    let mut followers: Vec<Follower> =
        entries.into_iter().map(|entry| Follower::new(entry, course)).collect();
    let view = View::new(course, &followers);
    for stop in course.stops() {
        view.next(stop);
        go(&mut followers, stop, &view)?;
        view.reached(stop);
    }
    drop(view);
    let report = Report::new(course.most(), followers, started.elapsed());
    let page = place.write(&report.page().to_html())?;
    match options.json {
        true => report.write_json(&page, out),
        false => report.write_text(&page, out),
    }
}

/// Takes all filters to the next stop; the last one, the slowest, on a thread of its own.
fn go(followers: &mut [Follower], stop: Stop, view: &View) -> Result<()> {
    let (last, others) = match followers.split_last_mut() {
        Some(split) => split,
        None => return Ok(()),
    };
    let step = |row: usize, follower: &mut Follower| {
        let gone = follower.go(stop).map(drop);
        view.show(row, follower);
        gone
    };
    thread::scope(|scope| {
        let row = others.len();
        let beside = scope.spawn(move || step(row, last));
        let gone = others.iter_mut().enumerate().try_for_each(|(row, one)| step(row, one));
        let beside = beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        gone.and(beside)
    })
}

/// The error for a page that cannot be written.
fn cannot_write(place: &Path) -> String {
    format!(
        "cannot write a page to {}; choose another directory with --out",
        crate::keys::shown(place)
    )
}
