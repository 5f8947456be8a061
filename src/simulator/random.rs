//! Numbers and identifiers that depend on the seed alone.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A small generator (SplitMix64): equal seeds give equal runs.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, 0 if `limit` is 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next().checked_rem(limit).unwrap_or(0)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        std::iter::repeat_with(|| self.next().to_le_bytes()).flatten().take(count).collect()
    }

    pub(crate) fn guid(&mut self) -> String {
        guid(u128::from(self.next()) << 64 | u128::from(self.next()))
    }

    /// Base64 text that stands for `count` unreadable bytes.
    pub(crate) fn opaque(&mut self, count: usize) -> String {
        URL_SAFE_NO_PAD.encode(self.bytes(count))
    }
}

/// The identifier that belongs to a name, the same in every run.
pub(crate) fn guid_of(name: &str) -> String {
    let digest = blake3::hash(name.as_bytes());
    let half: [u8; 16] = std::array::from_fn(|at| digest.as_bytes()[at]);
    guid(u128::from_le_bytes(half))
}

fn guid(bits: u128) -> String {
    let hex = format!("{bits:032x}");
    format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_guids() {
        let (mut one, mut two) = (Random::seeded(7), Random::seeded(7));
        let first = one.guid();
        assert_eq!(first, two.guid());
        assert_ne!(first, one.guid());
        assert_eq!(first.len(), 36);
        assert_eq!(guid_of("ccm"), guid_of("ccm"));
    }
}
