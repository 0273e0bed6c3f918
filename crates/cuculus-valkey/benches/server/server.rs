//! Starts a server for the measurement on a free local port and stops it at the end.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use redis::{Client, Connection, InfoDict};
use tempfile::TempDir;

pub(crate) struct Server {
    process: Child,
    client: Client,
    directory: TempDir,
}

impl Server {
    pub(crate) fn start(program: &str, module: &str) -> Result<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let directory = tempfile::tempdir()?;
        let process = Command::new(program)
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
            .args(["--slowlog-max-len", "1000000", "--loadmodule", module])
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let client = Client::open(format!("redis://127.0.0.1:{port}"))?;
        let mut server = Self { process, client, directory };
        for _ in 0..500 {
            if server
                .connect()
                .is_ok_and(|mut control| redis::cmd("PING").exec(&mut control).is_ok())
            {
                return Ok(server);
            }
            if let Some(status) = server.process.try_wait()? {
                bail!("{program} ended ({status}); does {module} exist?");
            }
            sleep(Duration::from_millis(20));
        }
        bail!("{program} does not answer in {}", server.directory.path().display())
    }

    pub(crate) fn connect(&self) -> Result<Connection> {
        self.client.get_connection().context("cannot connect to the server")
    }

    pub(crate) fn connections(&self, count: usize) -> Result<Vec<Connection>> {
        (0..count).map(|_| self.connect()).collect()
    }

    /// The processor time of its main thread.
    pub(crate) fn cpu_nanoseconds(&self) -> Result<u64> {
        let path = format!("/proc/{}/schedstat", self.process.id());
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let first = text.split_whitespace().next().context("no time")?;
        Ok(first.parse()?)
    }
}

pub(crate) fn version(control: &mut Connection) -> Result<String> {
    let info: InfoDict = redis::cmd("INFO").arg("server").query(control)?;
    let field = |name| info.get::<String>(name);
    let name = field("server_name").unwrap_or("redis".into());
    let version = field("valkey_version").or(field("redis_version")).unwrap_or_default();
    Ok(format!("{name} {version}"))
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
