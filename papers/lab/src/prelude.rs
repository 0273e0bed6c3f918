//! What an experiment is made of and says its findings with.

pub(crate) use cuculus_page::{Axis, Claimant, Finding, Holds, Plot, Table, number, percent};

pub(crate) use crate::clock::{mops, nanoseconds, timed};
pub(crate) use crate::experiment::{Chance, Choice, Experiment, Outcome, Settings, Size, choices};
pub(crate) use crate::judge::{claim, falls, level, mean, points_above, range, table};
pub(crate) use crate::keys::{Workload, absent_key, absent_keys, keys, nth_key, rate_of_absent};
