//! An S3 server on the loopback interface, inside the test process: objects are files below a
//! directory, requests are counted, and it can be stopped and restarted.
//!
//! A crate of its own, so that it is compiled once and not with every test that uses it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};

/// The access key id that clients must use.
pub const KEY: &str = "test-key";
/// The secret access key that clients must use.
pub const SECRET: &str = "test-secret";

/// A running server; stopped when dropped.
pub struct Server {
    root: PathBuf,
    address: SocketAddr,
    requests: Arc<AtomicU64>,
    /// `None` while it is stopped.
    runtime: Option<Runtime>,
}

impl Server {
    /// Starts on a free port, with one bucket per name.
    ///
    /// # Panics
    /// If there is no free port, or a directory cannot be created.
    #[must_use]
    pub fn start(root: &Path, buckets: &[&str]) -> Self {
        for bucket in buckets {
            std::fs::create_dir_all(root.join(bucket)).expect("a directory");
        }
        let mut server = Self {
            root: root.to_owned(),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            requests: Arc::default(),
            runtime: None,
        };
        server.resume();
        server
    }

    /// Restarts on the same port.
    ///
    /// # Panics
    /// If the port is in use by now.
    pub fn resume(&mut self) {
        let files = FileSystem::new(&self.root).expect("a directory");
        let mut service = S3ServiceBuilder::new(files);
        service.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let service = service.build();
        let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("threads");
        let listener = runtime.block_on(TcpListener::bind(self.address)).expect("a port");
        self.address = listener.local_addr().expect("an address");
        runtime.spawn(serve(listener, service, Arc::clone(&self.requests)));
        self.runtime = Some(runtime);
    }

    /// Stops without closing connections properly, as in a power failure.
    pub fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(10));
        }
    }

    /// The address for clients.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests since the last call.
    pub fn take_requests(&self) -> u64 {
        self.requests.swap(0, Ordering::Relaxed)
    }

    /// Sets the environment of a client, and removes whatever the tester's own environment sets.
    pub fn tell(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy().to_ascii_uppercase();
            if text.starts_with("AWS_") || text.ends_with("_PROXY") {
                command.env_remove(&name);
            }
        }
        command.env("AWS_ENDPOINT_URL", self.endpoint());
        command.env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
        command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn serve(listener: TcpListener, service: S3Service, requests: Arc<AtomicU64>) {
    while let Ok((connection, _)) = listener.accept().await {
        let (service, requests) = (service.clone(), Arc::clone(&requests));
        tokio::spawn(async move {
            let counted = service_fn(move |request: Request<Incoming>| {
                requests.fetch_add(1, Ordering::Relaxed);
                Service::call(&service, request)
            });
            let builder = Builder::new(TokioExecutor::new());
            // A client may disconnect at any time.
            let _ = builder.serve_connection(TokioIo::new(connection), counted).await;
        });
    }
}
