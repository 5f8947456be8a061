//! One request and everything decided about it before it goes its way.

use std::fmt;
use std::sync::Arc;

use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, Method, Request, Uri, header};

use crate::admit::Payer;
use crate::arm::{Query, headers};
use crate::body::Body;
use crate::classify::{Asked, Call, Intent};
use crate::clock::Moment;
use crate::guard::Viewer;
use crate::identify::Identity;
use crate::listen::{Dialled, Entrance};
use crate::policy::{Links, Mode, Policy, Profile};
use crate::rewrite::Way;
use crate::upstream::{Outbound, Scheme, Target};

use super::rooms::Rooms;

/// A request, understood. Debug output shows neither headers nor query, which hold tokens and signatures.
#[derive(Clone)]
pub(super) struct Visit {
    pub(super) started: Moment,
    pub(super) policy: Arc<Policy>,
    pub(super) identity: Identity,
    pub(super) mode: Mode,
    pub(super) asked: Asked,
    pub(super) method: Method,
    /// Path and query as the client wrote them.
    pub(super) target: PathAndQuery,
    pub(super) headers: HeaderMap,
    secure: bool,
    dialled: Arc<Dialled>,
}

impl fmt::Debug for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visit")
            .field("method", &self.method)
            .field("path", &self.path())
            .field("intent", &self.asked.intent)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

impl Visit {
    pub(super) fn new(
        rooms: &Rooms,
        head: http::request::Parts,
        entrance: &Entrance,
        dialled: Arc<Dialled>,
        identity: Identity,
        policy: Arc<Policy>,
    ) -> Self {
        let target = target_of(head.uri);
        let query = Query::parse(target.query().unwrap_or_default());
        let asked = Asked::new(&head.method, target.path(), &query, &policy);
        let mode = policy.mode_of(&identity.profile);
        Self {
            started: rooms.clock.now(),
            mode,
            asked,
            policy,
            identity,
            method: head.method,
            target,
            headers: head.headers,
            secure: entrance.secure,
            dialled,
        }
    }

    pub(super) fn profile(&self) -> &Profile {
        &self.identity.profile
    }

    /// Who the client is, once an answer has said whether ARM lets its token in.
    pub(super) fn client(&self, proven: bool) -> u128 {
        let identity = &self.identity;
        if proven { identity.claimed_client().bits() } else { identity.client.bits() }
    }

    /// The same as the guard knows it.
    pub(super) fn viewer(&self, client: u128) -> Viewer<'_> {
        Viewer { client, caller: self.identity.caller.bits(), profile: self.profile() }
    }

    /// Whether it asks for an operation: by the form of its path, or because some write's answer named this
    /// very address.
    pub(super) fn is_poll(&self, rooms: &Rooms) -> bool {
        self.asked.intent == Intent::Poll || rooms.operations.polled(self.target.as_str()).is_some()
    }

    pub(super) fn query(&self) -> Query<'_> {
        Query::parse(self.target.query().unwrap_or_default())
    }

    /// The path as the client wrote it.
    pub(super) fn path(&self) -> &str {
        self.target.path()
    }

    /// The call it makes, as ARM's limits see it.
    pub(super) fn call(&self) -> Call {
        Call::of(&self.method, self.asked.path.as_ref())
    }

    /// Who pays for the calls this request makes.
    pub(super) const fn payer(&self) -> Payer {
        Payer {
            claimed: self.identity.principal.bits(),
            token: self.identity.token.bits(),
            vouched: self.identity.is_vouched(),
        }
    }

    /// How the client dialled us: where links have to lead. `None` where they stay as they are.
    pub(super) fn way(&self) -> Option<Way<'_>> {
        let authority = match &*self.dialled {
            Dialled::Ours { .. } if self.profile().links == Links::Leave => return None,
            Dialled::Ours { authority } => authority,
            Dialled::Arm { host } => host,
        };
        Some(Way { secure: self.secure, authority })
    }

    /// The name of ours that the client dialled, and whether through TLS.
    pub(super) fn front(&self) -> Way<'_> {
        let (Dialled::Ours { authority: name } | Dialled::Arm { host: name }) = &*self.dialled;
        Way { secure: self.secure, authority: name }
    }

    /// Whether the client dialled us by a name of ours.
    pub(super) fn is_reverse(&self) -> bool {
        matches!(*self.dialled, Dialled::Ours { .. })
    }

    /// The ARM host the client dialled, where it is not the cloud's global one: regions answer for themselves.
    fn region<'a>(&'a self, rooms: &Rooms) -> Option<&'a str> {
        match &*self.dialled {
            Dialled::Arm { host } if host != rooms.settings.cloud.arm_host() => Some(host),
            Dialled::Arm { .. } | Dialled::Ours { .. } => None,
        }
    }

    /// The upstream as a key knows it: the endpoint and its cloud's global name are one.
    pub(super) fn authority<'a>(&'a self, rooms: &Rooms) -> &'a str {
        self.region(rooms).unwrap_or("")
    }

    /// The call to ARM that carries this request with this body.
    pub(super) fn outbound(&self, rooms: &Rooms, headers: HeaderMap, body: Body, streamed: bool) -> Outbound {
        let endpoint = &rooms.settings.endpoint;
        let mut request = Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.target.clone().into();
        *request.headers_mut() = headers;
        request.headers_mut().remove(header::HOST);
        let host = match &*self.dialled {
            Dialled::Ours { .. } => endpoint.to_string(),
            Dialled::Arm { host } => host.clone(),
        };
        // A custom endpoint stands for every region; ARM's own hosts are each dialled by their name.
        let target = match &*self.dialled {
            Dialled::Arm { host } if rooms.settings.cloud.is_arm_host(&endpoint.host) => {
                Target { scheme: Scheme::Https, host: host.clone(), port: endpoint.port }
            }
            Dialled::Arm { .. } | Dialled::Ours { .. } => endpoint.clone(),
        };
        Outbound { target, host, request, streamed }
    }

    /// The id by which client and operator find this exchange again.
    pub(super) fn correlation(&self) -> &str {
        let id = |name: &HeaderName| self.headers.get(name)?.to_str().ok();
        let id = id(&headers::CORRELATION_ID).or_else(|| id(&headers::CLIENT_REQUEST_ID)).unwrap_or_default();
        // What a header holds as text is ASCII.
        &id[..id.len().min(64)]
    }
}

fn target_of(uri: Uri) -> PathAndQuery {
    match uri.into_parts().path_and_query {
        // An absolute target may have an empty path, which is sent as a slash (RFC 9112 §3.2.1).
        Some(target) if target.as_str().starts_with('?') => target.to_string().try_into().unwrap_or(target),
        Some(target) => target,
        None => PathAndQuery::from_static("/"),
    }
}
