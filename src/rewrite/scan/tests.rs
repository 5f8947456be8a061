use std::convert::Infallible;

use http::HeaderMap;
use http_body_util::BodyExt;
use proptest::prelude::*;

use super::*;
use crate::arm::{Cloud, Document};

const OURS: Way<'static> = Way { secure: true, authority: "armshield.example" };
const LINK: &str = "https://management.azure.com/subscriptions/s?$skipToken=a";
const BACK: &str = "https://armshield.example/subscriptions/s?$skipToken=a";

fn links() -> Arc<Links> {
    Arc::new(Links::new(Cloud::Public, Way { secure: true, authority: "management.azure.com" }))
}

/// What comes out when these pieces go in.
fn passed<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut scanner = Scanner::new(links(), OURS);
    let mut out = VecDeque::new();
    for piece in pieces {
        scanner.feed(&Bytes::copy_from_slice(piece), &mut out);
        assert!(scanner.held.len() < Beginning::ENOUGH);
    }
    scanner.finish(&mut out);
    assert!(out.iter().all(|piece| !piece.is_empty()));
    out.iter().flatten().copied().collect()
}

fn check(body: &str, wanted: &str) {
    let whole = passed([body.as_bytes()]);
    assert_eq!(String::from_utf8(whole).unwrap(), wanted, "{body}");
    let single = passed(body.as_bytes().chunks(1));
    assert_eq!(String::from_utf8(single).unwrap(), wanted, "byte by byte: {body}");
}

#[test]
fn the_top_level_link_leads_back() {
    let check_in = |around: &str| check(&around.replace("LINK", LINK), &around.replace("LINK", BACK));
    check_in(r#"{"value":[],"nextLink":"LINK"}"#);
    check_in(r#"{"nextLink":"LINK","value":[{"a":"b"}]}"#);
    check_in("\u{feff}\r\n{\r\n  \"value\" : [ ] ,\r\n  \"nextLink\" : \"LINK\"\r\n}\r\n");
    check_in(r#"{"next\u004cink":"LINK"}"#);
    check_in(r#"{"\u006E\u0065xtLin\u006b":"LINK"}"#);
    check_in(r#"{"a":1,"b":null,"c":true,"d":-1.5e3,"e":"x","f":{},"g":[[]],"nextLink":"LINK","h":{}}"#);
    check_in(r#"{"a":"\"\\","nextLink":"LINK"}"#);
    check_in(r#"{"nextLink":"LINK","nextLink":"LINK"}"#);
}

#[test]
fn escaped_links_keep_the_bytes_behind_the_authority() {
    check(
        r#"{"nextLink":"https:\/\/management.azure.com\/a?b\u0026c\"d","value":[]}"#,
        r#"{"nextLink":"https://armshield.example\/a?b\u0026c\"d","value":[]}"#,
    );
    check(
        r#"{"nextLink":"\u0068ttps\u003a\u002f\u002fmanagement.azure.com\u002f"}"#,
        r#"{"nextLink":"https://armshield.example\u002f"}"#,
    );
}

#[test]
fn everything_else_passes_byte_for_byte() {
    for around in [
        r#"{"value":[{"nextLink":"LINK"}]}"#,
        r#"{"properties":{"nextLink":"LINK"}}"#,
        r#"{"a":"\"nextLink\":\"LINK\""}"#,
        r#"{"a":"nextLink","b":"LINK"}"#,
        r#"{"NextLink":"LINK"}"#,
        r#"{"nextLin":"LINK","nextLinks":"LINK","nextLink\u0000":"LINK","\"nextLink":"LINK"}"#,
        r#"{"nextLink":["LINK"]}"#,
        r#"{"nextLink":{"nextLink":"LINK"}}"#,
        r#"{"nextLink":null,"a":"LINK"}"#,
        r#"{"nextLink":"","a":"LINK"}"#,
        r#"{"nextLink":"/relative?LINK"}"#,
        r#"[{"nextLink":"LINK"}]"#,
        r#""nextLink":"LINK""#,
        r#"{}{"nextLink":"LINK"}"#,
        r#"{"a":1}"nextLink":"LINK""#,
        r#"{"a" "nextLink":"LINK"}"#,
        r#"{"a":"b" "nextLink":"LINK"}"#,
        r#"{,"nextLink":"LINK"}"#,
        r#"{"a":]"nextLink":"LINK"}"#,
        r#"x{"nextLink":"LINK"}"#,
        r#"<a nextLink="LINK">"#,
        "",
        "{",
        r#"{"nextLink":"#,
    ] {
        let body = around.replace("LINK", LINK);
        check(&body, &body);
    }
}

#[test]
fn a_body_that_breaks_off_loses_nothing() {
    let body = format!(r#"{{"nextLink":"{LINK}"}}"#);
    for end in 0..body.len() {
        let kept = &body[..end];
        let out = String::from_utf8(passed([kept.as_bytes()])).unwrap();
        assert!(out == kept || out == kept.replace("management.azure.com", "armshield.example"), "{out}");
    }
}

#[test]
fn endless_links_are_turned_back_without_being_held() {
    for tail in ["x".repeat(50_000), r"\u0026".repeat(5_000), r#"\""#.repeat(5_000), r"\\".repeat(5_000)] {
        let body =
            |link: &str| format!(r#"{{"nextLink":"{link}{tail}","value":["nextLink"],"nextLink":"{link}"}}"#);
        let (before, after) = (body(LINK), body(BACK));
        for size in [1, 7, 4096, before.len()] {
            assert!(passed(before.as_bytes().chunks(size)) == after.as_bytes());
        }
    }
    let no_link = format!(r#"{{"nextLink":"{}"}}"#, "h".repeat(100_000));
    assert!(passed([no_link.as_bytes()]) == no_link.as_bytes());
}

#[test]
fn deep_nesting_is_no_danger() {
    let body =
        |link: &str| format!(r#"{{"a":{}{},"nextLink":"{link}"}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert!(passed([body(LINK).as_bytes()]) == body(BACK).as_bytes());
}

struct Pieces(VecDeque<Result<Frame<Bytes>, &'static str>>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        Poll::Ready(self.0.pop_front())
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}

fn wrapped(pieces: Vec<Result<Frame<Bytes>, &'static str>>) -> NextLinkBody<Pieces> {
    NextLinkBody::new(Pieces(pieces.into()), links(), OURS)
}

fn data(text: &str) -> Result<Frame<Bytes>, &'static str> {
    Ok(Frame::data(Bytes::copy_from_slice(text.as_bytes())))
}

#[tokio::test]
async fn a_body_streams_through() {
    let (front, back) = LINK.split_at(20);
    let body = wrapped(vec![data("{\"nextLink\":\""), data(front), data(""), data(back), data("\"}")]);
    assert_eq!(body.collect().await.unwrap().to_bytes(), format!("{{\"nextLink\":\"{BACK}\"}}"));
}

#[tokio::test]
async fn what_is_held_comes_before_the_end() {
    let body = wrapped(vec![data("{\"nextLink\":\""), data("https://man")]);
    assert_eq!(body.collect().await.unwrap().to_bytes(), "{\"nextLink\":\"https://man");
    assert!(wrapped(vec![]).is_end_stream());
    let mut body = wrapped(vec![data("{\"nextLink\":\""), data("x")]);
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "{\"nextLink\":\"");
    assert!(!body.is_end_stream());
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "x");
    assert!(body.is_end_stream());
}

#[tokio::test]
async fn trailers_come_last_and_errors_end_it() {
    let mut trailers = HeaderMap::new();
    trailers.insert("x-end", "1".parse().unwrap());
    let body = wrapped(vec![data("{\"nextLink\":\"https://"), Ok(Frame::trailers(trailers.clone()))]);
    let collected = body.collect().await.unwrap();
    assert_eq!(collected.trailers(), Some(&trailers));
    assert_eq!(collected.to_bytes(), "{\"nextLink\":\"https://");

    let mut broken = wrapped(vec![data("{"), Err("reset"), data("}")]);
    assert!(broken.frame().await.unwrap().is_ok());
    assert_eq!(broken.frame().await.unwrap().err(), Some("reset"));
    assert!(broken.frame().await.is_none());
}

#[tokio::test]
async fn pieces_without_a_link_are_not_copied() {
    let piece = Bytes::from_static(b"{\"value\":[1,2,3],\"more\":");
    let body = http_body_util::Full::<Bytes>::new(piece.clone()).map_err(|never: Infallible| match never {});
    let mut body = NextLinkBody::<_>::new(body, links(), OURS);
    let frame: Result<Frame<Bytes>, Infallible> = body.frame().await.unwrap();
    assert_eq!(frame.unwrap().into_data().unwrap().as_ptr(), piece.as_ptr());
}

/// A JSON value that tries to look like what is searched for.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("null".to_owned()),
        Just(format!("\"{LINK}\"")),
        Just(r#""nextLink""#.to_owned()),
        Just(format!(r#""\",\"nextLink\":\"{LINK}\"""#)),
        Just(r#""\\""#.to_owned()),
        "[a-z{}\\[\\],: é]{0,6}".prop_map(|text| format!("\"{text}\"")),
    ];
    let key = prop_oneof![Just("nextLink"), Just("value"), Just(r#"}\"{"#), Just(r"next\u004cink")];
    leaf.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|all| format!("[{}]", all.join(" , "))),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(|all| {
                let all: Vec<_> = all.iter().map(|(key, value)| format!("\"{key}\" :{value}")).collect();
                format!("{{{}}}", all.join(","))
            }),
        ]
    })
}

/// The pieces of `body` between sorted cuts.
fn cut<'a>(body: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
    places.extend([0, body.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &body[pair[0]..pair[1]]).collect()
}

proptest! {
    #[test]
    fn only_the_top_level_link_changes_however_it_is_cut(
        before in prop::collection::vec(("[a-m]{0,3}", value()), 0..4),
        link in prop_oneof![Just(LINK.to_owned()), Just(LINK.replace('/', r"\/")), Just("/relative".to_owned())],
        after in prop::collection::vec(("[a-m]{0,3}", value()), 0..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut members: Vec<_> = before.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        members.push(format!(r#""nextLink": "{link}""#));
        members.extend(after.iter().map(|(key, value)| format!("\"{key}\": {value}\r\n")));
        let body = format!("{{{}}}", members.join(","));

        // The same link, found by parsing the whole and spliced.
        let found = Document::parse(body.as_bytes()).unwrap().next_link.unwrap().span;
        let (start, end) = (found.start as usize, found.end as usize);
        let spliced = links().splice(&body.as_bytes()[start..end], OURS);
        let wanted = match &spliced {
            Some(back) => [&body.as_bytes()[..start], back, &body.as_bytes()[end..]].concat(),
            None => body.clone().into_bytes(),
        };
        prop_assert_eq!(passed(cut(body.as_bytes(), &cuts)), wanted);
    }

    #[test]
    fn any_bytes_come_out_the_same_however_they_are_cut(
        noise in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(br#"{}[]",:\u004n ""#.to_vec())], 0..60),
        front in prop_oneof![Just(""), Just("{\"nextLink\":\""), Just("{\"nextLink\":\"https://management.azure.com"), Just("{\"nextL")],
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let body = [front.as_bytes(), &noise].concat();
        prop_assert_eq!(passed(cut(&body, &cuts)), passed([&body[..]]));
    }
}
