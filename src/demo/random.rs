//! Chance with a seed.

/// Numbers that look random and are the same for the same seed (SplitMix64, Steele and others, 2014).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// The numbers of one of the clients: every `stream` of a seed differs.
    pub(super) const fn of(seed: u64, stream: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ stream.wrapping_mul(0x9e6c_63d0_876a_9a47))
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `least` to `most`, both included.
    pub(super) const fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most.saturating_sub(least) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u64, stream: u64) -> Vec<u64> {
        let mut random = Random::of(seed, stream);
        (0..50).map(|_| random.between(3, 9)).collect()
    }

    #[test]
    fn equal_seeds_give_equal_numbers_and_no_others_do() {
        assert_eq!(drawn(1, 1), drawn(1, 1));
        assert_ne!(drawn(1, 1), drawn(2, 1));
        assert_ne!(drawn(1, 1), drawn(1, 2));
        for number in 3..=9 {
            assert!(drawn(1, 1).contains(&number), "{number} is never drawn");
        }
        assert!(drawn(1, 1).iter().all(|number| (3..=9).contains(number)));
    }
}
