//! What a call draws from.

use std::fmt;
use std::sync::Arc;

use crate::classify::{Call, Charge, Class};

/// Who a call is charged to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Payer {
    /// A digest of the principal the token claims to speak for.
    pub claimed: u128,
    /// A digest of the token itself.
    pub token: u128,
    /// Whether ARM has shown that it accepts the token.
    pub vouched: bool,
}

impl Payer {
    /// Whose gates this payer's 429s close. A forged token must not close the gate of whom it imitates.
    pub(super) const fn account(self) -> Account {
        if self.vouched { Account::Principal(self.claimed) } else { Account::Token(self.token) }
    }
}

impl fmt::Debug for Payer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payer")
            .field("claimed", &format_args!("{:08x}", self.claimed >> 96))
            .field("token", &format_args!("{:08x}", self.token >> 96))
            .field("vouched", &self.vouched)
            .finish()
    }
}

/// Whose budget one of ARM's front door is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Account {
    /// A principal's, by the digest of its name.
    Principal(u128),
    /// A token's that is not vouched for.
    Token(u128),
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Principal(digest) => write!(f, "principal {:08x}", digest >> 96),
            Self::Token(digest) => write!(f, "unvouched token {:08x}", digest >> 96),
        }
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a 429 says is used up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Budget {
    /// ARM's, of one principal in one subscription.
    Arm {
        /// The subscription.
        subscription: Arc<str>,
        /// Whose.
        payer: Account,
        /// For which calls.
        charge: Charge,
    },
    /// ARM's, of one principal outside of subscriptions.
    ArmTenant {
        /// Whose.
        payer: Account,
        /// For which calls.
        charge: Charge,
    },
    /// A provider's policy, for every class of calls whose answers carried its name.
    Provider {
        /// The subscription, `None` outside of subscriptions.
        subscription: Option<Arc<str>>,
        /// The policy in lower case, with its provider: `microsoft.compute/highcostget30min`.
        policy: Arc<str>,
    },
    /// A provider's or ARM's, for one class of calls: the policy has no name, or one not met before.
    Class {
        /// The subscription, `None` outside of subscriptions.
        subscription: Option<Arc<str>>,
        /// The class.
        class: Class,
    },
    /// A provider's, for one class of calls on one resource.
    Resource {
        /// The resource in canonical form.
        resource: Arc<str>,
        /// The class.
        class: Class,
    },
}

impl Budget {
    /// All words [`Budget::kind`] can give.
    pub const KINDS: [&'static str; 5] = ["arm", "arm_tenant", "provider", "class", "resource"];

    /// The word used in logs and metrics.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        Self::KINDS[self.index()]
    }

    pub(super) const fn index(&self) -> usize {
        match self {
            Self::Arm { .. } => 0,
            Self::ArmTenant { .. } => 1,
            Self::Provider { .. } => 2,
            Self::Class { .. } => 3,
            Self::Resource { .. } => 4,
        }
    }

    /// The subscription, where the budget is of one and it is not part of a resource's name.
    #[must_use]
    pub fn subscription(&self) -> Option<&str> {
        match self {
            Self::Arm { subscription, .. } => Some(subscription),
            Self::Provider { subscription, .. } | Self::Class { subscription, .. } => subscription.as_deref(),
            Self::ArmTenant { .. } | Self::Resource { .. } => None,
        }
    }

    /// ARM's budget that `account` draws from with a call.
    pub(super) fn at_front_door(call: &Call, payer: Account, charge: Charge) -> Self {
        match &call.subscription {
            Some(subscription) => Self::Arm { subscription: subscription.clone(), payer, charge },
            None => Self::ArmTenant { payer, charge },
        }
    }

    pub(super) fn of_class(call: &Call) -> Self {
        Self::Class { subscription: call.subscription.clone(), class: call.class.clone() }
    }

    pub(super) fn of_resource(call: &Call) -> Option<Self> {
        let resource = call.resource.clone()?;
        Some(Self::Resource { resource, class: call.class.clone() })
    }

    pub(super) fn of_policy(call: &Call, policy: Arc<str>) -> Self {
        Self::Provider { subscription: call.subscription.clone(), policy }
    }

    /// Whether only one unvouched token is concerned.
    pub(super) const fn is_of_a_token(&self) -> bool {
        matches!(
            self,
            Self::Arm { payer: Account::Token(_), .. } | Self::ArmTenant { payer: Account::Token(_), .. }
        )
    }
}

/// For people, callers included: whose budget it is they know, or need not.
impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arm { subscription, charge, .. } => {
                write!(f, "ARM's {} budget in subscription {subscription}", charge.as_str())
            }
            Self::ArmTenant { charge, .. } => write!(f, "ARM's {} budget in the tenant", charge.as_str()),
            Self::Provider { subscription, policy } => {
                write!(f, "the provider's budget {policy}")?;
                within(f, subscription.as_deref())
            }
            Self::Class { subscription, class } => {
                write!(f, "the budget for \"{class}\"")?;
                within(f, subscription.as_deref())
            }
            Self::Resource { resource, class } => write!(f, "the budget for \"{class}\" on {resource}"),
        }
    }
}

fn within(f: &mut fmt::Formatter<'_>, subscription: Option<&str>) -> fmt::Result {
    subscription.map_or(Ok(()), |subscription| write!(f, " in subscription {subscription}"))
}
