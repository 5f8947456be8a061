use http::Version;

use super::peers::*;
use super::*;

fn presenting(name: &'static str) -> Arc<Wires> {
    let peer = service(|request: Request<_>| async move {
        assert_eq!(request.version(), Version::HTTP_2);
        answer("two")
    });
    Wires::expect(1, move |_, io| {
        if name == "arm.test" {
            return two(&peer, io);
        }
        Dialled::Peer(Box::pin(async move {
            let _ = accept(name, &["h2"], io).await;
        }))
    })
}

#[tokio::test(start_paused = true)]
async fn http2_is_chosen_where_the_peer_has_it() {
    assert_eq!(text(upstream(&presenting("arm.test")).send(get(TWO)).await.unwrap()).await, "two");
}

#[tokio::test(start_paused = true)]
async fn a_certificate_of_an_unknown_ca_is_not_trusted() {
    let wires = presenting("other.test");
    let error = with(Settings { ca: Vec::new(), ..settings() }, &wires).send(put(TWO)).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_reached()), (Kind::Tls, false));
    assert_eq!(error.to_string(), "no TLS with arm.test: invalid peer certificate: UnknownIssuer");
}

#[tokio::test(start_paused = true)]
async fn a_certificate_for_another_name_is_not_trusted() {
    let error = upstream(&presenting("other.test")).send(put(TWO)).await.unwrap_err();
    assert_eq!((error.kind, error.may_have_reached()), (Kind::Tls, false));
    let text = error.to_string();
    assert!(
        text.starts_with("no TLS with arm.test: invalid peer certificate: certificate not valid for name"),
        "{text}"
    );
    assert!(text.contains("other.test"), "{text}");
}

#[test]
fn a_certificate_that_is_none_is_numbered() {
    let ca = vec![ca().certificate.clone(), b"not a certificate".to_vec().into()];
    let wires = Wires::expect(0, |_, _| Dialled::Silence);
    let settings = Settings { ca, ..settings() };
    let error = Upstream::new(&settings, wires, Clock::boot()).unwrap_err();
    assert_eq!(error.number, 2);
}
