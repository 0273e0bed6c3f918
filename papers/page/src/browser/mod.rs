//! Loads a page in headless Chromium and reports faults. Knows what must hold for every page, nothing
//! of its contents.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// A page takes about a second.
const PATIENCE: Duration = Duration::from_secs(120);
/// A window is never narrower than 500 pixels, a frame may be as narrow as a telephone.
const WIDTHS: [u32; 2] = [390, 1200];

/// The colour scheme that the reader prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// What the browser reports about a page.
#[derive(Debug)]
pub struct Seen {
    /// One entry for each width: the number of plots, the colours, and all that is wrong.
    pub frames: Vec<Value>,
    /// Messages in the console: errors, since our pages log nothing.
    pub console: Vec<String>,
}

impl Seen {
    /// Everything that is wrong at any width.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let faults = self.frames.iter().flat_map(|frame| frame["faults"].as_array());
        let told = faults.flatten().map(ToString::to_string);
        told.chain(self.console.iter().cloned()).collect()
    }
}

/// Loads a page at every width.
///
/// # Panics
/// If Chromium cannot be started or does not end: a test has nothing else to do then.
#[must_use]
pub fn look(html: &str, scheme: Scheme) -> Seen {
    let directory = TempDir::new().expect("a temporary directory");
    let page = directory.path().join("frames.html");
    fs::write(&page, in_frames(html)).expect("written");
    let (dom, log) = run(directory.path(), &page, scheme);
    let measured =
        dom.split("<pre id=\"measured\">").nth(1).and_then(|rest| rest.split('<').next());
    let measured = measured.unwrap_or_else(|| panic!("nothing was measured:\n{log}"));
    let measured = measured.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let frames: Vec<Value> = serde_json::from_str(&measured).expect("JSON");
    assert_eq!(frames.len(), WIDTHS.len(), "{frames:?}\n{log}");
    let console = log.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect();
    Seen { frames, console }
}

/// The page in frames of all widths, and a script that measures them. A frame that carries its page
/// has the origin of the page around it, so that the script may look inside; a file would not.
fn in_frames(html: &str) -> String {
    let page = html.replace('&', "&amp;").replace('"', "&quot;");
    let frame = |width| {
        format!("<iframe style=\"width: {width}px; height: 900px\" srcdoc=\"{page}\"></iframe>")
    };
    let frames: String = WIDTHS.into_iter().map(frame).collect();
    let script = include_str!("measure.js");
    // Frames have the colours of the page around them.
    format!(
        "<!doctype html><meta charset=\"utf-8\"><style>:root {{ color-scheme: light dark }} \
         iframe {{ border: 0 }}</style>{frames}<pre id=\"measured\"></pre><script>{script}</script>"
    )
}

/// The page's elements after loading, and what the browser logged.
fn run(directory: &Path, page: &Path, scheme: Scheme) -> (String, String) {
    let (dom, log) = (directory.join("dom"), directory.join("log"));
    let to = |path: &Path| Stdio::from(File::create(path).expect("a file"));
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"]);
    command.args(["--no-first-run", "--disable-background-networking"]);
    command.args(["--disable-component-update", "--disable-sync", "--enable-logging=stderr"]);
    command.arg(format!("--user-data-dir={}", directory.join("profile").display()));
    if scheme == Scheme::Dark {
        command.arg("--force-dark-mode");
    }
    command.arg("--dump-dom").arg(format!("file://{}", page.display()));
    let child = command.stdin(Stdio::null()).stdout(to(&dom)).stderr(to(&log)).spawn();
    let mut child = child.expect("Chromium runs; Debian's package is called chromium");
    let start = Instant::now();
    let status = loop {
        match child.try_wait().expect("its state") {
            Some(status) => break status,
            None if start.elapsed() > PATIENCE => {
                let _ = child.kill();
                panic!("Chromium does not end");
            }
            None => sleep(Duration::from_millis(20)),
        }
    };
    let text =
        |path: &Path| String::from_utf8_lossy(&fs::read(path).expect("what it wrote")).into_owned();
    assert!(status.success(), "Chromium failed ({status}):\n{}", text(&log));
    (text(&dom), text(&log))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict is worth something: it sees what is wrong with a broken page.
    #[test]
    fn a_browser_sees_a_broken_page() {
        let broken = "<!doctype html><div style=\"width: 600px\">wide</div>\
                      <svg class=\"plot\" aria-label=\"nothing\"></svg><script>missing()</script>\
                      <svg class=\"plot\"><text x=\"9\" y=\"30\">one label</text>\
                      <text x=\"30\" y=\"32\">another</text>\
                      <text x=\"9\" y=\"90\" font-size=\"9\">tiny</text></svg>";
        let faults = look(broken, Scheme::Light).faults();
        for part in [
            "the page is 608 wide",
            "DIV wide",
            "empty plot: nothing",
            "missing is not defined",
            "text one label is over text another",
            "9 pixels high, too small to read: text tiny",
        ] {
            assert!(faults.iter().any(|fault| fault.contains(part)), "{part}: {faults:#?}");
        }
    }
}
