//! A bad configuration is one line that names file, line and key.

use super::read;

/// What is said of a text, from the file's name on.
fn complaint(text: &str) -> String {
    let error = read(text).map(|_| ()).expect_err(text).to_string();
    assert!(!error.contains('\n'), "{error}");
    let at = error.find("config.toml").unwrap_or_else(|| panic!("names no file: {error}"));
    error[at..].to_owned()
}

#[test]
fn a_bad_configuration_is_one_line_with_file_line_and_key() {
    let cases = [
        // Unknown ones.
        (
            "[listen]\nnmaes = []",
            "config.toml:2: [listen] nmaes: unknown key; known here: address, names, allow_plain",
        ),
        (
            "\n\n[lisen]\nnames = []",
            "config.toml:3: [lisen]: unknown section; known here: listen, tls, admin",
        ),
        ("names = []", "config.toml:1: names: unknown section; known here: listen, tls"),
        ("[[budget]]\nname = 'x'", "config.toml:1: [[budget]]: unknown section"),
        ("listen.nmaes = 1", "config.toml:1: [listen] nmaes: unknown key"),
        ("listen = { address = '127.0.0.1:1', nmaes = 1 }", "config.toml:1: [listen] nmaes: unknown key"),
        (
            "[[rule]]\ntype = 'A.b/c'\n\n[[rule]]\ntype = 'A.b/d'\nmaxage = '1s'",
            "config.toml:6: [[rule]] maxage: unknown key; known here: type, max_age, guard",
        ),
        (
            "[[client]]\nname = 'az'\nprincipals = [\n  { tid = '00000000-0000-0000-0000-000000000000', upn = 'x' },\n]",
            "config.toml:4: [[client]] principals.upn: unknown key; known here: tid, oid",
        ),
        // Missing ones.
        ("[[rule]]\nmax_age = '5s'", "config.toml:1: [[rule]]: type is missing"),
        ("[[client]]\nname = 'az'\n[[client]]\nmax_age = '5s'", "config.toml:3: [[client]]: name is missing"),
        // Of another shape.
        ("listen = 5", "config.toml:1: listen: invalid type: integer `5`, expected a section"),
        ("[rule]\ntype = 'A.b/c'", "config.toml:1: [rule]: invalid type: map, expected a sequence"),
        (
            "[listen]\nallow_plain = 'yes'",
            "config.toml:2: [listen] allow_plain: invalid type: string \"yes\", expected a boolean",
        ),
        ("[listen]\nnames = 'a'", "config.toml:2: [listen] names: invalid type"),
        (
            "[listen]\naddress = 7788",
            "config.toml:2: [listen] address: invalid type: integer `7788`, expected a string",
        ),
        (
            "[cache]\nsettle = true",
            "config.toml:2: [cache] settle: invalid type: boolean `true`, expected a text or a whole number",
        ),
        // No TOML.
        ("[listen]\naddress = ", "config.toml:2: [listen] address: "),
        ("[listen]\n[listen]\n", "config.toml:2: [listen]: "),
        ("[listen]\nnames = []\nnames = []", "config.toml:3: [listen] names: duplicate key"),
        ("[listen\n", "config.toml:1"),
        ("=", "config.toml:1"),
        // Times, sizes, numbers.
        (
            "[cache]\n# why\nsettle = '30 sec'",
            "config.toml:3: [cache] settle: write a time as \"500ms\", \"30s\", \"10m\", \"2h\" or \"1d\"",
        ),
        ("[cache]\nsettle = '-1s'", "config.toml:2: [cache] settle: write a time"),
        ("[cache]\nsettle = -1", "config.toml:2: [cache] settle: write a time"),
        ("[cache]\nsettle = ''", "config.toml:2: [cache] settle: write a time"),
        ("[cache]\nsettle = '99999999999999999999s'", "config.toml:2: [cache] settle: write a time"),
        ("[cache]\nsettle = '18446744073709551615d'", "config.toml:2: [cache] settle: write a time"),
        ("[cache]\nsettle = '366d'", "config.toml:2: [cache] settle: a time of at most 365d is needed"),
        (
            "[upstream]\nconnect = '0s'",
            "config.toml:2: [upstream] connect: a time of at least 1 ms is needed",
        ),
        (
            "[cache]\nbytes = '256MB'",
            "config.toml:2: [cache] bytes: write a size as \"64KiB\", \"16MiB\" or \"1GiB\"",
        ),
        ("[cache]\nbytes = '99999999999GiB'", "config.toml:2: [cache] bytes: write a size"),
        ("[cache]\nbytes = 0", "config.toml:2: [cache] bytes: a size above 0 is needed"),
        (
            "[cache]\ncaller_percent = 0",
            "config.toml:2: [cache] caller_percent: a whole number from 1 to 100 is needed",
        ),
        (
            "[cache]\ncaller_percent = 101",
            "config.toml:2: [cache] caller_percent: a whole number from 1 to 100",
        ),
        ("[upstream]\nlanes = '2'", "config.toml:2: [upstream] lanes: a whole number from 1"),
        ("[upstream]\nlanes = 0", "config.toml:2: [upstream] lanes: a whole number from 1"),
        (
            "[listen]\nhead_bytes = '4KiB'",
            "config.toml:2: [listen] head_bytes: a size of at least 8KiB is needed",
        ),
        // Words.
        ("[cache]\nmode = 'on'", "config.toml:2: [cache] mode: one of active, shadow, pass is needed"),
        ("[guard]\nmode = 'on'", "config.toml:2: [guard] mode: one of off, observe, enforce is needed"),
        (
            "[upstream]\ncloud = 'germany'",
            "config.toml:2: [upstream] cloud: one of public, china, usgovernment is needed",
        ),
        ("[log]\nformat = 'xml'", "config.toml:2: [log] format: one of text, json is needed"),
        ("[log]\nlevel = 'inof'", "config.toml:2: [log] level: write off, error, warn, info, debug, trace"),
        ("[log]\nlevel = 'armshield=loud'", "config.toml:2: [log] level: write off"),
        (
            "[[client]]\nname = 'az'\nrepeat = 'always'",
            "config.toml:3: [[client]] repeat: one of refresh, cached is needed",
        ),
        (
            "[[client]]\nname = 'az'\npriority = 'top'",
            "config.toml:3: [[client]] priority: one of low, normal, high is needed",
        ),
        (
            "[[client]]\nname = 'az'\nlinks = 'keep'",
            "config.toml:3: [[client]] links: one of rewrite, leave is needed",
        ),
        // Addresses and names.
        (
            "[listen]\naddress = 'localhost:7788'",
            "config.toml:2: [listen] address: write an IP address and a port",
        ),
        (
            "[listen]\nnames = [\n  'a',\n  'https://b',\n]",
            "config.toml:2: [listen] names: \"https://b\": write names of hosts, without scheme, port and path",
        ),
        ("[listen]\nnames = ['a:7788']", "config.toml:2: [listen] names: \"a:7788\": write names of hosts"),
        (
            "[listen]\nnames = ['westeurope.Management.azure.com']",
            "config.toml:2: [listen] names: \"westeurope.Management.azure.com\": names of ARM itself",
        ),
        (
            "[upstream]\nendpoint = 'management.azure.com'",
            "config.toml:2: [upstream] endpoint: the URL must start with http:// or https://",
        ),
        (
            "[upstream]\nendpoint = 'https://a.b/arm'",
            "config.toml:2: [upstream] endpoint: the URL must end after host and port",
        ),
        ("[upstream]\naddress = 'https://10.0.0.4'", "config.toml:2: [upstream] address: write a host"),
        (
            "[cache]\nneutral_headers = ['x-a', '*']",
            "config.toml:2: [cache] neutral_headers: \"*\": write names of header fields",
        ),
        (
            "[cache]\nneutral_headers = ['x-*-*']",
            "config.toml:2: [cache] neutral_headers: \"x-*-*\": write names",
        ),
        (
            "[identity]\nignorable_claims = ['oid']",
            "config.toml:2: [identity] ignorable_claims: \"oid\": this claim tells callers apart and cannot be ignored",
        ),
        ("[[rule]]\ntype = 'virtualMachines'", "config.toml:2: [[rule]] type: write a type of resources"),
        ("[[client]]\nname = 'My client'", "config.toml:2: [[client]] name: write a name"),
        ("[[client]]\nname = 'x'\nwords = ['']", "config.toml:3: [[client]] words: an empty word"),
        (
            "[[client]]\nname = 'ccm'\nprincipals = [{ tid = 'x', oid = '00000000-0000-0000-0000-00000000000A' }]",
            "config.toml:3: [[client]] principals.tid: write an id",
        ),
        // Keys beside each other.
        (
            "[[rule]]\ntype = 'A.b/c'\n[[rule]]\ntype = 'a.B/C'",
            "config.toml:4: [[rule]] type: this type has a [[rule]] above",
        ),
        (
            "[[client]]\nname = 'az'\n[[client]]\nname = 'az'",
            "config.toml:4: [[client]] name: this name has a [[client]] above",
        ),
        (
            "[[client]]\nname = 'new'",
            "config.toml:2: [[client]] name: no such client is built in, and a new one needs words",
        ),
        (
            "[[client]]\nname = 'az'\nwords = []",
            "config.toml:3: [[client]] words: at least one word is needed",
        ),
        (
            "[[client]]\nname = 'other'\nwords = ['x']",
            "config.toml:3: [[client]] words: this is the profile of clients that no word matches",
        ),
        (
            "[limits]\npace = true",
            "config.toml:2: [limits] pace: pacing is not built yet: only false is taken",
        ),
        ("[tls]\ncertificate = 'a.pem'", "config.toml:2: [tls] certificate: key is missing beside it"),
        ("[tls]\nkey = 'a.pem'", "config.toml:2: [tls] key: certificate is missing beside it"),
        ("[upstream]\nca = 'absent.pem'", "config.toml:2: [upstream] ca: "),
    ];
    let wrong = cases.map(|(text, line)| (text, complaint(text), line));
    let wrong = wrong.iter().filter(|(_, said, line)| !said.starts_with(line));
    let wrong: Vec<_> =
        wrong.map(|(text, said, line)| format!("{text}\n  is:  {said}\n  not: {line}\n")).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_password_is_never_repeated() {
    let said = complaint("[upstream]\nproxy = 'https://ann:secret@proxy'");
    assert!(said.starts_with("config.toml:2: [upstream] proxy: write a proxy as http://host:port"), "{said}");
    assert!(!said.contains("secret"), "{said}");
    let said = complaint("[upstream]\nproxy = ['http://ann:secret@proxy']");
    assert!(!said.contains("secret"), "{said}");
    let said = complaint("[upstream]\nproxy = 'http://ann:secret@proxy\n");
    assert!(!said.contains("secret"), "{said}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let absent = std::path::Path::new("absent/config.toml");
    let error = super::load(Some(absent), &super::Overrides::default(), &|_| None).unwrap_err().to_string();
    assert!(error.starts_with("absent/config.toml: "), "{error}");
}
