//! The configuration as everybody else sees it: settings for the rooms, data for what is no room.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::arm::Cloud;
use crate::policy::Policy;
use crate::upstream::{Scheme, Target};
use crate::{admit, cache, guard, identify, listen, observe, operations, scopes, upstream};

/// Everything an operator decided.
#[derive(Debug)]
pub struct Configuration {
    /// The file it was read from, if any.
    pub file: Option<PathBuf>,
    /// Which cloud's names are known.
    pub cloud: Cloud,
    /// Where ARM is.
    pub endpoint: Target,
    /// Rules, profiles, modes.
    pub policy: Policy,
    /// The entrance, the names of the cloud's ARM included.
    pub listen: listen::Settings,
    /// What the entrance shows who it is with, if it speaks https.
    pub tls: Option<Tls>,
    /// The admin server.
    pub admin: Admin,
    /// An address of its own for health and metrics.
    pub health: Option<SocketAddr>,
    /// How ARM is reached.
    pub upstream: upstream::Settings,
    /// Who asks.
    pub identify: identify::Settings,
    /// What writes reach, and for how long.
    pub scopes: scopes::Settings,
    /// What is kept.
    pub cache: cache::Settings,
    /// What clients were shown.
    pub guard: guard::Settings,
    /// What ARM allows.
    pub admit: admit::Settings,
    /// What writes began.
    pub operations: operations::Settings,
    /// Logs.
    pub log: observe::Settings,
    /// What is allowed and probably not meant, one line each.
    pub warnings: Vec<String>,
}

/// A certificate chain and its key, which fit together.
#[derive(Debug)]
pub struct Tls {
    /// The leaf first.
    pub chain: Vec<CertificateDer<'static>>,
    /// Debug output leaves it out.
    pub key: PrivateKeyDer<'static>,
}

/// The admin server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin {
    /// Where it listens.
    pub address: SocketAddr,
    /// Whether it asks for no token.
    pub open: bool,
    /// The file with the token. It need not be there yet.
    pub token: PathBuf,
}

impl Configuration {
    /// What holds where nothing is stated, with the admin token in a folder of state.
    pub(super) fn new(state: &Path) -> Self {
        let cloud = Cloud::default();
        Self {
            file: None,
            cloud,
            endpoint: endpoint_of(cloud),
            policy: Policy::default(),
            listen: listen::Settings::default(),
            tls: None,
            admin: Admin {
                address: SocketAddr::from((Ipv4Addr::LOCALHOST, 7789)),
                open: false,
                token: state.join("admin-token"),
            },
            health: None,
            upstream: upstream::Settings::default(),
            identify: identify::Settings::default(),
            scopes: scopes::Settings::default(),
            cache: cache::Settings::default(),
            guard: guard::Settings::default(),
            admit: admit::Settings::default(),
            operations: operations::Settings::default(),
            log: observe::Settings::default(),
            warnings: Vec::new(),
        }
    }

    /// Takes a cloud's own names and its front door.
    pub(super) fn enter_cloud(&mut self, cloud: Cloud) {
        self.cloud = cloud;
        self.endpoint = endpoint_of(cloud);
        self.listen.know_arm_as(cloud.arm_host());
    }
}

fn endpoint_of(cloud: Cloud) -> Target {
    Target { scheme: Scheme::Https, host: cloud.arm_host().to_owned(), port: Scheme::Https.default_port() }
}
