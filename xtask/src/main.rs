//! Set-up, test and release commands.
fn main() {}
