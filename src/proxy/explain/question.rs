//! A request that may come, from whoever sends it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::request::Parts;
use http::uri::Authority;
use http::{HeaderValue, Request, header};

use crate::identify::{Known, Peer};
use crate::listen::{Dialled, Entrance, Refusal};
use crate::policy::Policy;
use crate::proxy::rooms::Rooms;
use crate::proxy::visit::Visit;
use crate::upstream::hop;

use super::inquiry::{Inquiry, NotExplained};

/// The name that is dialled where none is given.
const OURS: &str = "localhost";

/// A request that may come.
pub(super) struct Question {
    head: Parts,
    entrance: Entrance,
    dialled: Arc<Dialled>,
    policy: Arc<Policy>,
}

impl Question {
    pub(super) fn new(rooms: &Rooms, inquiry: &Inquiry, policy: Arc<Policy>) -> Result<Self, NotExplained> {
        let listen = &rooms.settings.listen;
        let host = inquiry.host.as_deref().unwrap_or(OURS);
        let mut local = listen.address;
        // Listening everywhere, it has whatever address was dialled.
        if let (true, Some(address)) = (local.ip().is_unspecified(), address(host)) {
            local.set_ip(address);
        }
        let entrance = Entrance::new(SocketAddr::new(inquiry.peer, 0), local).secured(None);
        let mut head = Request::new(()).into_parts().0;
        head.method = inquiry.method.clone();
        head.uri = inquiry.target.clone();
        head.headers = inquiry.headers.clone();
        head.headers.insert(header::HOST, HeaderValue::from_str(host).map_err(|_| NotExplained::Host)?);
        let dialled = match entrance.dialled(listen, &head) {
            Ok(dialled) => dialled,
            // The endpoint's own name, as it stands in the configuration, means ARM.
            Err(Refusal::Misdirected { .. }) if is_endpoint(rooms, host) => {
                Dialled::Ours { authority: OURS.to_owned() }
            }
            Err(refusal) => return Err(NotExplained::Dialled(refusal.to_string())),
        };
        hop::strip(&mut head.headers);
        Ok(Self { head, entrance, dialled: Arc::new(dialled), policy })
    }

    /// The request as it would come from this asker.
    pub(super) fn visit(&self, rooms: &Rooms, known: &Known) -> Visit {
        let peer = Peer { ip: self.peer(), loopback: self.peer().is_loopback() };
        let agent = self.head.headers.get(header::USER_AGENT).map_or(&b""[..], |value| value.as_bytes());
        let identity = rooms.identify.meet(known, agent, peer, &self.policy);
        let (dialled, policy) = (self.dialled.clone(), self.policy.clone());
        Visit::new(rooms, self.head.clone(), &self.entrance, dialled, identity, policy)
    }

    pub(super) fn agent(&self) -> String {
        let agent = self.head.headers.get(header::USER_AGENT).map_or(&b""[..], |value| value.as_bytes());
        String::from_utf8_lossy(agent).into_owned()
    }

    pub(super) const fn peer(&self) -> IpAddr {
        self.entrance.peer.ip()
    }
}

/// The address that an authority is made of, if it is.
fn address(authority: &str) -> Option<IpAddr> {
    let authority: Authority = authority.parse().ok()?;
    authority.host().trim_matches(['[', ']']).parse().ok()
}

fn is_endpoint(rooms: &Rooms, host: &str) -> bool {
    let endpoint = &rooms.settings.endpoint;
    host.eq_ignore_ascii_case(&endpoint.to_string()) || host.eq_ignore_ascii_case(&endpoint.host)
}
