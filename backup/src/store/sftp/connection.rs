//! One `ssh` process and the SFTP session in its pipes. Knows how it is started, and what its errors
//! mean.
//!
//! The system's `ssh` brings the user's keys, agents, known hosts and jump hosts. The rest of the
//! program is synchronous, so the session has a small runtime of its own.

use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use openssh_sftp_client::error::SftpErrorKind;
use openssh_sftp_client::{Error as SftpError, Sftp, SftpOptions};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::runtime::{self, Runtime};

use super::address::Address;
use crate::error::{Error, Result};

pub(super) type Outcome<T> = std::result::Result<T, SftpError>;

/// The command that connects, in words; `ssh` if it is not set.
const COMMAND: &str = "CUCULUS_BACKUP_SSH";
/// A server that answers nothing is given up after three of these.
const ALIVE_INTERVAL: &str = "ServerAliveInterval=15";
/// Unanswered writes of one draft.
const BYTES_UNDER_WAY: usize = 4 << 20;
/// How long to wait for what `ssh` has to say when it has failed.
const LAST_WORDS: Duration = Duration::from_secs(2);

pub(super) struct Connection {
    /// `None` once it is closed.
    sftp: Option<Sftp>,
    /// Ends with the connection.
    _ssh: Child,
    runtime: Runtime,
    said: Arc<Mutex<String>>,
    server: String,
    /// Whether a write got no answer.
    in_doubt: AtomicBool,
}

fn command(address: &Address) -> Result<Command> {
    let words = std::env::var(COMMAND).unwrap_or_else(|_| "ssh".into());
    let mut words = words.split_whitespace();
    let program = words.next().ok_or(Error::InvalidSetting {
        variable: COMMAND,
        reason: "is empty; set it to a command such as `ssh -i KEY`".into(),
    })?;
    let mut command = Command::new(program);
    command.args(words).args(["-o", ALIVE_INTERVAL]);
    if let Some(user) = &address.user {
        command.args(["-l", user]);
    }
    if let Some(port) = address.port {
        command.args(["-p", &port.to_string()]);
    }
    command.args(["-s", "--", &address.host, "sftp"]).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

/// Keeps the last line that `ssh` prints; the user sees it if something fails.
async fn listen(stderr: ChildStderr, said: Arc<Mutex<String>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let line: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
        if !line.trim().is_empty() {
            *said.lock().unwrap_or_else(PoisonError::into_inner) = line;
        }
    }
}

impl Connection {
    pub(super) fn open(address: &Address) -> Result<Self> {
        let server = address.host.clone();
        let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(Error::io("cannot start a thread"))?;
        let said = Arc::new(Mutex::new(String::new()));
        let mut command = command(address)?;
        let what = format!("cannot connect to {server}");
        let opened = runtime.block_on(async {
            let mut ssh = command.spawn().map_err(|error| {
                let program = command.as_std().get_program().display().to_string();
                io::Error::new(error.kind(), format!("cannot run {program}: {error}"))
            })?;
            let (Some(stdin), Some(stdout), Some(stderr)) =
                (ssh.stdin.take(), ssh.stdout.take(), ssh.stderr.take())
            else {
                return Err(io::Error::other("no pipes"));
            };
            let listener = tokio::spawn(listen(stderr, Arc::clone(&said)));
            // Requests leave at once: their answers are waited for.
            let options = SftpOptions::new().flush_interval(Duration::ZERO);
            let options = match BYTES_UNDER_WAY.try_into() {
                Ok(limit) => options.tokio_compat_file_write_limit(limit),
                Err(_) => options,
            };
            // In a task of its own, because the client panics on some answers that are none.
            match tokio::spawn(Sftp::new(stdin, stdout, options)).await {
                Ok(Ok(sftp)) => Ok((ssh, sftp)),
                failed => {
                    let _ = tokio::time::timeout(LAST_WORDS, listener).await;
                    let said = said.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    Err(io::Error::other(match failed {
                        _ if !said.is_empty() => said,
                        Ok(Err(error)) => text(&error),
                        _ => "it does not speak SFTP".into(),
                    }))
                }
            }
        });
        // Never "not found": a missing program is no missing object.
        let (ssh, sftp) = opened.map_err(|error| Error::io(what)(io::Error::other(error)))?;
        let in_doubt = AtomicBool::new(false);
        let connection = Self { sftp: Some(sftp), _ssh: ssh, runtime, said, server, in_doubt };
        let lacks = |what| Error::ServerLacks { server: connection.server.clone(), what };
        let sftp = connection.sftp()?;
        if !sftp.support_posix_rename() {
            return Err(lacks("replace a file in one step (posix-rename@openssh.com)"));
        }
        if !sftp.support_fsync() {
            return Err(lacks("write to the disk when asked (fsync@openssh.com)"));
        }
        Ok(connection)
    }

    pub(super) fn sftp(&self) -> Result<&Sftp> {
        let closed = || Error::io("cannot use the connection")(io::ErrorKind::NotConnected.into());
        self.sftp.as_ref().ok_or_else(closed)
    }

    pub(super) fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        self.runtime.block_on(answer)
    }

    pub(super) fn is_settled(&self) -> bool {
        !self.in_doubt.load(Ordering::Acquire)
    }

    /// Records a change whose outcome is not known, since it may take effect later.
    pub(super) fn written<T>(&self, outcome: Outcome<T>) -> Outcome<T> {
        let outcome = outcome.map_err(unwrapped);
        if outcome.as_ref().is_err_and(|error| !matches!(error, SftpError::SftpError(..))) {
            self.in_doubt.store(true, Ordering::Release);
        }
        outcome
    }

    /// The error of an attempt such as "cannot read pack 12".
    pub(super) fn failed(&self, what: impl Into<String>) -> impl FnOnce(SftpError) -> Error {
        let what = what.into();
        move |error| Error::Io { what, source: self.explained(error) }
    }

    /// The error in words.
    pub(super) fn explained(&self, error: SftpError) -> io::Error {
        let error = unwrapped(error);
        let (kind, why) = match &error {
            SftpError::SftpError(SftpErrorKind::NoSuchFile, _) => {
                (io::ErrorKind::NotFound, "it does not exist".into())
            }
            SftpError::SftpError(SftpErrorKind::PermDenied, _) => {
                (io::ErrorKind::PermissionDenied, format!("{} refuses access", self.server))
            }
            SftpError::SftpError(_, _) => (
                io::ErrorKind::Other,
                format!("{} reports a failure; is its disk full?", self.server),
            ),
            _ => (io::ErrorKind::Other, self.lost(&error)),
        };
        io::Error::new(kind, why)
    }

    fn lost(&self, error: &SftpError) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let why = if said.is_empty() { text(error) } else { said };
        format!("the connection to {} is lost ({why})", self.server)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Inside the runtime: handles that are still open tell the server that they are not needed.
        let _within = self.runtime.enter();
        drop(self.sftp.take());
    }
}

/// Files of the client return errors of the server as errors of the system.
fn unwrapped(error: SftpError) -> SftpError {
    match error {
        SftpError::IOError(error) => error.downcast().unwrap_or_else(SftpError::IOError),
        error => error,
    }
}

/// One line.
fn text(error: &SftpError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_end_matches(['.', ' ']).chars().take(200).collect()
}

pub(super) fn is_missing(error: &SftpError) -> bool {
    matches!(error, SftpError::SftpError(SftpErrorKind::NoSuchFile, _))
}
