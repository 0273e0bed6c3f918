//! Which snapshots may go. Knows times and rules; removing a snapshot frees nothing before a prune.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::error::{Error, Result};
use crate::id::Name;
use crate::repository::Repository;
use crate::snapshot::{self, Snapshot};
use crate::store::Kind;

/// How many snapshots are kept, counted from the newest, for each machine and set of paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The newest ones.
    pub last: usize,
    /// The newest of each day that has one.
    pub daily: usize,
    /// Of each week, from Monday on.
    pub weekly: usize,
    /// Of each month.
    pub monthly: usize,
}

/// The day, week or month of a snapshot.
type Period<'a> = &'a dyn Fn(&Snapshot) -> (i16, i16);

impl Keep {
    fn says_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Those to be kept of one machine's snapshots of the same paths, oldest first.
    fn chosen(&self, snapshots: &[&Snapshot], zone: &TimeZone) -> HashSet<Name> {
        let mut kept: HashSet<Name> =
            snapshots.iter().rev().take(self.last).map(|snapshot| snapshot.name).collect();
        // Dates in the zone of the one who asks: a day is a person's day.
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
pub struct Forgotten {
    /// Snapshots that are gone.
    pub forgotten: Vec<Snapshot>,
    /// Snapshots that stay.
    pub kept: Vec<Snapshot>,
}

impl Repository {
    /// Removes snapshots: those named, and those that no rule keeps if there is a rule.
    ///
    /// # Errors
    /// If neither names nor rules are given, or a name fits no snapshot or several; nothing is
    /// removed then.
    pub fn forget(&self, names: &[String], keep: &Keep, dry_run: bool) -> Result<Forgotten> {
        if names.is_empty() && keep.says_nothing() {
            return Err(Error::refused(
                "nothing to forget; name snapshots, or say what to keep, as in --keep-last 10",
            ));
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
            self.store.remove_all(Kind::Snapshot, &names, &|| Ok(()))?;
        }
        Ok(Forgotten { forgotten, kept })
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
