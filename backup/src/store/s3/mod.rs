//! A repository in a bucket of S3 or an S3-compatible server. Knows keys, requests and their
//! limits; nothing of what the objects contain.
//!
//! The rest of the program is synchronous, so this store has a small runtime of its own and blocks
//! on it.

mod failure; // errors in one line
mod objects; // write and read an object
mod settings; // the connection
#[cfg(test)]
mod tests;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio::runtime::{self, Runtime};

use super::cached::Remote;
use super::read_ahead::RemoteObject;
use super::{Draft, GoOn, Object, ObjectKind, Pace, Place, SINGLETON, Store};
use crate::error::{Error, Result, if_there};
use crate::id::Name;
use objects::S3Draft;

/// Packs uploaded concurrently.
const CONCURRENT_TRANSFERS: usize = 4;
/// Bytes per request; an index run is rarely larger.
const FETCH_SIZE: u64 = 64 << 20;
/// The most objects that a server removes in one request.
const DELETES_PER_REQUEST: usize = 1000;
/// A server that has received a request completes it, even if the client is gone. That takes
/// seconds; this is more.
const LATE_WRITES: Duration = Duration::from_secs(60);

type Outcome<T> = std::result::Result<T, object_store::Error>;

pub(crate) struct S3Store(Arc<Bucket>);

pub(super) struct Bucket {
    client: AmazonS3,
    runtime: Runtime,
    prefix: Path,
    /// The location in messages, and the server in messages.
    name: String,
    server: String,
    /// Whether a write got no answer.
    in_doubt: AtomicBool,
}

impl Bucket {
    fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        self.runtime.block_on(answer)
    }

    fn path(&self, kind: ObjectKind, name: &Name) -> Path {
        kind.key(name).split('/').fold(self.prefix.clone(), Path::join)
    }

    /// Records a write whose outcome is not known, since it may take effect later.
    fn written<T>(&self, outcome: Outcome<T>) -> Outcome<T> {
        if outcome.as_ref().is_err_and(|error| !failure::is_answer(error)) {
            self.in_doubt.store(true, Ordering::Release);
        }
        outcome
    }

    /// Passes the body of a GET to `each`, as it arrives.
    fn get(
        &self,
        path: &Path,
        options: GetOptions,
        each: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    ) -> Outcome<ObjectMeta> {
        self.wait(async {
            let answer = self.client.get_opts(path, options).await?;
            let meta = answer.meta.clone();
            let mut bytes = answer.into_stream();
            while let Some(part) = bytes.try_next().await? {
                each(&part)?;
            }
            Ok(meta)
        })
    }
}

impl S3Store {
    /// `BUCKET/PREFIX`, where the prefix may be empty; everything else comes from the environment.
    pub(super) fn new(place: &str) -> Result<Self> {
        Self::with(AmazonS3Builder::from_env(), place)
    }

    fn with(builder: AmazonS3Builder, place: &str) -> Result<Self> {
        let (client, prefix, server) = settings::client(builder, place)?;
        let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(Error::io("cannot start a thread"))?;
        let name = format!("s3://{}", place.trim_end_matches('/'));
        let in_doubt = AtomicBool::new(false);
        Ok(Self(Arc::new(Bucket { client, runtime, prefix, name, server, in_doubt })))
    }

    /// The size of an object.
    fn size(&self, kind: ObjectKind, name: &Name) -> Result<u64> {
        let path = self.0.path(kind, name);
        let meta = self.0.wait(self.0.client.head(&path));
        let meta = meta.map_err(self.0.failed(format!("cannot find {}", kind.describe(name))))?;
        Ok(meta.size)
    }

    /// Some servers report a missing bucket like a missing object; all report it when asked for a
    /// list.
    fn explain(&self, error: Error) -> Error {
        let bucket = &self.0;
        let first = bucket.wait(bucket.client.list(Some(&bucket.prefix)).next());
        match first {
            Some(Err(why)) => bucket.failed(format!("cannot list {}", bucket.name))(why),
            _ => error,
        }
    }
}

impl Place for S3Store {
    /// The prefix may contain only what an interrupted attempt left.
    fn prepare(&self) -> Result<()> {
        let bucket = &self.0;
        let found = bucket.wait(bucket.client.list_with_delimiter(Some(&bucket.prefix)));
        let found = found.map_err(bucket.failed(format!("cannot list {}", bucket.name)))?;
        let folder =
            |path: &Path| path.filename().is_some_and(|n| ObjectKind::folders().any(|f| f == n));
        if found.objects.is_empty() && found.common_prefixes.iter().all(folder) {
            return Ok(());
        }
        Err(Error::NotEmpty {
            location: bucket.name.clone(),
            remedy: "give the repository a prefix of its own",
        })
    }

    fn identity(&self) -> String {
        format!("{} at {}", self.0.name, self.0.server)
    }
}

impl Remote for S3Store {
    type Draft = S3Draft;

    fn begin(&self, kind: ObjectKind, name: &Name) -> Result<S3Draft> {
        let (bucket, buffer) = (Arc::clone(&self.0), Vec::new());
        Ok(S3Draft { bucket, kind, name: *name, buffer, upload: None })
    }

    /// Fetches a whole object in ranges: a large object over a slow line would exceed the timeout
    /// of a single request. All ranges are of one version.
    fn fetch(&self, kind: ObjectKind, name: &Name, out: &mut dyn Write) -> Result<()> {
        let path = self.0.path(kind, name);
        let what = || format!("cannot read {}", kind.describe(name));
        let (mut position, mut version) = (0, None);
        loop {
            let end = position + FETCH_SIZE;
            let range = Some((position..end).into());
            let options = GetOptions { range, if_match: version.take(), ..GetOptions::default() };
            let mut failed = None;
            let answer = self.0.get(&path, options, &mut |bytes| {
                position += bytes.len() as u64;
                out.write_all(bytes).map_err(|error| {
                    failed = Some(error);
                    object_store::Error::Generic { store: "copy", source: "not written".into() }
                })
            });
            if let Some(error) = failed {
                return Err(Error::io(what())(error));
            }
            let meta = match answer {
                // The object is empty; whoever reads it decides what that means.
                Err(error) if position == 0 && failure::is_past_the_end(&error) => return Ok(()),
                answer => answer.map_err(self.0.failed(what()))?,
            };
            if position == meta.size {
                return Ok(());
            }
            if position != end {
                return Err(Error::damaged(kind, name));
            }
            version = meta.e_tag;
        }
    }
}

/// No drafts to sweep: interrupted uploads are invisible, and a lifecycle rule makes the server remove
/// them.
impl Store for S3Store {
    fn draft(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Draft>> {
        Ok(Box::new(self.begin(kind, name)?))
    }

    fn list(&self, kind: ObjectKind) -> Result<Vec<(Name, u64)>> {
        if kind.is_single() {
            let size = if_there(self.size(kind, &SINGLETON))?;
            return Ok(size.map(|size| (SINGLETON, size)).into_iter().collect());
        }
        let bucket = &self.0;
        let folder = bucket.prefix.clone().join(kind.folder());
        let listed = bucket.client.list(Some(&folder)).try_filter_map(|meta| async move {
            let name = meta.location.filename().and_then(Name::parse);
            Ok(name.filter(|name| bucket.path(kind, name) == meta.location).map(|n| (n, meta.size)))
        });
        let listed = bucket.wait(listed.try_collect());
        listed.map_err(bucket.failed(format!("cannot list {}/{}", bucket.name, kind.folder())))
    }

    fn open(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Object>> {
        self.open_sized(kind, name, self.size(kind, name)?)
    }

    /// Sends no request: a missing object or another size is noticed when it is read.
    fn open_sized(&self, kind: ObjectKind, name: &Name, len: u64) -> Result<Box<dyn Object>> {
        Ok(Box::new(RemoteObject::new(Arc::clone(&self.0), kind, name, len)))
    }

    fn get(&self, kind: ObjectKind, name: &Name) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        let answer = self.0.get(&self.0.path(kind, name), GetOptions::default(), &mut |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        });
        let failed = self.0.failed(format!("cannot read {}", kind.describe(name)));
        match answer.map_err(failed) {
            Ok(_) => Ok(all),
            Err(error) if error.is_missing() && matches!(kind, ObjectKind::Config) => {
                Err(self.explain(error))
            }
            Err(error) => Err(error),
        }
    }

    fn remove_all(&self, kind: ObjectKind, names: &[Name], go_on: GoOn<'_>) -> Result<()> {
        let bucket = &self.0;
        for some in names.chunks(DELETES_PER_REQUEST) {
            go_on()?;
            let removed = bucket.wait(async {
                if let [name] = some {
                    return gone(bucket.client.delete(&bucket.path(kind, name)).await);
                }
                let paths: Vec<_> = some.iter().map(|name| Ok(bucket.path(kind, name))).collect();
                let mut outcomes = bucket.client.delete_stream(stream::iter(paths).boxed());
                while let Some(outcome) = outcomes.next().await {
                    gone(outcome.map(|_| ()))?;
                }
                Ok(())
            });
            let what = format!("cannot remove from {}/{}", bucket.name, kind.folder());
            bucket.written(removed).map_err(bucket.failed(what))?;
        }
        Ok(())
    }

    fn pace(&self) -> Pace {
        Pace { concurrent_writes: CONCURRENT_TRANSFERS, late_writes: LATE_WRITES }
    }

    fn is_settled(&self) -> bool {
        !self.0.in_doubt.load(Ordering::Acquire)
    }
}

fn gone(outcome: Outcome<()>) -> Outcome<()> {
    match outcome {
        Err(object_store::Error::NotFound { .. }) => Ok(()),
        outcome => outcome,
    }
}
