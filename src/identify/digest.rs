//! Keyed digests: what is left of a token when it has been looked at.
//!
//! The key is random and never leaves the process, so a digest in a dump cannot be checked against a guess.
//! Every input is length-prefixed and belongs to a purpose: two different inputs never feed the same bytes.

use std::fmt;

/// What a digest stands for. Digests of different purposes never meet.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    Token = 1,
    ExactCaller,
    ClaimedCaller,
    Claim,
    Principal,
    Application,
    Exact,
    Client,
    UnprovenClient,
}

/// The secret of this process under which digests are made.
#[derive(Clone)]
pub(super) struct Key([u8; 32]);

impl Key {
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self(key))
    }

    pub(super) const fn fixed(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// Begins a digest.
    pub(super) fn absorb(&self, purpose: Purpose) -> Absorb {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&[purpose as u8]);
        Absorb(hasher)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// A digest in the making.
pub(super) struct Absorb(blake3::Hasher);

impl Absorb {
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.count(bytes.len());
        self.0.update(bytes);
        self
    }

    pub(super) fn count(&mut self, count: usize) -> &mut Self {
        self.0.update(&(count as u64).to_le_bytes());
        self
    }

    pub(super) fn mark(&mut self, mark: u8) -> &mut Self {
        self.0.update(&[mark]);
        self
    }

    pub(super) fn bits(&mut self, bits: u128) -> &mut Self {
        self.0.update(&bits.to_le_bytes());
        self
    }

    /// A text that may be absent, which differs from an empty one.
    pub(super) fn option(&mut self, text: Option<&str>) -> &mut Self {
        match text {
            Some(text) => self.mark(1).bytes(text.as_bytes()),
            None => self.mark(0),
        }
    }

    pub(super) fn finish(&self) -> u128 {
        let mut half = [0; 16];
        half.copy_from_slice(&self.0.finalize().as_bytes()[..16]);
        u128::from_le_bytes(half)
    }
}

macro_rules! digest {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u128);

        impl $name {
            pub(super) const fn of(bits: u128) -> Self {
                Self(bits)
            }

            /// The digest itself: 128 bits that mean something only in this process.
            #[must_use]
            pub const fn bits(self) -> u128 {
                self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:08x})"), (self.0 >> 96) as u32)
            }
        }
    };
}

digest! {
    /// The very token: everything in `Authorization` and `x-ms-authorization-auxiliary`, byte for byte.
    Token
}
digest! {
    /// Whom ARM would judge: all that a token says except what changes between tokens of one principal.
    Caller
}
digest! {
    /// Whom ARM charges: tenant and object id (or subject). Only claimed until the token is vouched.
    Principal
}
digest! {
    /// A program of a principal on a machine: a unit of behaviour, never of rights, and often several processes.
    Client
}
digest! {
    /// A principal through one application: the (tid, oid, appid) of a token.
    Application
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_inputs_feed_the_same_bytes() {
        let key = Key::fixed([7; 32]);
        let two =
            |a: &str, b: &str| key.absorb(Purpose::Claim).bytes(a.as_bytes()).bytes(b.as_bytes()).finish();
        assert_ne!(two("ab", "c"), two("a", "bc"));
        assert_eq!(two("ab", "c"), two("ab", "c"));
        let option = |text| key.absorb(Purpose::Claim).option(text).finish();
        assert_ne!(option(None), option(Some("")));
        assert_ne!(key.absorb(Purpose::Token).finish(), key.absorb(Purpose::Claim).finish());
    }

    #[test]
    fn another_key_makes_another_digest() {
        let of = |key: &Key| key.absorb(Purpose::Token).bytes(b"x").finish();
        assert_ne!(of(&Key::random().unwrap()), of(&Key::random().unwrap()));
        assert_ne!(of(&Key::fixed([1; 32])), of(&Key::fixed([2; 32])));
    }

    #[test]
    fn only_the_beginning_of_a_digest_is_ever_printed() {
        let bits = 0x1234_5678_9abc_def0_1122_3344_5566_7788;
        assert_eq!(format!("{:?}", Token::of(bits)), "Token(12345678)");
        assert_eq!(format!("{:?}", Caller::of(bits)), "Caller(12345678)");
        assert_eq!(format!("{:?}", Key::fixed([0x41; 32])), "Key");
    }
}
