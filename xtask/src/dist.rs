//! `cargo xtask dist`: the module and the Python package as people install them. Knows the files of the
//! module's package; the libraries are built as everywhere.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::run::{output_of, program, root, step, target_directory};
use crate::{tools, valkey, wheel};

const PACKAGING: &str = "crates/cuculus-valkey/packaging";
const LIBRARY: &str = "libcuculus_valkey.so";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Where Debian's servers keep modules. The library is in the first, the others point to it.
const MODULES: [&str; 2] = ["usr/lib/redis/modules", "usr/lib/valkey/modules"];
const DOCUMENTS: &str = "usr/share/doc/cuculus-valkey";

pub(crate) fn run() -> Result<()> {
    valkey::prepare()?;
    tools::debian(&[tools::DPKG])?;
    let module = valkey::build_for_release()?;
    let place = target_directory().join("dist");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::create_dir_all(&place)?;
    fs::copy(&module, place.join(LIBRARY))?;
    for file in ["Containerfile", "cuculus.conf"] {
        fs::copy(root().join(PACKAGING).join(file), place.join(file))?;
    }
    let package = debian_package(&place)?;
    let mut files = vec![LIBRARY.into(), package, "Containerfile".into(), "cuculus.conf".into()];
    files.extend(wheel::dist(&place)?);
    let mut sums = program("sha256sum", files.iter().map(String::as_str));
    fs::write(place.join("SHA256SUMS"), output_of(sums.current_dir(&place))?)?;
    println!("\n    {} has {} and SHA256SUMS", place.display(), files.join(", "));
    Ok(())
}

/// Makes the package; returns its name.
fn debian_package(place: &Path) -> Result<String> {
    let architecture = output_of(&mut program("dpkg", ["--print-architecture"]))?;
    let architecture = architecture.trim();
    let tree = place.join("tree");
    let library = fs::read(place.join(LIBRARY))?;
    let [first, others @ ..] = MODULES;
    put(&tree, &format!("{first}/{LIBRARY}"), &library)?;
    // Servers refuse a module that is not executable.
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(tree.join(first).join(LIBRARY), executable)?;
    for other in others {
        let directory = tree.join(other);
        fs::create_dir_all(&directory)?;
        std::os::unix::fs::symlink(format!("/{first}/{LIBRARY}"), directory.join(LIBRARY))?;
    }
    let text = |path: &str| fs::read(root().join(path));
    put(
        &tree,
        &format!("{DOCUMENTS}/examples/cuculus.conf"),
        &text(&format!("{PACKAGING}/cuculus.conf"))?,
    )?;
    put(&tree, &format!("{DOCUMENTS}/valkey.md"), &text("docs/valkey.md")?)?;
    let licences = [text("LICENSE-MIT")?, b"\n".to_vec(), text("LICENSE-APACHE")?].concat();
    put(&tree, &format!("{DOCUMENTS}/copyright"), &licences)?;
    let control = control(architecture, &newest_glibc(&library), library.len());
    put(&tree, "DEBIAN/control", control.as_bytes())?;
    let name = format!("cuculus-valkey_{VERSION}_{architecture}.deb");
    let mut build = program("dpkg-deb", ["--build", "--root-owner-group"]);
    step("package", build.arg(&tree).arg(place.join(&name)))?;
    fs::remove_dir_all(tree)?;
    Ok(name)
}

fn put(tree: &Path, path: &str, bytes: &[u8]) -> Result<()> {
    let path: PathBuf = tree.join(path);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    Ok(fs::write(path, bytes)?)
}

fn control(architecture: &str, glibc: &str, size: usize) -> String {
    format!(
        "Package: cuculus-valkey\nVersion: {VERSION}\nArchitecture: {architecture}\nSection: database\n\
         Priority: optional\nMaintainer: The cuculus developers <cuculus@users.noreply.github.com>\n\
         Installed-Size: {}\nDepends: libc6 (>= {glibc}), libgcc-s1\nSuggests: redis-server | valkey-server\n\
         Description: cuckoo filters for Valkey and Redis\n The CF.* commands on filters that grow and \
         shrink with their sets.\n Load the module with the line in\n \
         /{DOCUMENTS}/examples/cuculus.conf.\n",
        size.div_ceil(1024)
    )
}

/// The newest version of the C library whose symbols a library uses.
fn newest_glibc(library: &[u8]) -> String {
    let mut newest = (2, 17);
    for (at, _) in library.windows(8).enumerate().filter(|(_, bytes)| bytes == b"GLIBC_2.") {
        let rest = &library[at + 8..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
        let minor: u32 = digits.fold(0, |number, byte| number * 10 + u32::from(byte - b'0'));
        newest = newest.max((2, minor));
    }
    format!("{}.{}", newest.0, newest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_counts_as_a_number() {
        assert_eq!(newest_glibc(b"..GLIBC_2.9\0GLIBC_2.34\0GLIBC_2.4"), "2.34");
        assert_eq!(newest_glibc(b"GLIBC_PRIVATE"), "2.17");
    }

    #[test]
    fn the_control_file_has_no_empty_line() {
        let control = control("amd64", "2.34", 5000);
        assert!(control.ends_with('\n') && !control.contains("\n\n"), "{control}");
        assert!(control.contains("\nInstalled-Size: 5\n"), "{control}");
    }
}
