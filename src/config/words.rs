//! Words, URLs and addresses, as the types they stand for.

use std::net::SocketAddr;

use super::values::Kind;
use crate::arm::Cloud;
use crate::observe::Format;
use crate::policy::{GuardMode, Links, Mode, Priority, Repeat};
use crate::upstream::{Address, Proxy, Target};

/// A type that a few words stand for.
macro_rules! words {
    ($($kind:ty: $words:literal, $read:expr;)*) => {$(
        impl Kind for $kind {
            type Value = Self;

            fn read(text: &str) -> Result<Self, String> {
                let read: fn(&str) -> Option<Self> = $read;
                read(text).ok_or_else(|| format!("one of {} is needed", $words))
            }
        }
    )*};
}

words! {
    Mode: "active, shadow, pass", Self::from_word;
    GuardMode: "off, observe, enforce", Self::from_word;
    Cloud: "public, china, usgovernment", Self::from_word;
    Format: "text, json", Self::from_word;
    Repeat: "refresh, cached", |word| match word {
        "refresh" => Some(Self::Refresh),
        "cached" => Some(Self::Cached),
        _ => None,
    };
    Priority: "low, normal, high", |word| match word {
        "low" => Some(Self::Low),
        "normal" => Some(Self::Normal),
        "high" => Some(Self::High),
        _ => None,
    };
    Links: "rewrite, leave", |word| match word {
        "rewrite" => Some(Self::Rewrite),
        "leave" => Some(Self::Leave),
        _ => None,
    };
}

impl Kind for SocketAddr {
    type Value = Self;

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "write an IP address and a port, as 127.0.0.1:7788 or [::1]:7788".to_owned())
    }
}

impl Kind for Target {
    type Value = Self;

    fn read(text: &str) -> Result<Self, String> {
        Self::from_url(text).map_err(|error| error.to_string())
    }
}

impl Kind for Address {
    type Value = Self;

    fn read(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| "write a host with or without a port, as 10.0.0.4 or arm.internal:8443".to_owned())
    }
}

impl Kind for Proxy {
    type Value = Self;

    /// The text can hold a password, so nothing of it is repeated.
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| "write a proxy as http://host:port or http://user:password@host:port".to_owned())
    }
}
