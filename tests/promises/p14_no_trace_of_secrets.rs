//! P14: tokens, signatures and keys leave no trace.
