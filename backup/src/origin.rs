//! Which process of which machine wrote something, and whether that process may still be alive.
//! Knows what the system tells about processes; nothing of repositories.
//!
//! Four cases, from certain to guessed:
//! - the same boot and the same process table: the system knows the process, or it is dead;
//! - the same boot, another process table (a container): it shows a sign of life every minute, and
//!   counts for ten after the last, since nobody here can see its process;
//! - another boot of the same machine: dead, if its last sign of life is from before this boot;
//! - another machine: counts for a day, since clocks differ and machines sleep.
//!
//! A process that is taken for dead and is alive finds its intent gone and fails; nothing is lost.

use std::fs;
use std::sync::OnceLock;

const REMOTE_TIMEOUT_SECONDS: u64 = 24 * 60 * 60;
const CONTAINER_TIMEOUT_SECONDS: u64 = 10 * 60;
/// Three signs of life missed. Copies of a machine may share its id; those that live show it.
const REBOOT_TIMEOUT_SECONDS: u64 = 3 * 60;

/// The process that wrote an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) host: String,
    /// The boot, the process namespace and, if there is one, the machine id, separated by spaces. Empty
    /// if the system did not say.
    pub(crate) machine: String,
    pub(crate) process: u64,
    /// When the process started, in ticks since boot.
    pub(crate) started: u64,
}

/// The parts of [`Origin::machine`].
#[derive(PartialEq, Eq)]
struct Machine<'a> {
    boot: &'a str,
    table: &'a str,
    id: &'a str,
}

impl<'a> Machine<'a> {
    fn parse(text: &'a str) -> Self {
        let mut words = text.split(' ');
        let mut next = || words.next().unwrap_or_default();
        Self { boot: next(), table: next(), id: next() }
    }
}

/// How the machine of an origin relates to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    SameProcesses,
    SameBoot,
    OtherBoot,
    Elsewhere,
}

impl Origin {
    pub(crate) fn of_this_process() -> Self {
        let process = u64::from(std::process::id());
        let started = start_time_of(process).unwrap_or_default();
        Self { host: host(), machine: machine().to_owned(), process, started }
    }

    fn relation(&self) -> Relation {
        let (theirs, ours) = (Machine::parse(&self.machine), Machine::parse(machine()));
        if theirs.boot.is_empty() || ours.boot.is_empty() {
            Relation::Elsewhere
        } else if (theirs.boot, theirs.table) == (ours.boot, ours.table) {
            Relation::SameProcesses
        } else if theirs.boot == ours.boot {
            Relation::SameBoot
        } else if !theirs.id.is_empty() && theirs.id == ours.id {
            Relation::OtherBoot
        } else {
            Relation::Elsewhere
        }
    }

    /// Whether the process ran on this machine, in this boot or an earlier one.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        matches!(self.relation(), Relation::SameProcesses | Relation::OtherBoot)
    }

    /// Whether the process may be alive at the time `now`, if it gave its last sign of life at
    /// `heartbeat`.
    ///
    /// The clock of another machine may be wrong. If it is ahead, its intents count for longer; if
    /// it is a day behind, it is declared dead, and notices that before it does harm.
    pub(crate) fn may_be_alive(&self, heartbeat: u64, now: u64) -> bool {
        let silent_for = |seconds: u64| heartbeat.saturating_add(seconds) <= now;
        match self.relation() {
            Relation::SameProcesses => start_time_of(self.process) == Some(self.started),
            Relation::SameBoot => !silent_for(CONTAINER_TIMEOUT_SECONDS),
            Relation::OtherBoot => heartbeat >= boot_time() || !silent_for(REBOOT_TIMEOUT_SECONDS),
            Relation::Elsewhere => !silent_for(REMOTE_TIMEOUT_SECONDS),
        }
    }
}

pub(crate) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Process ids are unique within one boot and one process namespace; containers have their own.
fn machine() -> &'static str {
    static MACHINE: OnceLock<String> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id");
        let table = fs::read_link("/proc/self/ns/pid");
        let id = ["/etc/machine-id", "/var/lib/dbus/machine-id"]
            .iter()
            .filter_map(|path| fs::read_to_string(path).ok())
            .map(|text| text.trim().to_owned())
            .find(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match (boot, table) {
            (Ok(boot), Ok(table)) => {
                let id = id.unwrap_or_default();
                format!("{} {} {id}", boot.trim(), table.display()).trim_end().to_owned()
            }
            _ => String::new(),
        }
    })
}

/// When this boot began, in seconds since 1970; 0 if the system does not say.
fn boot_time() -> u64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "));
    line.and_then(|seconds| seconds.trim().parse().ok()).unwrap_or(0)
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

    const DAY: u64 = REMOTE_TIMEOUT_SECONDS;

    /// An origin of a machine that differs from this one in some of its parts.
    fn origin(boot: Option<&str>, table: Option<&str>, id: Option<&str>) -> Origin {
        let ours = Machine::parse(machine());
        let boot = boot.unwrap_or(ours.boot);
        let (table, id) = (table.unwrap_or(ours.table), id.unwrap_or(ours.id));
        Origin { machine: format!("{boot} {table} {id}"), started: 1, ..Origin::of_this_process() }
    }

    #[test]
    fn live_processes_count_however_long_they_are_silent() {
        let alive = Origin::of_this_process();
        assert!(alive.may_be_alive(1000, 1000 + 10 * DAY));
        assert!(!origin(None, None, None).may_be_alive(1000, 1000), "it started at another time");
        // Of a machine without an id.
        let machine = alive.machine.rsplit_once(' ').map_or("", |(old, _)| old);
        let dead = Origin { machine: machine.into(), started: 1, ..alive };
        assert!(machine.is_empty() || !dead.may_be_alive(1000, 1000));
    }

    #[test]
    fn a_container_counts_for_minutes() {
        let other = origin(None, Some("pid:[1]"), None);
        assert!(other.may_be_alive(1000, 1000 + CONTAINER_TIMEOUT_SECONDS - 1));
        assert!(!other.may_be_alive(1000, 1000 + CONTAINER_TIMEOUT_SECONDS));
        assert!(!other.is_of_this_machine());
    }

    #[test]
    fn another_boot_of_this_machine_is_dead() {
        let id = "0123456789abcdef0123456789abcdef";
        let other = origin(Some("another-boot"), None, None);
        if Machine::parse(machine()).id.is_empty() {
            assert_eq!(other.relation(), Relation::Elsewhere, "this machine has no id");
            return;
        }
        let boot = boot_time();
        let now = boot + 1_000_000;
        assert!(!other.may_be_alive(boot - 1, now));
        // Moments after the boot nobody knows yet; a copy of this machine shows signs of life.
        assert!(other.may_be_alive(boot - 1, boot + 60));
        assert!(other.may_be_alive(boot + 1, now));
        let stranger = origin(Some("another-boot"), None, Some(id));
        assert!(stranger.may_be_alive(boot - 1, boot + 1000));
    }

    #[test]
    fn another_machine_counts_for_a_day_whatever_its_clock() {
        for machine in ["elsewhere", ""] {
            let other = Origin { machine: machine.into(), ..origin(None, None, None) };
            assert!(other.may_be_alive(1000, 1000 + DAY - 1));
            assert!(!other.may_be_alive(1000, 1000 + DAY));
            // Its clock is ahead of ours.
            assert!(other.may_be_alive(1000, 1));
        }
    }
}
