//! Turns errors of the S3 client into one line with the remedy.

use std::error::Error as _;
use std::io;

use object_store::Error as S3Error;
use object_store::client::{HttpError, HttpErrorKind};

use super::Bucket;
use crate::error::Error;

impl Bucket {
    /// The error of an attempt such as "cannot read pack 12".
    pub(super) fn failed(&self, what: impl Into<String>) -> impl FnOnce(S3Error) -> Error {
        let what = what.into();
        move |error| {
            let (kind, why) = match &error {
                _ if code(&error).as_deref() == Some("NoSuchBucket") => {
                    return Error::NoSuchBucket { what, server: self.server.clone() };
                }
                S3Error::NotFound { .. } => (io::ErrorKind::NotFound, "it does not exist".into()),
                S3Error::PermissionDenied { .. } | S3Error::Unauthenticated { .. } => {
                    let code = code(&error).unwrap_or_else(|| "403".into());
                    return Error::AccessDenied { what, server: self.server.clone(), code };
                }
                _ => (io::ErrorKind::Other, self.why(&error)),
            };
            Error::Io { what, source: io::Error::new(kind, why) }
        }
    }

    pub(super) fn why(&self, error: &S3Error) -> String {
        let innermost = text(error);
        let whole = error.to_string();
        if whole.contains("169.254.") {
            return "no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".into();
        }
        match http(error) {
            Some(HttpErrorKind::Timeout) => format!("{} does not answer in time", self.server),
            Some(_) => format!("no connection to {} ({innermost})", self.server),
            None => match code(error) {
                Some(code) => format!("{} answered {code}", self.server),
                None => format!("{innermost} ({})", self.server),
            },
        }
    }
}

/// Whether the server has answered: then the request has no effect later.
pub(super) fn is_answer(error: &S3Error) -> bool {
    matches!(
        error,
        S3Error::NotFound { .. }
            | S3Error::PermissionDenied { .. }
            | S3Error::Unauthenticated { .. }
            | S3Error::Precondition { .. }
    )
}

/// Whether the requested range begins after the end of the object.
pub(super) fn is_past_the_end(error: &S3Error) -> bool {
    code(error).as_deref() == Some("InvalidRange") || error.to_string().contains(": 416 ")
}

/// The error code in the answer of the server.
fn code(error: &S3Error) -> Option<String> {
    let text = error.to_string();
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    Some(code.chars().filter(char::is_ascii_alphanumeric).take(60).collect())
}

/// How the connection failed, if it did.
fn http(error: &S3Error) -> Option<HttpErrorKind> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<HttpError>() {
            return Some(error.kind());
        }
        cause = error.source();
    }
    None
}

/// The innermost cause, the only one that a user can act on.
pub(super) fn text(error: &S3Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let text = cause.to_string();
    let line = text.lines().next().unwrap_or_default().trim_end_matches([':', ' ']);
    line.chars().take(200).collect()
}
