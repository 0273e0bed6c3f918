//! A page to look at: plots, tables and findings in one file that needs nothing else. Knows how
//! things are drawn, nothing of filters or experiments.

mod html;
mod plot;
mod svg;
mod ticks;

pub use html::{Finding, Holds, Page, Section};
pub use plot::{Axis, Mark, Plot, Scale, Series, Shape};
