//! Bytes of a backup repository: every kind of object is refused, or can be used.

/// Decodes the bytes after the first one as the kind of object that the first one selects.
pub fn check(bytes: &[u8]) {
    cuculus_backup::fuzz::decode(bytes);
}

#[cfg(all(test, not(feature = "s3")))]
mod tests {
    use cuculus_backup::{Error, Parameters, Repository};

    /// The fuzz targets build the backup without its feature `s3`, and are the only tests that do:
    /// a step of `cargo xtask test` runs this one.
    #[test]
    fn without_s3_the_error_says_how_to_install_it() {
        let bucket = std::path::Path::new("s3://bucket/repo");
        let created = Repository::create(bucket, &Parameters::default(), None);
        for error in [Repository::find(bucket).err(), created.err()] {
            assert!(matches!(error, Some(Error::BuiltWithoutS3)), "{error:?}");
            assert!(error.is_some_and(|error| error.to_string().contains("--features s3")));
        }
        assert!(!std::path::Path::new("s3:").exists());
    }
}
