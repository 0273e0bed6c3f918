//! Runs the binary in a pseudo-terminal and reads its screen. Knows nothing of what should be on it.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Everything that is waited for takes a few seconds at most.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    /// Open for as long as somebody looks at the screen.
    keyboard: Box<dyn Write + Send>,
    _master: Box<dyn MasterPty + Send>,
    seen: Arc<Mutex<Seen>>,
    reader: Option<JoinHandle<()>>,
}

struct Seen {
    screen: vt100::Parser,
    raw: Vec<u8>,
}

/// What the terminal showed when the program had ended.
pub(crate) struct Ended {
    pub(crate) exit_code: u32,
    /// The lines of the screen, without empty ones.
    pub(crate) lines: Vec<String>,
    /// Row and column, from zero.
    pub(crate) cursor: (u16, u16),
    pub(crate) cursor_is_hidden: bool,
    /// All that was written, as it came.
    pub(crate) raw: String,
}

impl Terminal {
    /// Starts the binary in a terminal of this size.
    pub(crate) fn start(
        arguments: &[&str],
        (columns, rows): (u16, u16),
        environment: &[(&str, &str)],
    ) -> Self {
        let size = PtySize { rows, cols: columns, ..PtySize::default() };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_cuculus"));
        command.args(arguments);
        command.env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR");
        environment.iter().for_each(|(name, value)| command.env(name, value));
        let child = pair.slave.spawn_command(command).expect("the binary runs");
        let mut output = pair.master.try_clone_reader().expect("its output");
        let keyboard = pair.master.take_writer().expect("its input");
        let screen = vt100::Parser::new(rows, columns, 0);
        let seen = Arc::new(Mutex::new(Seen { screen, raw: Vec::new() }));
        let shared = Arc::clone(&seen);
        // Ends with an error when the program has closed its terminal.
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                let mut seen = shared.lock().expect("a screen");
                seen.screen.process(&bytes[..count]);
                seen.raw.extend(&bytes[..count]);
            }
        });
        Self { child, keyboard, _master: pair.master, seen, reader: Some(reader) }
    }

    /// The lines of the screen as soon as they are as wanted.
    pub(crate) fn wait_for(&self, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        let start = Instant::now();
        loop {
            let lines = lines(&self.seen.lock().expect("a screen").screen);
            if wanted(&lines) {
                return lines;
            }
            assert!(start.elapsed() < PATIENCE, "never shown:\n{}", lines.join("\n"));
            sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn press(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).and_then(|()| self.keyboard.flush()).expect("typed");
    }

    /// Waits for the end of the program.
    pub(crate) fn end(mut self) -> Ended {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("its state") {
                Some(status) => break status,
                None => assert!(start.elapsed() < PATIENCE, "the program does not end"),
            }
            sleep(Duration::from_millis(5));
        };
        if let Some(reader) = self.reader.take() {
            reader.join().expect("all that was written");
        }
        let seen = self.seen.lock().expect("a screen");
        Ended {
            exit_code: status.exit_code(),
            lines: lines(&seen.screen),
            cursor: seen.screen.screen().cursor_position(),
            cursor_is_hidden: seen.screen.screen().hide_cursor(),
            raw: String::from_utf8_lossy(&seen.raw).into_owned(),
        }
    }
}

/// A test that fails leaves nothing running.
impl Drop for Terminal {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn lines(screen: &vt100::Parser) -> Vec<String> {
    let (_, columns) = screen.screen().size();
    let rows = screen.screen().rows(0, columns).map(|row| row.trim_end().to_owned());
    rows.filter(|row| !row.is_empty()).collect()
}
