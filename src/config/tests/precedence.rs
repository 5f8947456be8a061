//! Defaults, then the file, then the environment, then flags.

use super::*;
use crate::arm::Cloud;
use crate::policy::{GuardMode, Mode};
use std::time::Duration;

#[test]
fn the_file_yields_to_the_environment_and_that_to_flags() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    let text = "[listen]\naddress = '127.0.0.1:1'\n[admin]\naddress = '127.0.0.1:2'\n[upstream]\nendpoint = 'http://file'";
    fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let flags = |on: bool| match on {
        false => Overrides::default(),
        true => Overrides {
            listen: Some("[::1]:10".into()),
            admin: Some("127.0.0.1:20".into()),
            upstream: Some("http://flag".into()),
        },
    };
    let variables = [
        ("ARMSHIELD_LISTEN", "127.0.0.1:100"),
        ("ARMSHIELD_ADMIN", "127.0.0.1:200"),
        ("ARMSHIELD_UPSTREAM", "https://variable:8443"),
    ];
    let by_config = [("ARMSHIELD_CONFIG", file)];
    let unset = [("ARMSHIELD_LISTEN", ""), ("ARMSHIELD_CONFIG", "")];
    let all = [variables.as_slice(), &by_config].concat();
    for (set, flagged, listen, admin, endpoint) in [
        (&[][..], false, "127.0.0.1:7788", "127.0.0.1:7789", "management.azure.com"),
        (&unset, false, "127.0.0.1:7788", "127.0.0.1:7789", "management.azure.com"),
        (&by_config, false, "127.0.0.1:1", "127.0.0.1:2", "file"),
        (&all, false, "127.0.0.1:100", "127.0.0.1:200", "variable:8443"),
        (&all, true, "[::1]:10", "127.0.0.1:20", "flag"),
        (&by_config, true, "[::1]:10", "127.0.0.1:20", "flag"),
    ] {
        let env = |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let read = load(None, &flags(flagged), &env).unwrap();
        let found =
            [read.listen.address.to_string(), read.admin.address.to_string(), read.endpoint.to_string()];
        assert_eq!(found, [listen, admin, endpoint], "{set:?} {flagged}");
    }
}

#[test]
fn a_bad_flag_or_variable_is_named() {
    let flags = Overrides { upstream: Some("arm".into()), ..Overrides::default() };
    let error = load(None, &flags, &|_| None).unwrap_err().to_string();
    assert_eq!(error, "--upstream: the URL must start with http:// or https://");
    let env = |name: &str| (name == "ARMSHIELD_LISTEN").then(|| "7788".to_owned());
    let error = load(None, &Overrides::default(), &env).unwrap_err().to_string();
    assert!(error.starts_with("ARMSHIELD_LISTEN: write an IP address and a port"), "{error}");
}

#[test]
fn a_cloud_brings_its_names_and_its_front_door() {
    for word in ["china", "AzureChinaCloud"] {
        let read = read(&format!("[upstream]\ncloud = '{word}'")).unwrap();
        assert_eq!(read.cloud, Cloud::China);
        assert_eq!(read.endpoint.to_string(), "management.chinacloudapi.cn");
        assert!(read.listen.arm.contains("chinaeast.management.chinacloudapi.cn"));
        assert!(!read.listen.arm.contains("management.azure.com"));
    }
    let read = read("[upstream]\ncloud = 'usgovernment'\nendpoint = 'http://127.0.0.1:7700'").unwrap();
    assert_eq!((read.cloud, read.endpoint.to_string()), (Cloud::UsGovernment, "127.0.0.1:7700".into()));
}

#[test]
fn a_rule_or_client_changes_what_it_states_or_is_added() {
    let read = read(
        r#"
        [[rule]]
        type = "Microsoft.Compute/virtualMachines"
        max_age = "5s"

        [[rule]]
        type = "Microsoft.ContainerService/managedClusters"
        guard = true

        [[client]]
        name = "autoscaler"
        guard = "enforce"
        older = "0s"

        [[client]]
        name = "other"
        max_age = 4

        [[client]]
        name = "mine"
        words = ["my-tool"]
        mode = "shadow"
        principals = [{ tid = "AAAAAAAA-0000-0000-0000-000000000000", oid = "bbbbbbbb-0000-0000-0000-000000000000" }]
        "#,
    )
    .unwrap();
    let built_in = crate::policy::Policy::default();
    let policy = &read.policy;
    assert_eq!(policy.rules.len(), built_in.rules.len() + 1);
    let rule = |kind| policy.rule(kind).map(|rule| (rule.max_age.as_secs(), rule.guard)).unwrap();
    assert_eq!(rule("microsoft.compute/virtualmachines"), (5, true));
    assert_eq!(rule("microsoft.compute/virtualmachinescalesets"), (30, true));
    assert_eq!(rule("microsoft.containerservice/managedclusters"), (30, true));

    assert_eq!(policy.profiles.len(), built_in.profiles.len() + 1);
    let autoscaler = policy.named("autoscaler").unwrap();
    assert_eq!((autoscaler.guard, autoscaler.older), (Some(GuardMode::Enforce), None));
    assert_eq!(autoscaler.age, built_in.named("autoscaler").unwrap().age);
    assert_eq!(policy.other.age, Duration::from_secs(4));
    let mine = policy.profile("my-tool azsdk-python/1");
    assert_eq!((&*mine.name, mine.mode), ("mine", Some(Mode::Shadow)), "tried before the built-in ones");
    assert_eq!(&*mine.principals[0].tid, "aaaaaaaa-0000-0000-0000-000000000000");
}

#[test]
fn zero_turns_off_what_can_be_off() {
    let read = read("[listen]\nping = '0s'\n[upstream]\nping = 0\n[identity]\nrefusals = 0").unwrap();
    assert_eq!((read.listen.ping, read.upstream.ping, read.identify.refusals), (None, None, 0));
}

#[test]
fn certificates_are_read_and_must_fit_their_keys() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let made = |name: &str| rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let (one, other) = (made("one"), made("other"));
    write("one.pem", &one.cert.pem());
    write("two.pem", &(one.cert.pem() + &other.cert.pem()));
    write("one.key", &one.signing_key.serialize_pem());
    write("other.key", &other.signing_key.serialize_pem());
    write("empty.pem", "");
    write("broken.pem", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n");
    write("rubbish.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let file = folder.path().join("config.toml");
    let read = |certificate: &str, key: &str, ca: &str| {
        let text = format!("[tls]\ncertificate = '{certificate}'\nkey = '{key}'\n[upstream]\nca = '{ca}'");
        fs::write(&file, text).unwrap();
        load(Some(&file), &Overrides::default(), &|_| None)
    };
    let good = read("one.pem", "one.key", "two.pem").unwrap();
    assert_eq!(good.tls.as_ref().unwrap().chain.len(), 1);
    assert_eq!(good.upstream.ca.len(), 2);
    for (certificate, key, ca, said) in [
        ("absent.pem", "one.key", "one.pem", "config.toml:2: [tls] certificate: "),
        ("empty.pem", "one.key", "one.pem", "config.toml:2: [tls] certificate: no certificate in "),
        ("one.key", "one.key", "one.pem", "config.toml:2: [tls] certificate: no certificate in "),
        ("broken.pem", "one.key", "one.pem", "config.toml:2: [tls] certificate: broken PEM in "),
        ("one.pem", "one.pem", "one.pem", "config.toml:3: [tls] key: no private key in "),
        ("one.pem", "other.key", "one.pem", "config.toml:3: [tls] key: of no use with the certificate: "),
        ("one.pem", "one.key", "empty.pem", "config.toml:5: [upstream] ca: no certificate in "),
        ("one.pem", "one.key", "rubbish.pem", "config.toml:5: [upstream] ca: certificate 1 in "),
    ] {
        let error = read(certificate, key, ca).unwrap_err().to_string();
        assert!(error.contains(said), "{error}\n{said}");
    }
    let shown = format!("{good:?}");
    assert!(!shown.contains("PRIVATE") && shown.contains("elided"), "keys are not shown");
}

#[test]
fn what_is_probably_not_meant_is_said() {
    let on = "[listen]\naddress = '0.0.0.0:7788'\n";
    for (text, parts) in [
        (String::new(), &[][..]),
        ("[listen]\naddress = '[::1]:1'\nallow_plain = true\n[admin]\nopen = true".into(), &[]),
        (format!("{on}names = ['a']"), &["[listen] address: 0.0.0.0:7788 is not loopback"]),
        (on.into(), &["[listen] address: ", "[listen] names: "]),
        (format!("{on}names = ['a']\nallow_plain = true"), &["[listen] allow_plain: "]),
        ("[admin]\naddress = '0.0.0.0:1'\nopen = true".into(), &["[admin] open: "]),
        ("[upstream]\nendpoint = 'http://127.0.0.1:1'".into(), &[]),
        ("[upstream]\nendpoint = 'http://arm.test'".into(), &["[upstream] endpoint: "]),
        ("[upstream]\nendpoint = 'https://management.chinacloudapi.cn'".into(), &["[upstream] cloud: "]),
        ("[cache]\nbytes = '16MiB'".into(), &["[cache] entry_max: answers above 8388600 bytes"]),
    ] {
        let warnings = read(&text).unwrap().warnings;
        assert_eq!(warnings.len(), parts.len(), "{text}: {warnings:?}");
        for (warning, part) in warnings.iter().zip(parts) {
            assert!(warning.starts_with(part) && !warning.contains('\n'), "{text}: {warning}");
        }
    }
}
