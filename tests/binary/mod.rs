//! The binaries as they are run: flags, files, the ready line, exit codes, signals, the admin port. Real
//! processes and sockets on loopback, in real time.

mod admin;
mod commands;
mod demo;
mod explain;
mod process;
mod readme;
