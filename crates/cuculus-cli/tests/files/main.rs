//! The commands on lines and on filters in files, run as the binary: real files, real pipes, killed
//! processes and full disks.

#[path = "../binary/mod.rs"]
mod binary;
mod workshop; // a directory to work in, and the binary with something on its standard input

mod commands; // each command on each kind of filter
mod dedup; // data sets without repeated documents
mod refusals; // errors are one line, and nothing is lost
mod replacing; // a file is whole at any moment
mod uniq; // each line once
