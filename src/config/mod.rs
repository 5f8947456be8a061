//! What an operator decided, read once and before anything is bound: defaults, then the file, then the
//! environment, then flags.
//!
//! - Only this room reads the environment and the files that the configuration names.
//! - An empty file is complete: a key that is not stated keeps the default of the room it is for.
//! - Unknown keys are errors. A bad configuration is one line that names file, line and key.
//! - No value is repeated in an error where it could be a secret.

mod bad;
mod cache;
mod client;
mod configuration;
mod document;
mod entrance;
mod limits;
mod load;
mod names;
mod pem;
mod rule;
mod sections;
mod state;
#[cfg(test)]
mod tests;
mod upstream;
mod values;
mod warnings;
mod words;

pub use bad::{BadConfiguration, EXIT_CODE};
pub use configuration::{Admin, Configuration, Tls};
pub use load::{Overrides, environment, load};
pub use state::state_folder;
