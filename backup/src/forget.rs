//! Which snapshots to remove. Knows times and rules; no space is freed before a prune.

use std::collections::{BTreeMap, HashSet};

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

use crate::error::{Error, Result};
use crate::id::Name;
use crate::repository::Repository;
use crate::snapshot::{self, Snapshot, SnapshotFilter};

/// Which snapshots to keep, counted from the newest, in each group.
#[derive(Clone, Debug, Default)]
pub struct Keep {
    /// The newest snapshots.
    pub last: usize,
    /// The newest snapshot of each hour that has one.
    pub hourly: usize,
    /// The newest snapshot of each day that has one.
    pub daily: usize,
    /// The newest snapshot of each week that has one; weeks begin on Monday.
    pub weekly: usize,
    /// The newest snapshot of each month that has one.
    pub monthly: usize,
    /// The newest snapshot of each year that has one.
    pub yearly: usize,
    /// All snapshots that are at most this old, compared with the newest of the group.
    pub within: Option<Span>,
    /// All snapshots with one of these tags.
    pub tags: Vec<String>,
}

/// What snapshots must have in common to be counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupBy {
    /// The host.
    pub host: bool,
    /// The paths.
    pub paths: bool,
    /// The tags.
    pub tags: bool,
}

impl Default for GroupBy {
    fn default() -> Self {
        Self { host: true, paths: true, tags: false }
    }
}

type Period<'a> = &'a dyn Fn(&Zoned) -> (i16, i16, i8);

impl Keep {
    fn says_nothing(&self) -> bool {
        let Self { last, hourly, daily, weekly, monthly, yearly, within, tags } = self;
        let counts = [last, hourly, daily, weekly, monthly, yearly];
        counts.iter().all(|count| **count == 0) && within.is_none() && tags.is_empty()
    }

    /// Which snapshots of one group to keep, oldest first.
    fn chosen(&self, snapshots: &[&Snapshot], zone: &TimeZone) -> HashSet<Name> {
        let mut kept: HashSet<Name> =
            snapshots.iter().rev().take(self.last).map(|snapshot| snapshot.name).collect();
        let has_tag = |snapshot: &&&Snapshot| self.tags.iter().any(|t| snapshot.tags.contains(t));
        kept.extend(snapshots.iter().filter(has_tag).map(|snapshot| snapshot.name));
        // Dates in the local time zone, as the user sees them.
        let time = |snapshot: &Snapshot| {
            let time = Timestamp::from_nanosecond(snapshot.time.into()).unwrap_or(Timestamp::MAX);
            time.to_zoned(zone.clone())
        };
        let rules: [(usize, Period<'_>); 5] = [
            (self.hourly, &|time| (time.year(), time.day_of_year(), time.hour())),
            (self.daily, &|time| (time.year(), time.day_of_year(), 0)),
            (self.weekly, &|time| {
                let week = time.date().iso_week_date();
                (week.year(), week.week().into(), 0)
            }),
            (self.monthly, &|time| (time.year(), time.month().into(), 0)),
            (self.yearly, &|time| (time.year(), 0, 0)),
        ];
        for (count, period) in rules {
            let mut periods = HashSet::new();
            for snapshot in snapshots.iter().rev() {
                if periods.len() < count && periods.insert(period(&time(snapshot))) {
                    kept.insert(snapshot.name);
                }
            }
        }
        if let (Some(span), Some(newest)) = (self.within, snapshots.last()) {
            // A span that leads before the beginning of time keeps everything.
            let begin = time(newest).checked_sub(span).ok();
            let recent =
                |snapshot: &&&Snapshot| begin.as_ref().is_none_or(|begin| time(snapshot) >= *begin);
            kept.extend(snapshots.iter().filter(recent).map(|snapshot| snapshot.name));
        }
        kept
    }
}

/// What `forget` did, or would do.
#[derive(Clone, Debug, Default)]
pub struct ForgetReport {
    /// Removed snapshots.
    pub forgotten: Vec<Snapshot>,
    /// Remaining snapshots.
    pub kept: Vec<Snapshot>,
}

impl Repository {
    /// Removes the named snapshots, and, if there is a rule, those that the filter chooses and no
    /// rule keeps.
    ///
    /// # Errors
    /// If neither names nor rules are given, or a name matches no snapshot or several; nothing is
    /// removed then.
    pub fn forget(
        &self,
        names: &[String],
        keep: &Keep,
        filter: &SnapshotFilter,
        group_by: GroupBy,
        dry_run: bool,
    ) -> Result<ForgetReport> {
        if names.is_empty() && keep.says_nothing() {
            return Err(Error::NothingToForget);
        }
        let snapshots = self.snapshots()?;
        let mut going = HashSet::new();
        for name in names {
            going.insert(snapshot::choose(&snapshots, name)?.name);
        }
        if !keep.says_nothing() {
            let mut groups: BTreeMap<_, Vec<&Snapshot>> = BTreeMap::new();
            for snapshot in snapshots.iter().filter(|snapshot| filter.matches(snapshot)) {
                let key = (
                    group_by.host.then_some(&snapshot.host),
                    group_by.paths.then_some(&snapshot.paths),
                    group_by.tags.then_some(&snapshot.tags),
                );
                groups.entry(key).or_default().push(snapshot);
            }
            let zone = TimeZone::system();
            for group in groups.values() {
                let kept = keep.chosen(group, &zone);
                going.extend(group.iter().map(|s| s.name).filter(|name| !kept.contains(name)));
            }
        }
        let (forgotten, kept): (Vec<_>, Vec<_>) =
            snapshots.into_iter().partition(|snapshot| going.contains(&snapshot.name));
        if !dry_run {
            let names: Vec<Name> = forgotten.iter().map(|snapshot| snapshot.name).collect();
            self.remove_snapshots(&names)?;
        }
        Ok(ForgetReport { forgotten, kept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000_000_000;

    /// Two a day for 60 days, from Thursday, 1 January 1970 on.
    fn kept(keep: &Keep) -> Vec<u8> {
        let snapshot = |i: u8| {
            let (name, time) = (Name([i; Name::LEN]), u64::from(i) * DAY / 2 + 1);
            Snapshot::sample(name, time, vec![format!("t{i}")])
        };
        let all: Vec<Snapshot> = (0..120).map(snapshot).collect();
        let all: Vec<&Snapshot> = all.iter().collect();
        let mut kept: Vec<u8> =
            keep.chosen(&all, &TimeZone::UTC).iter().map(|name| name.0[0]).collect();
        kept.sort_unstable();
        kept
    }

    #[test]
    fn the_newest_of_each_period_is_kept() {
        assert_eq!(kept(&Keep { last: 3, ..Keep::default() }), [117, 118, 119]);
        assert_eq!(kept(&Keep { daily: 3, ..Keep::default() }), [115, 117, 119]);
        // Sundays: days 59 (the last, a Sunday), 52, 45.
        assert_eq!(kept(&Keep { weekly: 3, ..Keep::default() }), [91, 105, 119]);
        // 31 January is day 30, 28 February day 58; day 59 is 1 March.
        assert_eq!(kept(&Keep { monthly: 9, ..Keep::default() }), [61, 117, 119]);
        let both = Keep { last: 1, daily: 2, ..Keep::default() };
        assert_eq!(kept(&both), [117, 119]);
        assert_eq!(kept(&Keep { hourly: 2, ..Keep::default() }), [118, 119]);
        assert_eq!(kept(&Keep { yearly: 2, ..Keep::default() }), [119]);
        let days = |days: i32| Keep { within: Some(Span::new().days(days)), ..Keep::default() };
        assert_eq!(kept(&days(1)), [117, 118, 119]);
        assert_eq!(kept(&days(19_000)).len(), 120);
        assert_eq!(kept(&Keep { tags: vec!["t7".into()], ..Keep::default() }), [7]);
    }
}
