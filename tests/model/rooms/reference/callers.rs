//! P2: no kept byte reaches a caller that ARM has not itself let in.

use std::time::Duration;

use armshield::clock::Moment;

use super::{Asker, Fetch, How, Reference, Tick};
use crate::rooms::people::{TOKENS, is_forged};
use crate::rooms::table::QUESTIONS;

/// How long a token is believed after ARM let it in.
const VOUCH_FOR: Duration = Duration::from_secs(600);

#[derive(Debug, Default)]
pub(super) struct Callers {
    vouchers: [Voucher; TOKENS],
    /// Who was refused where, and when that was known.
    refused: Vec<(usize, String, Tick)>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Voucher {
    until: Moment,
    refused: Tick,
}

impl Reference {
    /// A request came. Gives back when.
    pub fn came_in(&mut self, person: usize) -> Tick {
        self.tick("a request came from person", person)
    }

    /// Whether ARM has let in this very token a short while ago.
    pub fn is_vouched(&self, token: usize, expired: bool, now: Moment) -> bool {
        !expired && now < self.callers.vouchers[token].until
    }

    /// ARM answered a call that came in then with a success that proves that it let the token in.
    pub fn let_in(&mut self, token: usize, came_in: Tick, expired: bool, now: Moment) {
        let voucher = &mut self.callers.vouchers[token];
        if !expired && came_in > voucher.refused {
            voucher.until = voucher.until.max(now + VOUCH_FOR);
        }
        if is_forged(token) {
            self.wrong("ARM let in a forged token");
        }
    }

    /// ARM answered 401.
    pub fn turned_away(&mut self, token: usize) {
        let refused = self.tick("401 got token", token);
        self.callers.vouchers[token] = Voucher { until: Moment::ZERO, refused };
    }

    /// ARM answered 403 to a token that was believed when it asked.
    pub fn forbidden(&mut self, principal: usize, path: &str) {
        let tick = self.tick("403 got principal", principal);
        self.callers.refused.push((principal, path.to_lowercase(), tick));
    }

    pub(super) fn is_let_in(&self, asker: &Asker, fetch: &Fetch, how: How) -> Result<(), String> {
        let own = fetch.principal == asker.principal() && fetch.question == asker.question;
        if !own {
            return Err("P2: it was made for another caller, or is the answer to another question".into());
        }
        if how == How::Memory && !asker.vouched {
            return Err("P2: ARM has not let this token in".into());
        }
        let taken_away = fetch.sent.is_some_and(|(sent, _)| self.is_taken_away(asker, sent));
        if taken_away { Err("P2: ARM has refused it to this caller since".into()) } else { Ok(()) }
    }

    fn is_taken_away(&self, asker: &Asker, sent: Tick) -> bool {
        let target = QUESTIONS[asker.question].target().to_lowercase();
        let path = target.split('?').next().unwrap_or_default();
        let below =
            |at: &str| path.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let refused = &self.callers.refused;
        refused.iter().any(|(who, at, when)| *who == asker.principal() && sent < *when && below(at))
    }
}
