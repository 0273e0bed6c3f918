//! Which processes are at work in a repository. A writer creates an intent before it reads the
//! index, and removes it after its last write. Knows how to tell live from dead processes; nothing
//! of what they do.
//!
//! There is no lock that can be left behind: the intent of a dead process does not count. `origin`
//! says how a process is told dead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::clock::now;
use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::error::{Error, Result, if_sound, if_there};
use crate::id::Name;
use crate::origin::Origin;
use crate::repository::Repository;
use crate::seal::Keys;
use crate::sealed;
use crate::store::{ObjectKind, Store, by_prefix, load_all};

const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(60);

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
    origin: Origin,
    heartbeat: u64,
}

impl Intent {
    fn of_this_process(work: Work) -> Self {
        Self { work, origin: Origin::of_this_process(), heartbeat: now() }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.u8(match self.work {
            Work::Backup => 0,
            Work::Maintenance => 1,
        });
        let Origin { host, machine, process, started } = &self.origin;
        writer.bytes(host.as_bytes());
        writer.bytes(machine.as_bytes());
        writer.varint(*process);
        writer.varint(*started);
        writer.varint(self.heartbeat);
        writer.0
    }

    fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let work = match reader.u8()? {
            0 => Work::Backup,
            1 => Work::Maintenance,
            _ => return Err(Malformed),
        };
        let (host, machine) = (reader.text()?, reader.text()?);
        let (process, started) = (reader.varint()?, reader.varint()?);
        let heartbeat = reader.varint()?;
        Ok(Self { work, origin: Origin { host, machine, process, started }, heartbeat })
    }

    /// Whether its process may still change something at the time `now`. `late_writes` is how long
    /// after the death of a process its last writes may take effect.
    fn may_still_write(&self, now: u64, late_writes: Duration) -> bool {
        let alive = self.origin.may_be_alive(self.heartbeat, now);
        if !self.origin.is_of_this_machine() {
            return alive;
        }
        // It died after its last heartbeat and before the next.
        let settled = self.heartbeat.saturating_add((HEARTBEAT_INTERVAL + late_writes).as_secs());
        alive || (!late_writes.is_zero() && settled > now)
    }

    fn describe(&self, now: u64) -> String {
        let Origin { host, process, .. } = &self.origin;
        let who = format!("process {process} on {host}");
        if self.origin.is_of_this_machine() && !self.origin.may_be_alive(self.heartbeat, now) {
            return format!(
                "{who} (it has ended, but its last writes may take effect for two minutes)"
            );
        }
        who
    }
}

/// An intent that exists as long as this value.
pub(crate) struct Announcement {
    pub(crate) name: Name,
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

    /// Fails if another machine has declared this process dead: then nothing that it read can be
    /// relied on.
    pub(crate) fn confirm(&self) -> Result<()> {
        let intent = if_there(self.store.open(ObjectKind::Intent, &self.name))?;
        intent.map(drop).ok_or(Error::DeclaredDead)
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
    let bytes = Intent::of_this_process(work).encode();
    sealed::save(store, keys, (ObjectKind::Intent, name), &bytes)
}

/// All intents; `None` for one that cannot be read, which no live writer of this repository writes.
fn intents(store: &dyn Store, keys: &Keys) -> Result<Vec<(Name, Option<Intent>)>> {
    load_all(store, ObjectKind::Intent, |name| {
        let intent = sealed::load(store, keys, (ObjectKind::Intent, name), Intent::decode);
        Ok((*name, if_sound(intent)?))
    })
}

/// The intents of live processes, except `own`. Those of dead processes are removed.
pub(crate) fn live_writers(
    store: &dyn Store,
    keys: &Keys,
    own: &Name,
) -> Result<Vec<(Name, Work, String)>> {
    let mut live_writers = Vec::new();
    for (name, intent) in intents(store, keys)?.into_iter().filter(|(name, _)| name != own) {
        match intent {
            Some(intent) if intent.may_still_write(now(), store.pace().late_writes) => {
                live_writers.push((name, intent.work, intent.describe(now())));
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

/// A process at work, as `unlock` shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Lock {
    /// The name of its intent.
    pub name: Name,
    /// What it does: `backup`, `maintenance`, or `unknown` if the intent cannot be read.
    pub work: String,
    /// The machine that it runs on.
    pub host: String,
    /// Its process id.
    pub process: u64,
    /// Its last sign of life, in seconds since 1970.
    pub heartbeat: u64,
    /// Whether it counts. If it does not, any other command removes it.
    pub counts: bool,
}

impl Repository {
    /// The processes that are at work in the repository, or were.
    ///
    /// # Errors
    /// If the intents cannot be listed.
    pub fn locks(&self) -> Result<Vec<Lock>> {
        let (late, now) = (self.store.pace().late_writes, now());
        let lock = |(name, intent): (Name, Option<Intent>)| {
            let work = match intent.as_ref().map(|intent| intent.work) {
                Some(Work::Backup) => "backup",
                Some(Work::Maintenance) => "maintenance",
                None => "unknown",
            };
            Lock {
                name,
                work: work.into(),
                host: intent.as_ref().map(|i| i.origin.host.clone()).unwrap_or_default(),
                process: intent.as_ref().map_or(0, |intent| intent.origin.process),
                heartbeat: intent.as_ref().map_or(0, |intent| intent.heartbeat),
                counts: intent.is_some_and(|intent| intent.may_still_write(now, late)),
            }
        };
        let intents = intents(&*self.store, &self.keys)?;
        let mut locks: Vec<Lock> = intents.into_iter().map(lock).collect();
        locks.sort_by_key(|lock| lock.heartbeat);
        Ok(locks)
    }

    /// Removes the intents whose names begin like this, whatever state their processes are in. A
    /// backup whose intent was removed fails before it writes its snapshot, so nothing is lost.
    ///
    /// # Errors
    /// If a name matches no intent or several; nothing is removed then.
    pub fn unlock(&self, prefixes: &[String]) -> Result<Vec<Lock>> {
        let names = self.store.names(ObjectKind::Intent)?;
        let mut chosen = Vec::new();
        for prefix in prefixes {
            chosen.push(*by_prefix(ObjectKind::Intent, &names, |name| name, prefix)?);
        }
        let mut removed = self.locks()?;
        removed.retain(|lock| chosen.contains(&lock.name));
        self.store.remove_all(ObjectKind::Intent, &chosen, &|| Ok(()))?;
        Ok(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE_WRITES: Duration = Duration::from_secs(60);

    #[test]
    fn dead_processes_count_while_their_writes_may_take_effect() {
        let mut dead = Intent::of_this_process(Work::Backup);
        // Every process started later than this.
        dead.origin.started = 1;
        assert!(!dead.may_still_write(dead.heartbeat, Duration::ZERO));
        // It may have died just before its next heartbeat.
        let end = dead.heartbeat + (HEARTBEAT_INTERVAL + LATE_WRITES).as_secs();
        assert!(dead.may_still_write(end - 1, LATE_WRITES));
        assert!(!dead.may_still_write(end, LATE_WRITES));
        assert!(dead.describe(now()).contains("has ended"));
    }
}
