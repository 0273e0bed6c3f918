//! One HTML page with plots, tables and findings, in a single file that needs no network. Knows
//! how things are drawn, nothing of filters or experiments.

#[cfg(feature = "browser")]
pub mod browser; // what a real browser says of a page
mod finding; // claims and verdicts
mod html; // the page around the plots
mod palette; // which colour
mod plot; // what is in a plot
mod svg; // a plot as SVG
pub mod table; // numbers in columns of plain text
mod ticks; // where an axis is labelled

pub use finding::{Claimant, Finding, Holds};
pub use html::{Page, Section};
pub use palette::Palette;
pub use plot::{Axis, Plot, Scale, Series, Shape};
pub use table::{Column, Table, number, percent};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
