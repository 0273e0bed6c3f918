//! Restores trees. Knows the order: contents, owner, mode, attributes, times, and a directory after
//! its contents. A file whose bytes cannot be restored exactly is left out and reported.

mod apply; // metadata
mod large; // one file, by several threads
mod write; // one file

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::error::{DamagedPart, Error, Result};
use crate::progress::Progress;
use crate::repository::Repository;
use crate::snapshot::Snapshot;
use crate::source::Source;
use crate::tree::{self, DirReader, DirRef, Node, NodeKind};

use apply::Target;
use large::{FilePart, LargeFile};

/// Threads that read packs and write files. Each has caches of its own, which are smaller the more
/// there are.
const MAX_WORKERS: usize = 4;
/// Small files are handed over together, so that workers are woken less often.
const JOBS_PER_BATCH: usize = 16;
/// Or fewer, if they are larger.
const BYTES_PER_BATCH: u64 = 1 << 20;
const BATCHES_PER_WORKER: usize = 4;

/// What to restore, and where to.
#[derive(Clone, Debug, Default)]
pub struct RestoreOptions {
    /// The directory to restore to.
    pub target: PathBuf,
    /// Paths in the snapshot; an empty list means all.
    pub include: Vec<PathBuf>,
    /// Replace existing files.
    pub overwrite: bool,
    /// Write nothing, but read and verify everything.
    pub dry_run: bool,
}

/// What was restored.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct RestoreReport {
    /// Files, links and devices.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Total size of the files.
    pub bytes: u64,
    /// Paths that could not be restored exactly; each was reported.
    pub problems: u64,
}

impl Repository {
    /// Restores the files of a snapshot to a directory.
    ///
    /// # Errors
    /// If the target is not empty (without `overwrite`), a path is not in the snapshot, or the root
    /// of the snapshot cannot be read. Single files that cannot be restored are reported as
    /// problems and counted.
    pub fn restore(
        &self,
        snapshot: &Snapshot,
        options: &RestoreOptions,
        progress: &dyn Progress,
    ) -> Result<RestoreReport> {
        let workers = thread::available_parallelism().map_or(1, |n| n.get().min(MAX_WORKERS));
        let mut source = Source::one_of(self, workers + 1)?;
        let include: Vec<Vec<u8>> = options.include.iter().map(|path| normal(path)).collect();
        for (path, given) in include.iter().zip(&options.include) {
            let found = tree::resolve(&mut source.chunks, &snapshot.root, path)?;
            if found.is_none() && !path.is_empty() {
                return Err(Error::PathNotFound { path: given.clone(), snapshot: snapshot.name });
            }
        }
        let mut nodes = DirReader::new(&snapshot.root);
        let first = source.next_node(&mut nodes)?;
        if !options.dry_run {
            prepare(&options.target, options.overwrite)?;
        }
        progress.phase("restoring", Some(snapshot.bytes));
        let shared = Shared {
            overwrite: options.overwrite,
            dry_run: options.dry_run,
            progress,
            files: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            problems: AtomicU64::new(0),
        };
        let mut sources = Vec::new();
        for _ in 0..workers {
            sources.push(Source::one_of(self, workers + 1)?);
        }
        let (jobs, waiting) = mpsc::sync_channel(BATCHES_PER_WORKER * sources.len());
        let waiting = Mutex::new(waiting);
        let directories = thread::scope(|scope| {
            for source in sources {
                scope.spawn(|| work(&shared, source, &waiting));
            }
            let mut walk = Walk {
                shared: &shared,
                source,
                include,
                links: HashMap::new(),
                jobs,
                batch: Batch::default(),
                directories: 0,
            };
            walk.nodes(&options.target, b"", first, nodes, &None);
            walk.send();
            walk.directories
        });
        Ok(RestoreReport {
            files: shared.files.load(Ordering::Acquire),
            directories,
            bytes: shared.bytes.load(Ordering::Acquire),
            problems: shared.problems.load(Ordering::Acquire),
        })
    }
}

/// A path of a snapshot: each name after a slash, without a slash at the end.
fn normal(path: &Path) -> Vec<u8> {
    let names = path.as_os_str().as_bytes().split(|&byte| byte == b'/');
    names.filter(|name| !name.is_empty() && *name != b".").fold(Vec::new(), |mut path, name| {
        path.push(b'/');
        path.extend_from_slice(name);
        path
    })
}

fn prepare(target: &Path, overwrite: bool) -> Result<()> {
    let made = DirBuilder::new().recursive(true).create(target);
    made.map_err(Error::at("create", target))?;
    let mut there = fs::read_dir(target).map_err(Error::at("read", target))?;
    if there.next().is_some() && !overwrite {
        return Err(Error::NotEmpty {
            location: target.display().to_string(),
            remedy: "restore to an empty directory, or use --overwrite",
        });
    }
    Ok(())
}

struct Shared<'a> {
    overwrite: bool,
    dry_run: bool,
    progress: &'a dyn Progress,
    files: AtomicU64,
    bytes: AtomicU64,
    problems: AtomicU64,
}

impl Shared<'_> {
    fn problem(&self, path: &Path, what: &dyn std::fmt::Display) {
        self.problems.fetch_add(1, Ordering::Relaxed);
        self.progress.problem(&format!("{}: {what}", path.display()));
    }

    fn count_file(&self, node: &Node) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(node.size(), Ordering::Relaxed);
        self.progress.advance(node.size());
    }
}

/// A restored directory. Its metadata is applied when the last thread that writes below it is done:
/// a file that is created changes its directory's time.
struct Directory<'a> {
    shared: &'a Shared<'a>,
    target: PathBuf,
    node: Node,
    _parent: Parent<'a>,
}

type Parent<'a> = Option<Arc<Directory<'a>>>;

impl Drop for Directory<'_> {
    fn drop(&mut self) {
        if !self.shared.dry_run {
            for problem in apply::metadata(Target::Path(&self.target), &self.node) {
                self.shared.problem(&self.target, &problem);
            }
        }
    }
}

enum Job<'a> {
    /// A file, link or device.
    Whole {
        target: PathBuf,
        node: Node,
        _parent: Parent<'a>,
    },
    Part(FilePart<'a>),
}

/// Files for one worker.
#[derive(Default)]
struct Batch<'a> {
    jobs: Vec<Job<'a>>,
    bytes: u64,
}

fn work<'a>(shared: &Shared<'a>, mut source: Source<'_>, waiting: &Mutex<Receiver<Batch<'a>>>) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Batch { jobs, .. }) = next else { return };
        for job in jobs {
            match job {
                Job::Part(part) => part.restore(&mut source),
                Job::Whole { target, node, _parent } => {
                    if let Err(error) = write::node(shared, &mut source, &target, &node) {
                        shared.problem(&target, &error);
                    }
                }
            }
        }
    }
}

/// Walks the tree; files go to the workers.
struct Walk<'a> {
    shared: &'a Shared<'a>,
    source: Source<'a>,
    include: Vec<Vec<u8>>,
    /// The first restored path of each file with several hard links.
    links: HashMap<(u64, u64), PathBuf>,
    jobs: SyncSender<Batch<'a>>,
    batch: Batch<'a>,
    directories: u64,
}

impl<'a> Walk<'a> {
    /// Whether a path is included, or leads to one that is.
    fn wanted(&self, path: &[u8]) -> bool {
        let below = |path: &[u8], dir: &[u8]| {
            path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        self.include.is_empty()
            || self.include.iter().any(|asked| below(path, asked) || below(asked, path))
    }

    /// Restores a directory, of which the first node was read already.
    fn nodes(
        &mut self,
        target: &Path,
        within: &[u8],
        first: Option<Node>,
        mut nodes: DirReader,
        parent: &Parent<'a>,
    ) {
        let mut next = first;
        while let Some(node) = next {
            let path = [within, b"/", &node.name].concat();
            if self.wanted(&path) {
                let target = target.join(OsStr::from_bytes(&node.name));
                if let Err(error) = self.node(&target, &path, node, parent.clone()) {
                    self.shared.problem(&target, &error);
                }
            }
            next = match self.source.next_node(&mut nodes) {
                Ok(next) => next,
                Err(error) => return self.shared.problem(target, &error),
            };
        }
    }

    fn node(&mut self, target: &Path, path: &[u8], node: Node, parent: Parent<'a>) -> Result<()> {
        if path.len() > tree::MAX_PATH_LEN {
            return Err(Error::damage(DamagedPart::Directory, tree::PATH_TOO_LONG));
        }
        if let NodeKind::Dir(dir) = &node.kind {
            let mut nodes = DirReader::new(dir);
            // Before anything in its place is replaced.
            let first = self.source.next_node(&mut nodes)?;
            self.directories += 1;
            if !self.shared.dry_run {
                self.make_dir(target)?;
            }
            let node = Node { kind: NodeKind::Dir(DirRef::default()), ..node };
            let (shared, target) = (self.shared, target.to_owned());
            let directory = Directory { shared, target: target.clone(), node, _parent: parent };
            self.nodes(&target, path, first, nodes, &Some(Arc::new(directory)));
            return Ok(());
        }
        let Some(link) = node.meta.link else {
            return self.file(target, node, parent);
        };
        // Files with several names are few, and the first must exist before the others.
        match self.links.get(&link) {
            Some(first) if !self.shared.dry_run => write::link(self.shared, first, target, &node),
            _ => {
                write::node(self.shared, &mut self.source, target, &node)?;
                self.links.insert(link, target.to_owned());
                Ok(())
            }
        }
    }

    /// Hands a file to the workers: whole, or in parts if it is large. They end after the sender is
    /// dropped, not before.
    fn file(&mut self, target: &Path, node: Node, parent: Parent<'a>) -> Result<()> {
        let Some(content) = large::content(&node).filter(|_| !self.shared.dry_run) else {
            self.batch.bytes = self.batch.bytes.saturating_add(node.size());
            let job = Job::Whole { target: target.to_owned(), node, _parent: parent };
            self.batch.jobs.push(job);
            if self.batch.jobs.len() >= JOBS_PER_BATCH || self.batch.bytes >= BYTES_PER_BATCH {
                self.send();
            }
            return Ok(());
        };
        let content = content.clone();
        let file = Arc::new(LargeFile::create(self.shared, target, node, parent)?);
        let jobs = &self.jobs;
        let divided = large::divide(&file, &mut self.source, &content, &mut |part| {
            let _ = jobs.send(Batch { jobs: vec![Job::Part(part)], bytes: 0 });
        });
        if let Err(error) = divided {
            file.fail(&error);
        }
        Ok(())
    }

    fn send(&mut self) {
        let _ = self.jobs.send(std::mem::take(&mut self.batch));
    }

    /// An existing directory is fine; a link to one is not, since it may lead out of the target.
    fn make_dir(&self, target: &Path) -> Result<()> {
        match fs::symlink_metadata(target) {
            Ok(there) if there.is_dir() => return Ok(()),
            Ok(_) if self.shared.overwrite => {
                fs::remove_file(target).map_err(Error::at("replace", target))?;
            }
            _ => {}
        }
        DirBuilder::new().mode(0o700).create(target).map_err(Error::at("create", target))
    }
}
