//! A real `sshd` on the loopback interface, with keys of its own. Stopped when dropped.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct Sshd {
    process: Option<Child>,
    port: u16,
    folder: PathBuf,
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

fn make_key(path: &Path) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
        .arg(path)
        .status();
    assert!(made.expect("ssh-keygen, from the package openssh-client").success());
}

impl Sshd {
    pub(crate) fn start(folder: PathBuf) -> Self {
        fs::create_dir_all(&folder).expect("a directory");
        for key in ["host", "user", "stranger"] {
            make_key(&folder.join(key));
        }
        fs::copy(folder.join("user.pub"), folder.join("authorized")).expect("a key");
        let mut server = Self { process: None, port: free_port(), folder };
        server.resume();
        let at = server.folder.display();
        // The server's key is known, as after a first connection by hand.
        let key = fs::read_to_string(server.folder.join("host.pub")).expect("a key");
        let known = format!("[127.0.0.1]:{} {key}", server.port);
        fs::write(server.folder.join("known"), known).expect("a file");
        let client = format!(
            "IdentityFile \"{at}/user\"\nIdentitiesOnly yes\nBatchMode yes\n\
             UserKnownHostsFile \"{at}/known\"\nStrictHostKeyChecking yes\n\
             KexAlgorithms curve25519-sha256\n"
        );
        fs::write(server.folder.join("client"), client).expect("a file");
        server
    }

    /// Starts, again, on the same port.
    pub(crate) fn resume(&mut self) {
        let (at, port) = (self.folder.display(), self.port);
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey \"{at}/host\"\nPidFile none\n\
             AuthorizedKeysFile \"{at}/authorized\"\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin prohibit-password\nMaxStartups 100\nSubsystem sftp internal-sftp\n"
        );
        let path = self.folder.join("settings");
        fs::write(&path, settings).expect("a file");
        // Needed by a server that is started as root; made by the system when it starts its own.
        let _ = fs::create_dir_all("/run/sshd");
        let mut command = Command::new("/usr/sbin/sshd");
        command.args(["-D", "-e", "-f"]).arg(&path).stdin(Stdio::null());
        let log = fs::File::create(self.folder.join("log")).expect("a file");
        let process = command.stderr(log).stdout(Stdio::null()).spawn();
        self.process = Some(process.expect("/usr/sbin/sshd, from the package openssh-server"));
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(start.elapsed() < Duration::from_secs(60), "sshd does not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// The location of a directory of this machine, as another machine names it.
    pub(crate) fn location(&self, path: &Path) -> PathBuf {
        format!("sftp://127.0.0.1:{}{}", self.port, path.display()).into()
    }

    pub(crate) fn tell(&self, command: &mut Command) {
        command.env("CUCULUS_BACKUP_SSH", self.ssh(""));
    }

    /// The command of a client with more words.
    pub(crate) fn ssh(&self, words: &str) -> String {
        format!("ssh -F {}/client {words}", self.folder.display())
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stop();
    }
}
