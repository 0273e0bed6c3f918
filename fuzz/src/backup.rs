//! Bytes of a backup repository: every kind of object is refused, or can be used.

use arbitrary::Arbitrary;

use crate::parameters::all_of;

/// The kind of object, and its bytes.
#[derive(Arbitrary, Debug)]
pub struct Input(#[arbitrary(with = all_of)] Vec<u8>);

pub fn check(input: &Input) {
    cuculus_backup::fuzz::decode(&input.0);
}

#[cfg(all(test, not(feature = "s3")))]
mod tests {
    use cuculus_backup::{Error, Parameters, Repository};

    /// The fuzz targets build the backup without its features `s3` and `sftp`, and are the only tests
    /// that do: a step of `cargo xtask test` runs this one.
    #[test]
    fn without_s3_the_error_says_how_to_install_it() {
        for (place, feature) in [("s3://bucket/repo", "s3"), ("sftp://host/repo", "sftp")] {
            let path = std::path::Path::new(place);
            let created = Repository::create(path, &Parameters::default(), None);
            for error in [Repository::find(path).err(), created.err()] {
                let is_typed =
                    matches!(error, Some(Error::BuiltWithout { feature: of }) if of == feature);
                assert!(is_typed, "{error:?}");
                let said = error.map(|error| error.to_string()).unwrap_or_default();
                assert!(said.contains(&format!("--features {feature}")), "{said}");
            }
        }
        assert!(!std::path::Path::new("s3:").exists());
        assert!(!std::path::Path::new("sftp:").exists());
    }
}
