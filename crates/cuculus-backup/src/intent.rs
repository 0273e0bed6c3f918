//! Which processes are at work in a repository. A writer creates an intent before it reads the
//! index, and removes it after its last write. Knows how to tell live from dead processes; nothing
//! of what they do.
//!
//! There is no lock that can be left behind: the intent of a dead process does not count. On the
//! same machine the operating system says whether it runs (same boot, same process namespace,
//! process id and start time); the intent of another machine counts while it is renewed.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::seal::Keys;
use crate::store::{ObjectKind, Store};

/// How often an intent is renewed, and for how many seconds after that an intent of another machine
/// counts.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(60);
const REMOTE_TIMEOUT_SECONDS: u64 = 24 * 60 * 60;

/// What a process is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Adds packs, runs and snapshots.
    Backup,
    /// Replaces runs and removes packs; only one process at a time.
    Maintenance,
}

struct Intent {
    work: Work,
    host: String,
    /// The boot and the process namespace that `process` belongs to.
    machine: String,
    process: u64,
    started: u64,
    heartbeat: u64,
}

impl Intent {
    fn of_this_process(work: Work) -> Self {
        let process = u64::from(std::process::id());
        Self {
            work,
            host: host(),
            machine: machine(),
            process,
            started: start_time_of(process).unwrap_or_default(),
            heartbeat: now(),
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
        writer.varint(self.heartbeat);
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
        let heartbeat = reader.varint()?;
        reader.end()?;
        Ok(Self { work, host, machine, process, started, heartbeat })
    }

    /// Whether its process may still change something at the time `now`. `late_writes` is how long
    /// after the death of a process its last writes may take effect.
    ///
    /// The clock of another machine may be wrong. If it is ahead, its intents count for longer; if
    /// it is a day behind, it is declared dead, and notices that before it does harm.
    fn may_still_write(&self, now: u64, late_writes: Duration) -> bool {
        if !self.is_of_this_machine() {
            return self.heartbeat.saturating_add(REMOTE_TIMEOUT_SECONDS) > now;
        }
        // It died after its last heartbeat and before the next.
        let settled = self.heartbeat.saturating_add((HEARTBEAT_INTERVAL + late_writes).as_secs());
        self.is_running() || (!late_writes.is_zero() && settled > now)
    }

    fn is_of_this_machine(&self) -> bool {
        !self.machine.is_empty() && self.machine == machine()
    }

    /// Whether the process runs; only known for processes of this machine.
    fn is_running(&self) -> bool {
        start_time_of(self.process) == Some(self.started)
    }

    fn describe(&self) -> String {
        let who = format!("process {} on {}", self.process, self.host);
        if self.is_of_this_machine() && !self.is_running() {
            return format!(
                "{who} (it has ended, but its last writes may take effect for two minutes)"
            );
        }
        who
    }
}

pub(crate) fn place(name: &Name) -> Vec<u8> {
    [b"intent".as_slice(), &name.0].concat()
}

/// An intent that exists as long as this value.
pub(crate) struct Announcement {
    name: Name,
    store: Arc<dyn Store>,
    done: Arc<AtomicBool>,
    heartbeat_thread: Option<JoinHandle<()>>,
}

impl Announcement {
    pub(crate) fn new(store: &Arc<dyn Store>, keys: &Arc<Keys>, work: Work) -> Result<Self> {
        let name = Name::random()?;
        match write(&**store, keys, &name, work) {
            // A prune that did not know of this process yet removed the draft.
            Err(error) if error.is_missing() => write(&**store, keys, &name, work)?,
            outcome => outcome?,
        }
        let done = Arc::new(AtomicBool::new(false));
        let heartbeat_thread = thread::spawn({
            let (store, keys, done) = (Arc::clone(store), Arc::clone(keys), Arc::clone(&done));
            move || {
                while !done.load(Ordering::Acquire) {
                    thread::park_timeout(HEARTBEAT_INTERVAL);
                    // An intent that was removed because we were declared dead must stay removed,
                    // so that its owner notices.
                    let there = store.open(ObjectKind::Intent, &name).is_ok();
                    if there && !done.load(Ordering::Acquire) {
                        // One failed renewal does no harm; the next follows.
                        let _ = write(&*store, &keys, &name, work);
                    }
                }
            }
        });
        Ok(Self { name, store: Arc::clone(store), done, heartbeat_thread: Some(heartbeat_thread) })
    }

    pub(crate) fn name(&self) -> Name {
        self.name
    }

    /// Fails if another machine has declared this process dead: then nothing that it read can be
    /// relied on.
    pub(crate) fn confirm(&self) -> Result<()> {
        match self.store.open(ObjectKind::Intent, &self.name) {
            Ok(_) => Ok(()),
            Err(error) if error.is_missing() => Err(Error::DeclaredDead),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        if let Some(heartbeat_thread) = self.heartbeat_thread.take() {
            heartbeat_thread.thread().unpark();
            // The thread first: a renewal after the removal would bring the intent back.
            let _ = heartbeat_thread.join();
        }
        // While a write that we sent may still take effect, we count as alive.
        if self.store.is_settled() {
            let _ = self.store.remove(ObjectKind::Intent, &self.name);
        }
    }
}

fn write(store: &dyn Store, keys: &Keys, name: &Name, work: Work) -> Result<()> {
    let mut sealed = Vec::new();
    keys.seal.seal(&place(name), &Intent::of_this_process(work).encode(), &mut sealed)?;
    store.put(ObjectKind::Intent, name, &sealed)
}

/// The intents of live processes, except `own`. Those of dead processes are removed.
pub(crate) fn live_writers(
    store: &dyn Store,
    keys: &Keys,
    own: &Name,
) -> Result<Vec<(Name, Work, String)>> {
    let mut live_writers = Vec::new();
    for (name, _) in store.list(ObjectKind::Intent)? {
        if name == *own {
            continue;
        }
        let bytes = match store.get(ObjectKind::Intent, &name) {
            Ok(bytes) => bytes,
            Err(error) if error.is_missing() => continue,
            Err(error) => return Err(error),
        };
        // No live writer of this repository writes an intent that cannot be read.
        let plain = keys.seal.open(&place(&name), bytes);
        match plain.and_then(|plain| Intent::decode(&plain)) {
            Ok(intent) if intent.may_still_write(now(), store.late_writes()) => {
                live_writers.push((name, intent.work, intent.describe()));
            }
            _ => store.remove(ObjectKind::Intent, &name)?,
        }
    }
    Ok(live_writers)
}

/// Announces maintenance, or names the process that is doing some already. If two begin at once,
/// both may fail, but at most one goes on: each announces itself before it looks for others.
pub(crate) fn maintenance(store: &Arc<dyn Store>, keys: &Arc<Keys>) -> Result<Announcement> {
    let own = Announcement::new(store, keys, Work::Maintenance)?;
    let others = live_writers(&**store, keys, &own.name)?;
    match others.iter().find(|(_, work, _)| *work == Work::Maintenance) {
        Some((_, _, who)) => Err(Error::Busy { by: who.clone() }),
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

/// Process ids are unique within one boot and one process namespace; containers have their own.
/// Empty if the system does not say; then heartbeats decide.
fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let table = fs::read_link("/proc/self/ns/pid");
    match (boot, table) {
        (Ok(boot), Ok(table)) => format!("{} {}", boot.trim(), table.display()),
        _ => String::new(),
    }
}

/// When a process started, in ticks since boot; `None` if there is no such process.
fn start_time_of(process: u64) -> Option<u64> {
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

    const LATE_WRITES: Duration = Duration::from_secs(60);

    fn dead() -> Intent {
        // Every process started later than this.
        Intent { started: 1, ..Intent::of_this_process(Work::Backup) }
    }

    #[test]
    fn live_processes_count_however_long_they_are_silent() {
        let alive = Intent::of_this_process(Work::Backup);
        assert!(
            alive.may_still_write(alive.heartbeat + 10 * REMOTE_TIMEOUT_SECONDS, Duration::ZERO)
        );
        assert!(alive.may_still_write(alive.heartbeat + 10 * REMOTE_TIMEOUT_SECONDS, LATE_WRITES));
    }

    #[test]
    fn dead_processes_count_while_their_writes_may_take_effect() {
        let dead = dead();
        assert!(!dead.may_still_write(dead.heartbeat, Duration::ZERO));
        // It may have died just before its next heartbeat.
        assert!(dead.may_still_write(
            dead.heartbeat + HEARTBEAT_INTERVAL.as_secs() + LATE_WRITES.as_secs() - 1,
            LATE_WRITES
        ));
        assert!(!dead.may_still_write(
            dead.heartbeat + HEARTBEAT_INTERVAL.as_secs() + LATE_WRITES.as_secs(),
            LATE_WRITES
        ));
        assert!(dead.describe().contains("has ended"));
    }

    #[test]
    fn another_machine_counts_for_a_day_whatever_its_clock() {
        for machine in ["elsewhere", ""] {
            let intent = Intent { machine: machine.into(), ..dead() };
            assert!(
                intent
                    .may_still_write(intent.heartbeat + REMOTE_TIMEOUT_SECONDS - 1, Duration::ZERO)
            );
            assert!(
                !intent.may_still_write(intent.heartbeat + REMOTE_TIMEOUT_SECONDS, LATE_WRITES)
            );
            // Its clock is ahead of ours.
            assert!(intent.may_still_write(intent.heartbeat - 1000, Duration::ZERO));
        }
    }
}
