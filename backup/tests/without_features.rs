//! The backup without its features `s3` and `sftp`, which all other tests have.
#![cfg(not(any(feature = "s3", feature = "sftp")))]

use std::path::Path;

use cuculus_backup::{Error, Parameters, Repository};

#[test]
fn without_s3_the_error_says_how_to_install_it() {
    for (place, feature) in [("s3://bucket/repo", "s3"), ("sftp://host/repo", "sftp")] {
        let path = Path::new(place);
        let created = Repository::create(path, &Parameters::default(), None);
        for error in [Repository::find(path).err(), created.err()] {
            let is_typed =
                matches!(error, Some(Error::BuiltWithout { feature: of }) if of == feature);
            assert!(is_typed, "{error:?}");
            let said = error.map(|error| error.to_string()).unwrap_or_default();
            assert!(said.contains(&format!("--features {feature}")), "{said}");
        }
    }
    assert!(!Path::new("s3:").exists());
    assert!(!Path::new("sftp:").exists());
}
