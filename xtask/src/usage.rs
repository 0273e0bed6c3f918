//! Time, processor time and memory of a child process. Knows processes, not what they do. The only
//! module of this crate with unsafe code: the standard library does not return the resource usage of
//! a child.
#![allow(unsafe_code, reason = "wait4 has no safe form")]

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Instant;

/// What one program took, or several in sequence.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) wall_seconds: f64,
    /// User and system time, including that of children it has waited for.
    pub(crate) cpu_seconds: f64,
    /// Never less than this program's own peak, because a child shares its memory until it starts:
    /// a program that measures others must stay small.
    pub(crate) peak_bytes: u64,
}

impl Usage {
    /// Both in sequence.
    pub(crate) fn and(self, next: Self) -> Self {
        Self {
            wall_seconds: self.wall_seconds + next.wall_seconds,
            cpu_seconds: self.cpu_seconds + next.cpu_seconds,
            peak_bytes: self.peak_bytes.max(next.peak_bytes),
        }
    }
}

/// Waits for a program that was just started. Returns its exit status, what it took, and its
/// standard error if that is a pipe.
pub(crate) fn of(mut child: Child, start: Instant) -> io::Result<(ExitStatus, Usage, String)> {
    let mut stderr_bytes = Vec::new();
    // First: a program blocks when its pipe is full and nobody reads it.
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_end(&mut stderr_bytes)?;
    }
    let process = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    // SAFETY: numbers only, for which zero is a value; `wait4` fills them in.
    let mut counted: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to values of ours that outlive the call. The process is our
        // child and nobody has waited for it yet: `child` came by value and is not used after.
        if unsafe { libc::wait4(process, &raw mut status, 0, &raw mut counted) } == process {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let usage = Usage {
        wall_seconds: start.elapsed().as_secs_f64(),
        cpu_seconds: seconds(counted.ru_utime) + seconds(counted.ru_stime),
        peak_bytes: u64::try_from(counted.ru_maxrss).unwrap_or_default() * 1024,
    };
    Ok((ExitStatus::from_raw(status), usage, String::from_utf8_lossy(&stderr_bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_program_is_measured_to_its_end() {
        let start = Instant::now();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo no >&2; exit 3"]);
        let child = shell.stderr(Stdio::piped()).spawn().expect("a shell");
        let (status, usage, said) = of(child, start).expect("waited for");
        assert_eq!((status.code(), said.as_str()), (Some(3), "no\n"));
        assert!(usage.cpu_seconds > 0.0 && usage.peak_bytes > 100_000, "{usage:?}");
        let twice = usage.and(usage);
        assert_eq!(twice.peak_bytes, usage.peak_bytes);
        assert!(twice.cpu_seconds > usage.cpu_seconds);
    }
}
