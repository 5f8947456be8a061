//! Edges planted in snippets: each is found, and nothing else is.

use super::complaints;

#[test]
fn sees_an_edge_however_it_is_written() {
    let check = |path: &str, snippet: &str, expected: &[&str]| {
        let colour =
            "//! A doc.\npub enum Colour { Red }\npub struct Paint;\npub struct Settings;".to_owned();
        let files = [("src/guard/mod.rs".to_owned(), colour), (path.to_owned(), snippet.to_owned())];
        let found: Vec<_> =
            complaints(&files).iter().map(|c| c.rsplit(' ').next().unwrap().to_owned()).collect();
        assert_eq!(found, expected, "{path}: {snippet}");
    };

    // Every way of writing a path.
    let deep = "src/arm/a/b.rs";
    check(deep, "use crate::cache::Entry;", &["cache::Entry"]);
    check(
        deep,
        "pub use crate::{clock::Clock, cache, guard::{self, choose as c, deep::{X, *}}};",
        &["cache", "guard", "guard::choose", "guard::deep::X", "guard::deep::*"],
    );
    check(deep, "use {std::fmt, crate::cache as other};", &["cache"]);
    check(
        deep,
        "fn f(x: crate::cache::Key) -> Vec<crate::guard::Shown> { crate::proxy::go::<crate::admin::X>(x) }",
        &["cache::Key", "guard::Shown", "proxy::go", "admin::X"],
    );
    check(
        deep,
        "use super::super::super::cache::X; use self::super::super::super::guard;",
        &["cache::X", "guard"],
    );
    check(deep, "use super::super::cache; use super::proxy; use self::guard::X; use super::*;", &[]);
    check(
        deep,
        "mod c { use super::super::super::super::cache; use super::super::super::guard; }",
        &["cache"],
    );
    check("src/clock.rs", "mod tests { use super::*; use super::super::cache; }", &["cache"]);
    check(deep, "fn f() { assert_eq!(1, format!(\"{}\", crate::cache::N)); }", &["cache::N"]);
    check(deep, "macro_rules! m { ($x:ident) => { $crate::cache::$x(crate::$x) } }", &["cache::$", "$"]);
    check(
        deep,
        "#[derive(crate::cache::D)] #[serde(with = \"crate::guard::as_text\")] struct S;",
        &["cache::D", "guard::as_text"],
    );
    check(deep, "struct S(pub (crate::cache::X, u8), pub (crate) u8);", &["cache::X"]);
    check("src/lib.rs", "pub mod arm; pub use self::arm::ETag;", &["arm::ETag"]);
    check(deep, "use crate :: r#cache\n::X; use ::armshield::guard;", &["cache::X"]);

    // What would hide one.
    check(
        deep,
        "use crate::*; use super::super::super::*; use crate as up; m!(crate, proxy);",
        &["*", "*", "crate", "crate"],
    );
    check(
        deep,
        "extern crate self as up; #[path = \"../x.rs\"] mod x; include!(\"y.rs\"); #[macro_use] mod z;",
        &["crate", "path", "include", "macro_use"],
    );
    check("src/arm/mod.rs", "use super::*; use crate::Renamed;", &["*", "Renamed"]);
    check("src/unheard_of/mod.rs", "use crate::arm::ETag;", &["arm::ETag"]);

    // What is none.
    check(
        deep,
        "//! [x](crate::cache)\n/* /* crate::cache::X */ use crate::guard; */\n/// `crate::cache`\nfn f() {}",
        &[],
    );
    check(deep, "const A: &str = \"use crate::cache::X;\"; const B: &str = r#\"crate::guard::X\"#;", &[]);
    check(
        deep,
        "pub(crate) fn f(&self) { self.cache::<u8>(); std::cache::x() } pub(in crate::arm) struct S(pub(crate) u8);",
        &[],
    );
    check(
        deep,
        "use crate::arm::ETag; use crate::clock::Clock; use crate::body; use super::super::ETag;",
        &[],
    );

    // Rooms that may use a part of another.
    check(
        "src/config/mod.rs",
        "use crate::{guard, guard::Settings as G}; fn f(_: guard::Settings, _: guard::Paint) {}",
        &["guard::Paint"],
    );
    check(
        "src/config/mod.rs",
        "use crate::guard::{self as g, choose}; fn f() { g::choose(); other::g::x() }",
        &["guard::choose", "guard::choose"],
    );
    check(
        "src/observe/mod.rs",
        "use crate::guard::Colour::Red; use crate::{guard, guard::Settings}; fn f() { guard::choose() }",
        &["guard::Settings", "guard::choose"],
    );
    check("src/observe/mod.rs", "use crate::proxy::Colour;", &["proxy::Colour"]);

    // The simulator: for tests of every room, and of nothing that ships.
    check(
        deep,
        "#[cfg(test)] #[allow(x)] pub(crate) mod tests { use crate::simulator::Arm; use crate::cache; }",
        &["cache"],
    );
    check(
        deep,
        "#[cfg(test)] use crate::simulator::Arm; mod tests { use crate::simulator::B; }",
        &["simulator::Arm", "simulator::B"],
    );
    check("src/arm/mod.rs", "#[cfg(test)] mod tests;", &[]);
    check(
        "src/simulator/mod.rs",
        "use crate::{arm, clock}; use crate::simulator::Arm; use crate::body::Body;",
        &["arm", "clock", "body::Body"],
    );

    // Binaries.
    check(
        "src/bin/arm-simulator.rs",
        "use armshield::{simulator, proxy::X}; use crate::cache; fn f() { armshield::arm::y() }",
        &["proxy::X", "arm::y"],
    );
    check("src/main.rs", "use armshield::{commands, proxy}; use armshield::*;", &["*"]);
}

#[test]
fn a_test_module_in_a_file_of_its_own_is_one() {
    let text = |text: &str| format!("//! A doc.\n{text}");
    let mut files = vec![
        ("src/arm/mod.rs".to_owned(), text("#[cfg(test)] mod tests; mod other;")),
        ("src/arm/tests.rs".to_owned(), text("use crate::simulator::Arm;")),
    ];
    assert_eq!(complaints(&files), [""; 0]);
    files[1].0 = "src/arm/other.rs".to_owned();
    assert_eq!(complaints(&files), ["src/arm/other.rs:2: arm may not use simulator::Arm"]);
}
