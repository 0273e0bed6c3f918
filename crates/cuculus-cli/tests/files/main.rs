//! The commands on lines and on filters in files, through their real door: the binary, real files,
//! real pipes, killed processes and full disks.

#[path = "../binary/mod.rs"]
mod binary;
mod workshop; // a directory to work in, and the binary with something on its standard input

mod commands; // each command on each kind of filter
mod refusals; // what is wrong is said in one line, and nothing is lost
mod replacing; // a file is whole at any moment, whatever happens
mod uniq;
