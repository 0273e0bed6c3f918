//! Who is at work in a repository. A writer says so before it reads the index, and takes it back
//! after its last write. Knows how to tell the living from the dead; nothing of what they do.
//!
//! There is no lock to be left behind: an intent of a process that is gone counts for nothing. On
//! the same machine the system tells (the same boot, the same process table, the process's number
//! and the time of its start); for another machine an intent counts as long as it is renewed.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::seal::Keys;
use crate::store::{Kind, Store};

/// How often an intent is renewed, and for how long an intent of another machine counts after that.
const BEAT: Duration = Duration::from_secs(60);
const PATIENCE: u64 = 24 * 60 * 60;

/// What a process is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Adds packs, runs and snapshots.
    Backup,
    /// Replaces runs and removes packs: one at a time.
    Maintenance,
}

struct Intent {
    work: Work,
    host: String,
    /// The boot and the process table that `process` belongs to.
    machine: String,
    process: u64,
    started: u64,
    beat: u64,
}

impl Intent {
    fn of_this_process(work: Work) -> Self {
        let process = u64::from(std::process::id());
        Self {
            work,
            host: host(),
            machine: machine(),
            process,
            started: start_of(process).unwrap_or_default(),
            beat: now(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.u8(match self.work {
            Work::Backup => 0,
            Work::Maintenance => 1,
        });
        writer.bytes(self.host.as_bytes());
        writer.bytes(self.machine.as_bytes());
        writer.varint(self.process);
        writer.varint(self.started);
        writer.varint(self.beat);
        writer.0
    }

    fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut reader = Reader(bytes);
        let work = match reader.u8()? {
            0 => Work::Backup,
            1 => Work::Maintenance,
            _ => return Err(Malformed),
        };
        let (host, machine) = (reader.text()?, reader.text()?);
        let (process, started) = (reader.varint()?, reader.varint()?);
        let beat = reader.varint()?;
        reader.end()?;
        Ok(Self { work, host, machine, process, started, beat })
    }

    /// Whether its owner may still change something, at this time of our clock. `lag` is for how
    /// long after its death that may be.
    ///
    /// The clock of another machine may go wrong. If it is ahead, its intents count for longer; if
    /// it is a day behind, it is taken for dead, and finds that out before it does harm.
    fn counts(&self, now: u64, lag: Duration) -> bool {
        if !self.is_of_this_machine() {
            return self.beat.saturating_add(PATIENCE) > now;
        }
        // It died after its last beat, and before the next.
        let settled = self.beat.saturating_add((BEAT + lag).as_secs());
        self.runs() || (!lag.is_zero() && settled > now)
    }

    fn is_of_this_machine(&self) -> bool {
        !self.machine.is_empty() && self.machine == machine()
    }

    /// Whether the process runs; only this machine's can be told.
    fn runs(&self) -> bool {
        start_of(self.process) == Some(self.started)
    }

    fn describe(&self) -> String {
        let who = format!("process {} on {}", self.process, self.host);
        if self.is_of_this_machine() && !self.runs() {
            return format!("{who} (it has ended, but what it sent may arrive for two minutes)");
        }
        who
    }
}

pub(crate) fn place(name: &Name) -> Vec<u8> {
    [b"intent".as_slice(), &name.0].concat()
}

/// An intent while it lasts; taken back when dropped.
pub(crate) struct Announced {
    name: Name,
    store: Arc<dyn Store>,
    done: Arc<AtomicBool>,
    heart: Option<JoinHandle<()>>,
}

impl Announced {
    pub(crate) fn new(store: &Arc<dyn Store>, keys: &Arc<Keys>, work: Work) -> Result<Self> {
        let name = Name::random()?;
        match write(&**store, keys, &name, work) {
            // Its draft was swept by a prune that could not know of us yet.
            Err(error) if error.is_missing() => write(&**store, keys, &name, work)?,
            outcome => outcome?,
        }
        let done = Arc::new(AtomicBool::new(false));
        let heart = thread::spawn({
            let (store, keys, done) = (Arc::clone(store), Arc::clone(keys), Arc::clone(&done));
            move || {
                while !done.load(Ordering::Acquire) {
                    thread::park_timeout(BEAT);
                    // One that was taken for dead and removed must stay so, for its owner to see.
                    let there = store.open(Kind::Intent, &name).is_ok();
                    if there && !done.load(Ordering::Acquire) {
                        // A missed beat is no harm, the next one comes.
                        let _ = write(&*store, &keys, &name, work);
                    }
                }
            }
        });
        Ok(Self { name, store: Arc::clone(store), done, heart: Some(heart) })
    }

    pub(crate) fn name(&self) -> Name {
        self.name
    }

    /// Whether nobody has taken us for dead. One who was must not rely on what it has seen.
    pub(crate) fn confirm(&self) -> Result<()> {
        match self.store.open(Kind::Intent, &self.name) {
            Ok(_) => Ok(()),
            Err(error) if error.is_missing() => Err(Error::refused(
                "another machine took this run for dead, it was silent for a day; run it again",
            )),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        if let Some(heart) = self.heart.take() {
            heart.thread().unpark();
            // The heart first: a beat after the removal would bring the intent back.
            let _ = heart.join();
        }
        // As long as something that we sent may still be done, we count as alive.
        if self.store.is_settled() {
            let _ = self.store.remove(Kind::Intent, &self.name);
        }
    }
}

fn write(store: &dyn Store, keys: &Keys, name: &Name, work: Work) -> Result<()> {
    let mut sealed = Vec::new();
    keys.seal.seal(&place(name), &Intent::of_this_process(work).encode(), &mut sealed)?;
    store.put(Kind::Intent, name, &sealed)
}

/// The intents of living processes, but for `own`. Those of dead ones are removed on the way.
pub(crate) fn living(
    store: &dyn Store,
    keys: &Keys,
    own: &Name,
) -> Result<Vec<(Name, Work, String)>> {
    let mut living = Vec::new();
    for (name, _) in store.list(Kind::Intent)? {
        if name == *own {
            continue;
        }
        let bytes = match store.get(Kind::Intent, &name) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing() => continue,
            Err(error) => return Err(error),
        };
        // One that cannot be read was not written by a writer of this repository that lives.
        let plain = keys.seal.open(&place(&name), bytes);
        match plain.and_then(|plain| Intent::decode(&plain)) {
            Ok(intent) if intent.counts(now(), store.lag()) => {
                living.push((name, intent.work, intent.describe()));
            }
            _ => store.remove(Kind::Intent, &name)?,
        }
    }
    Ok(living)
}

/// Announces maintenance, or says who is at it already. Of two that begin at once both may give
/// way, but never both go on: the later of the two announcements is made before its owner looks.
pub(crate) fn maintenance(store: &Arc<dyn Store>, keys: &Arc<Keys>) -> Result<Announced> {
    let own = Announced::new(store, keys, Work::Maintenance)?;
    let others = living(&**store, keys, &own.name)?;
    match others.iter().find(|(_, work, _)| *work == Work::Maintenance) {
        Some((_, _, who)) => Err(Error::refused(format!(
            "{who} is working on the index of this repository; try again when it is done"
        ))),
        None => Ok(own),
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    now_in_nanoseconds() / 1_000_000_000
}

pub(crate) fn now_in_nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

pub(crate) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Process numbers mean something within one boot and one table of processes only: containers
/// have tables of their own. Empty where the system does not tell; then beats decide.
fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let table = fs::read_link("/proc/self/ns/pid");
    match (boot, table) {
        (Ok(boot), Ok(table)) => format!("{} {}", boot.trim(), table.display()),
        _ => String::new(),
    }
}

/// When a process started, in ticks since boot; `None` if none of this number runs.
fn start_of(process: u64) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is a name in parentheses and may contain anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    // A zombie has ended; only its parent does not know yet.
    let runs = fields.next().is_some_and(|state| !matches!(state, "Z" | "X"));
    fields.nth(18).filter(|_| runs)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAG: Duration = Duration::from_secs(60);

    fn dead() -> Intent {
        // Every process has started later than at the beginning of time.
        Intent { started: 1, ..Intent::of_this_process(Work::Backup) }
    }

    #[test]
    fn the_living_count_however_long_they_are_silent() {
        let alive = Intent::of_this_process(Work::Backup);
        assert!(alive.counts(alive.beat + 10 * PATIENCE, Duration::ZERO));
        assert!(alive.counts(alive.beat + 10 * PATIENCE, LAG));
    }

    #[test]
    fn the_dead_count_as_long_as_what_they_sent_may_arrive() {
        let dead = dead();
        assert!(!dead.counts(dead.beat, Duration::ZERO));
        // It may have died just before its next beat.
        assert!(dead.counts(dead.beat + BEAT.as_secs() + LAG.as_secs() - 1, LAG));
        assert!(!dead.counts(dead.beat + BEAT.as_secs() + LAG.as_secs(), LAG));
        assert!(dead.describe().contains("has ended"));
    }

    #[test]
    fn another_machine_counts_for_a_day_whatever_its_clock() {
        for machine in ["elsewhere", ""] {
            let intent = Intent { machine: machine.into(), ..dead() };
            assert!(intent.counts(intent.beat + PATIENCE - 1, Duration::ZERO));
            assert!(!intent.counts(intent.beat + PATIENCE, LAG));
            // Its clock is ahead of ours.
            assert!(intent.counts(intent.beat - 1000, Duration::ZERO));
        }
    }
}
