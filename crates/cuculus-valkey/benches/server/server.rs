//! Starts a server for the measurement on a free local port and stops it at the end.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::connection::Connection;

pub(crate) struct Server {
    process: Child,
    port: u16,
    directory: TempDir,
}

impl Server {
    pub(crate) fn start(program: &str, module: &str) -> anyhow::Result<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let directory = tempfile::tempdir()?;
        let process = Command::new(program)
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
            .args(["--slowlog-max-len", "1000000", "--loadmodule", module])
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let mut server = Self { process, port, directory };
        for _ in 0..500 {
            if Connection::open(port).is_ok_and(|mut c| c.call(&[b"PING"]).is_ok()) {
                return Ok(server);
            }
            if let Some(status) = server.process.try_wait()? {
                bail!("{program} ended ({status}); does {module} exist?");
            }
            sleep(Duration::from_millis(20));
        }
        bail!("{program} does not answer in {}", server.directory.path().display())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn connect(&self) -> anyhow::Result<Connection> {
        Connection::open(self.port).context("cannot connect to the server")
    }

    pub(crate) fn version(&self, control: &mut Connection) -> anyhow::Result<String> {
        let info = control.call(&[b"INFO", b"server"])?.text()?;
        let field = |name: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim_start_matches(':').to_string())
        };
        let name = field("server_name").unwrap_or("redis".into());
        let version = field("valkey_version").or(field("redis_version")).unwrap_or_default();
        Ok(format!("{name} {version}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
