//! A few calls over real sockets, in real time.

use tokio::net::TcpListener;

use super::peers::*;
use super::*;

async fn send(settings: Settings, url: &str) -> Result<Response<Body>, SendError> {
    let connector = Arc::new(settings.connector());
    Upstream::new(&settings, connector, Clock::boot()).unwrap().send(get(url)).await
}

async fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[tokio::test]
async fn a_refused_connection_names_its_address() {
    let (listener, port) = listener().await;
    drop(listener);
    let error = send(settings(), &format!("http://127.0.0.1:{port}")).await.unwrap_err();
    let expected =
        format!("cannot connect to 127.0.0.1:{port}: 127.0.0.1:{port}: Connection refused (os error 111)");
    assert_eq!((error.kind, error.to_string()), (Kind::Connect, expected));
}

#[tokio::test]
async fn an_address_of_the_settings_is_dialled_instead_of_the_name() {
    let (listener, port) = listener().await;
    tokio::spawn(async move {
        let peer = service(|request: Request<_>| async move {
            Response::new(Body::full(request.headers()["host"].to_str().unwrap().to_owned()))
        });
        serve_one(peer, listener.accept().await.unwrap().0).await;
    });
    let address = Some(format!("127.0.0.1:{port}").parse().unwrap());
    let answer = send(Settings { address, ..settings() }, "http://no.such.name.invalid").await.unwrap();
    assert_eq!(text(answer).await, "no.such.name.invalid");
}
