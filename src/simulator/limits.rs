//! How much is allowed: the published sizes of the buckets.
//!
//! Sources: `MicrosoftDocs/azure-docs` `request-limits-and-throttling.md` (2025) for ARM,
//! `MicrosoftDocs/azure-compute-docs` `compute-throttling-limits.md` for Compute.

/// A token bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Calls of one burst.
    pub capacity: f64,
    /// Calls that come back each second.
    pub refill: f64,
}

impl Rate {
    /// A bucket of that size.
    #[must_use]
    pub const fn new(capacity: f64, refill: f64) -> Self {
        Self { capacity, refill }
    }

    const fn a_minute(capacity: f64, refill: f64) -> Self {
        Self { capacity, refill: refill / 60.0 }
    }
}

/// The limits of one class of Compute calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// The stem of its name; `ResourceMaximum` and `SubscriptionMaximum` are put behind it.
    pub name: &'static str,
    /// For one resource.
    pub resource: Option<Rate>,
    /// For the subscription.
    pub subscription: Rate,
}

/// All limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// ARM: subscription and principal.
    pub reads: Rate,
    /// ARM: subscription and principal.
    pub writes: Rate,
    /// ARM: subscription and principal.
    pub deletes: Rate,
    /// ARM: all principals of a subscription get this many times as much.
    pub principals: f64,
    /// Compute's classes, by name.
    pub compute: Vec<Policy>,
    /// Whether a refused call is charged as well. Not documented.
    pub charge_refused: bool,
}

impl Limits {
    /// The published limits of the public cloud.
    #[must_use]
    pub fn published() -> Self {
        let policy = |name, resource: Option<(f64, f64)>, (capacity, refill)| Policy {
            name,
            resource: resource.map(|(capacity, refill)| Rate::a_minute(capacity, refill)),
            subscription: Rate::a_minute(capacity, refill),
        };
        let few = Some((12.0, 4.0));
        Self {
            reads: Rate::new(250.0, 25.0),
            writes: Rate::new(200.0, 10.0),
            deletes: Rate::new(200.0, 10.0),
            principals: 15.0,
            compute: vec![
                policy("PutVMScaleSet", few, (375.0, 125.0)),
                policy("UpdateVMScaleSet", few, (1500.0, 500.0)),
                policy("DeleteVMScaleSet", few, (525.0, 175.0)),
                policy("GetVMScaleSet", Some((36.0, 12.0)), (2400.0, 800.0)),
                policy("HighCostGetVMScaleSet", Some((30.0, 10.0)), (1080.0, 360.0)),
                policy("UpdateVMScaleSetVM", few, (1500.0, 500.0)),
                policy("DeleteVMScaleSetVM", few, (1500.0, 500.0)),
                policy("GetVMScaleSetVM", Some((36.0, 12.0)), (6000.0, 2000.0)),
                policy("PutVM", few, (1500.0, 500.0)),
                policy("UpdateVM", few, (1500.0, 500.0)),
                policy("DeleteVM", few, (1500.0, 500.0)),
                policy("LowCostGetVM", Some((36.0, 12.0)), (24_000.0, 8000.0)),
                policy("HighCostGetVM", None, (900.0, 300.0)),
                policy("GetOperation", Some((45.0, 15.0)), (15_000.0, 5000.0)),
            ],
            charge_refused: false,
        }
    }

    /// The scheme of the clouds that still count by the hour.
    #[must_use]
    pub fn hourly() -> Self {
        let hourly = |calls: f64| Rate::new(calls, calls / 3600.0);
        Self {
            reads: hourly(12_000.0),
            writes: hourly(1_200.0),
            deletes: hourly(15_000.0),
            ..Self::published()
        }
    }
}
