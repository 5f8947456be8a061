//! One situation after another.
