//! A repository in a directory of another machine, reached by SFTP. Knows paths and requests; nothing
//! of what the objects contain. The files are those of a repository in a local directory.

mod address; // sftp://HOST/PATH
mod connection; // the ssh process
mod objects; // write and read an object

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{try_join, try_join_all};
use futures_util::{StreamExt, TryStreamExt, stream};
use openssh_sftp_client::file::TokioCompatFile;
use openssh_sftp_client::fs::DirEntry;
use openssh_sftp_client::metadata::Permissions;
use openssh_sftp_client::{Error as SftpError, UnixTimeStamp};

use super::cached::Remote;
use super::local::{DRAFTS, REMOTE_DRAFT, STALE_DRAFT_AGE};
use super::read_ahead::RemoteObject;
use super::{Draft, GoOn, Object, ObjectKind, Pace, Place, SINGLETON, Store};
use crate::clock::is_past;
use crate::error::{Error, Result};
use crate::id::Name;
use address::Address;
use connection::{Connection, Outcome, is_missing};
use objects::{OpenFile, SftpDraft};

/// Packs written concurrently.
const CONCURRENT_WRITES: usize = 2;
/// Requests for removals, and for listings of directories, under way at a time.
const REQUESTS: usize = 32;
/// Listings of runs that are replaced all the time.
const MAX_LISTINGS: u32 = 20;
/// After a process was killed, what it sent may still be on its way: `ssh` notices a dead line within
/// a minute, and the system gives up what it has sent within two.
const LATE_WRITES: Duration = Duration::from_secs(180);

pub(crate) struct SftpStore(Arc<Directory>);

struct Directory {
    connection: Connection,
    root: PathBuf,
    address: Address,
}

impl Directory {
    fn path(&self, kind: ObjectKind, name: &Name) -> PathBuf {
        self.root.join(kind.key(name))
    }

    /// Creates a directory that only its owner can read, unless it exists.
    async fn make(&self, path: &Path) -> Outcome<()> {
        let Ok(sftp) = self.connection.sftp() else { return Ok(()) };
        let mut fs = sftp.fs();
        let made = fs.dir_builder().permissions(Permissions::from(0o700)).create(path).await;
        match made {
            // Servers do not say that it exists, only that they failed.
            Err(error) => match fs.metadata(path).await {
                Ok(found) if found.file_type().is_none_or(|kind| kind.is_dir()) => Ok(()),
                _ => Err(error),
            },
            made => made,
        }
    }

    async fn entries(&self, path: &Path) -> Outcome<Vec<DirEntry>> {
        let Ok(sftp) = self.connection.sftp() else { return Ok(Vec::new()) };
        let entries = sftp.fs().open_dir(path).await?.read_dir();
        Box::pin(entries).try_collect().await
    }

    fn failed_at(&self, doing: &str, path: &Path) -> impl FnOnce(SftpError) -> Error {
        self.connection.failed(format!("cannot {doing} {}", path.display()))
    }

    fn list_once(&self, kind: ObjectKind) -> Result<Vec<(Name, u64)>> {
        let root = self.root.join(kind.folder());
        let listed = self.connection.wait(async {
            let named = |entry: &DirEntry| {
                let name = entry.filename().to_str().and_then(Name::parse)?;
                Some((name, entry.metadata().len().unwrap_or(0)))
            };
            let folder = |entry: &DirEntry| {
                let text = entry.filename().to_str().filter(|text| text.len() == 2)?;
                text.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| root.join(text))
            };
            let entries = self.entries(&root).await?;
            let mut found: Vec<(Name, u64)> = entries.iter().filter_map(named).collect();
            if kind == ObjectKind::Pack {
                let folders: Vec<PathBuf> = entries.iter().filter_map(folder).collect();
                let below = folders.iter().map(|folder| self.entries(folder));
                let mut below = stream::iter(below).buffer_unordered(REQUESTS);
                while let Some(entries) = below.try_next().await? {
                    found.extend(entries.iter().filter_map(named));
                }
            }
            Ok(found)
        });
        listed.map_err(self.failed_at("list", &root))
    }

    fn open(self: &Arc<Self>, kind: ObjectKind, name: &Name) -> Result<RemoteObject<OpenFile>> {
        let path = self.path(kind, name);
        let sftp = self.connection.sftp()?;
        let opened = self.connection.wait(async {
            let mut fs = sftp.fs();
            try_join(sftp.open(&path), fs.metadata(&path)).await
        });
        let what = format!("cannot open {}", kind.describe(name));
        let (file, meta) = opened.map_err(self.connection.failed(what))?;
        let len = meta.len().unwrap_or(0);
        let source = OpenFile { directory: Arc::clone(self), file };
        Ok(RemoteObject::new(source, kind, name, len))
    }
}

impl SftpStore {
    /// Of what follows `sftp://`.
    pub(super) fn new(place: &str) -> Result<Self> {
        let address = Address::parse(place)?;
        let connection = Connection::open(&address)?;
        let root = address.path.clone();
        Ok(Self(Arc::new(Directory { connection, root, address })))
    }
}

impl Place for SftpStore {
    fn identity(&self) -> String {
        self.0.address.to_string()
    }

    /// Creates the directories of a new repository. Its root may exist, but must be empty.
    fn prepare(&self) -> Result<()> {
        let (directory, root) = (&self.0, &self.0.root);
        let connection = &directory.connection;
        // All directories above that do not exist.
        let mut above: Vec<&Path> =
            root.ancestors().take_while(|path| path.parent().is_some()).collect();
        above.reverse();
        let made = connection.wait(async {
            for path in above.into_iter().filter(|path| !path.as_os_str().is_empty()) {
                directory.make(path).await?;
            }
            directory.entries(root).await
        });
        let entries = connection.written(made).map_err(directory.failed_at("create", root))?;
        let occupied = |remedy| Error::NotEmpty { location: directory.address.to_string(), remedy };
        let ours = |text: &str| {
            [".", ".."].contains(&text)
                || ObjectKind::folders().chain([DRAFTS]).any(|folder| folder == text)
        };
        if !entries.iter().all(|entry| entry.filename().to_str().is_some_and(ours)) {
            return Err(occupied("give the repository a directory of its own"));
        }
        let folders = ObjectKind::folders().chain([DRAFTS]).map(|folder| root.join(folder));
        let folders: Vec<PathBuf> = folders.collect();
        let made = connection.wait(try_join_all(folders.iter().map(|path| directory.make(path))));
        connection.written(made).map_err(directory.failed_at("create", root))?;
        // A repository that has lost its configuration is no empty place.
        for kind in [ObjectKind::Pack, ObjectKind::Snapshot] {
            if !self.list(kind)?.is_empty() {
                return Err(occupied("it holds a repository without its configuration"));
            }
        }
        Ok(())
    }
}

impl Remote for SftpStore {
    type Draft = SftpDraft;

    fn begin(&self, kind: ObjectKind, name: &Name) -> Result<SftpDraft> {
        let directory = Arc::clone(&self.0);
        let file = format!("{REMOTE_DRAFT}{}", Name::random()?);
        let path = directory.root.join(DRAFTS).join(file);
        let sftp = directory.connection.sftp()?;
        let mut options = sftp.options();
        let opened = options.write(true).create_new(true).open(&path);
        let opened = directory.connection.wait(opened);
        let file = directory.connection.written(opened);
        let file = file.map_err(directory.failed_at("create", &path))?;
        let file = Some(Box::pin(TokioCompatFile::new(file)));
        Ok(SftpDraft { directory, file, path, kind, name: *name })
    }

    fn fetch(&self, kind: ObjectKind, name: &Name, out: &mut dyn Write) -> Result<()> {
        let object = self.0.open(kind, name)?;
        let what = format!("cannot read {}", kind.describe(name));
        let each = |bytes: &[u8]| out.write_all(bytes).map_err(Error::io(&*what));
        object.source.stream(&object, 0..object.len, each)
    }
}

impl Store for SftpStore {
    fn draft(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Draft>> {
        Ok(Box::new(self.begin(kind, name)?))
    }

    fn list(&self, kind: ObjectKind) -> Result<Vec<(Name, u64)>> {
        if kind.is_single() {
            let sftp = self.0.connection.sftp()?;
            let path = self.0.path(kind, &SINGLETON);
            return match self.0.connection.wait(sftp.fs().metadata(&path)) {
                Ok(file) => Ok(vec![(SINGLETON, file.len().unwrap_or(0))]),
                Err(error) if is_missing(&error) => Ok(Vec::new()),
                Err(error) => Err(self.0.failed_at("read", &path)(error)),
            };
        }
        let mut listed = self.0.list_once(kind)?;
        // A server leaves out what is removed while it lists. A run was replaced then, by one that the
        // listing may not have: only what is listed twice is complete.
        if matches!(kind, ObjectKind::Run | ObjectKind::Forgotten) {
            listed.sort_unstable();
            for _ in 0..MAX_LISTINGS {
                let mut again = self.0.list_once(kind)?;
                again.sort_unstable();
                if again == listed {
                    break;
                }
                listed = again;
            }
        }
        Ok(listed)
    }

    fn open(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Object>> {
        Ok(Box::new(self.0.open(kind, name)?))
    }

    fn remove_all(&self, kind: ObjectKind, names: &[Name], go_on: GoOn<'_>) -> Result<()> {
        let (connection, sftp) = (&self.0.connection, self.0.connection.sftp()?);
        for some in names.chunks(REQUESTS) {
            go_on()?;
            let gone = some.iter().map(|name| async {
                match sftp.fs().remove_file(self.0.path(kind, name)).await {
                    Err(error) if is_missing(&error) => Ok(()),
                    outcome => outcome,
                }
            });
            let gone = connection.wait(try_join_all(gone));
            let folder = self.0.root.join(kind.folder());
            connection.written(gone).map_err(self.0.failed_at("remove from", &folder))?;
        }
        Ok(())
    }

    /// By their age: a server has no locks that tell whether a draft is in use.
    fn sweep_drafts(&self) -> Result<u64> {
        let (connection, sftp) = (&self.0.connection, self.0.connection.sftp()?);
        let folder = self.0.root.join(DRAFTS);
        let drafts = connection.wait(self.0.entries(&folder));
        let drafts = drafts.map_err(self.0.failed_at("list", &folder))?;
        let mut swept = 0;
        for draft in drafts {
            let meta = draft.metadata();
            let changed = meta.modified().map(UnixTimeStamp::as_system_time);
            let is_file = meta.file_type().is_some_and(|kind| kind.is_file());
            if is_file && is_past(changed, STALE_DRAFT_AGE) {
                let path = folder.join(draft.filename());
                match connection.written(connection.wait(sftp.fs().remove_file(path))) {
                    Err(error) if is_missing(&error) => {}
                    removed => {
                        removed.map_err(self.0.failed_at("remove from", &folder))?;
                        swept += meta.len().unwrap_or(0);
                    }
                }
            }
        }
        Ok(swept)
    }

    fn pace(&self) -> Pace {
        Pace { concurrent_writes: CONCURRENT_WRITES, late_writes: LATE_WRITES }
    }

    fn is_settled(&self) -> bool {
        self.0.connection.is_settled()
    }
}
