//! Which snapshots to remove. Knows times and rules; no space is freed before a prune.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::error::{Error, Result};
use crate::id::Name;
use crate::repository::Repository;
use crate::snapshot::{self, Snapshot};
use crate::store::ObjectKind;

/// How many snapshots to keep, counted from the newest, for each host and set of paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The newest snapshots.
    pub last: usize,
    /// The newest snapshot of each day that has one.
    pub daily: usize,
    /// The newest snapshot of each week that has one; weeks begin on Monday.
    pub weekly: usize,
    /// The newest snapshot of each month that has one.
    pub monthly: usize,
}

/// The day, week or month of a snapshot.
type Period<'a> = &'a dyn Fn(&Snapshot) -> (i16, i16);

impl Keep {
    fn says_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Which snapshots to keep, of one host and one set of paths, oldest first.
    fn chosen(&self, snapshots: &[&Snapshot], zone: &TimeZone) -> HashSet<Name> {
        let mut kept: HashSet<Name> =
            snapshots.iter().rev().take(self.last).map(|snapshot| snapshot.name).collect();
        // Dates in the local time zone, as the user sees them.
        let date = |snapshot: &Snapshot| {
            let time = Timestamp::from_nanosecond(snapshot.time.into()).unwrap_or(Timestamp::MAX);
            time.to_zoned(zone.clone()).date()
        };
        let rules: [(usize, Period<'_>); 3] = [
            (self.daily, &|snapshot| (date(snapshot).year(), date(snapshot).day_of_year())),
            (self.weekly, &|snapshot| {
                let week = date(snapshot).iso_week_date();
                (week.year(), week.week().into())
            }),
            (self.monthly, &|snapshot| (date(snapshot).year(), date(snapshot).month().into())),
        ];
        for (count, period) in rules {
            let mut periods = HashSet::new();
            for snapshot in snapshots.iter().rev() {
                if periods.len() < count && periods.insert(period(snapshot)) {
                    kept.insert(snapshot.name);
                }
            }
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
    /// Removes the named snapshots, and, if there is a rule, those that no rule keeps.
    ///
    /// # Errors
    /// If neither names nor rules are given, or a name matches no snapshot or several; nothing is
    /// removed then.
    pub fn forget(&self, names: &[String], keep: &Keep, dry_run: bool) -> Result<ForgetReport> {
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
            for snapshot in &snapshots {
                let group = groups.entry((&snapshot.host, &snapshot.paths)).or_default();
                group.push(snapshot);
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
            self.store.remove_all(ObjectKind::Snapshot, &names, &|| Ok(()))?;
        }
        Ok(ForgetReport { forgotten, kept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::DirRef;

    const DAY: u64 = 86_400_000_000_000;

    fn snapshot(number: u8, time: u64) -> Snapshot {
        Snapshot {
            name: Name([number; Name::LEN]),
            time,
            host: "h".into(),
            paths: vec![],
            tags: vec![],
            files: 0,
            bytes: 0,
            unreadable: 0,
            root: DirRef::default(),
        }
    }

    /// Two a day for 60 days, from Thursday, 1 January 1970 on.
    fn kept(keep: Keep) -> Vec<u8> {
        let all: Vec<Snapshot> =
            (0..120).map(|i| snapshot(i, u64::from(i) * DAY / 2 + 1)).collect();
        let all: Vec<&Snapshot> = all.iter().collect();
        let mut kept: Vec<u8> =
            keep.chosen(&all, &TimeZone::UTC).iter().map(|name| name.0[0]).collect();
        kept.sort_unstable();
        kept
    }

    #[test]
    fn the_newest_of_each_period_is_kept() {
        assert_eq!(kept(Keep { last: 3, ..Keep::default() }), [117, 118, 119]);
        assert_eq!(kept(Keep { daily: 3, ..Keep::default() }), [115, 117, 119]);
        // Sundays: days 59 (the last, a Sunday), 52, 45.
        assert_eq!(kept(Keep { weekly: 3, ..Keep::default() }), [91, 105, 119]);
        // 31 January is day 30, 28 February day 58; day 59 is 1 March.
        assert_eq!(kept(Keep { monthly: 9, ..Keep::default() }), [61, 117, 119]);
        let both = Keep { last: 1, daily: 2, ..Keep::default() };
        assert_eq!(kept(both), [117, 119]);
    }
}
