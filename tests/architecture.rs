//! Holds each room to the rooms it may use.
