//! Commands, their words and their ends.

use std::process::Output;

use super::process::{ARMSHIELD, Running, armshield, command, free, get, simulator};

fn run(words: &[&str], environment: &[(&str, &str)]) -> (i32, String) {
    let state = tempfile::tempdir().unwrap();
    let Output { status, stderr, .. } =
        command(ARMSHIELD, state.path()).args(words).envs(environment.iter().copied()).output().unwrap();
    (status.code().unwrap(), String::from_utf8(stderr).unwrap())
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

#[test]
fn a_bad_configuration_is_one_line_naming_file_line_and_key_and_code_64() {
    let check = |text: &str, line: usize, key: &str| {
        let file = file(text);
        let name = file.path().to_str().unwrap();
        for command in ["serve", "check", "probe"] {
            let (code, said) = run(&[command, "--config", name], &[]);
            assert_eq!(code, 64, "{command}: {said}");
            assert_eq!(said.lines().count(), 1, "{said}");
            assert!(said.contains(&format!("{name}:{line}:")), "{said}");
            assert!(said.contains(key), "{said}");
        }
    };
    check("[listen]\naddress = \"nowhere\"\n", 2, "address");
    check("[cache]\n\nbites = 3\n", 3, "bites");
    check("[[rule]]\ntype = \"Microsoft.Compute/disks\"\nmax_age = \"soon\"\n", 3, "max_age");
    check("[upstream]\ncloud = \"mars\"\n", 2, "cloud");
    check("[listen\n", 1, "");
}

#[test]
fn bad_words_end_with_code_64_too() {
    assert_eq!(run(&["serve", "--nonsense"], &[]).0, 64);
    assert_eq!(run(&["fly"], &[]).0, 64);
    let (code, said) = run(&["check", "--listen", "nowhere"], &[]);
    assert_eq!(code, 64);
    assert!(said.contains("--listen"), "{said}");
    let (code, said) = run(&["check"], &[("ARMSHIELD_UPSTREAM", "ftp://x")]);
    assert_eq!(code, 64);
    assert!(said.contains("ARMSHIELD_UPSTREAM"), "{said}");
}

#[test]
fn check_says_what_a_configuration_means_and_flags_come_before_variables_before_files() {
    let file = file("[listen]\naddress = \"127.0.0.1:1111\"\n[cache]\nmode = \"shadow\"\n");
    let name = file.path().to_str().unwrap();
    let variables = [("ARMSHIELD_CONFIG", name), ("ARMSHIELD_LISTEN", "127.0.0.1:2222")];
    assert!(run(&["check"], &variables[..1]).1.contains("127.0.0.1:1111"));
    assert!(run(&["check"], &variables).1.contains("127.0.0.1:2222"));
    let (code, said) = run(&["check", "--listen", "127.0.0.1:3333"], &variables);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("127.0.0.1:3333") && said.contains("mode shadow"), "{said}");
}

#[test]
fn an_address_in_use_is_a_clear_failure() {
    let state = tempfile::tempdir().unwrap();
    let first = armshield("http://127.0.0.1:9", &[], state.path());
    let (code, said) =
        run(&["serve", "--listen", &first.address.to_string(), "--admin", &free().to_string()], &[]);
    assert_eq!(code, 1);
    assert!(said.contains(&format!("cannot listen on {}", first.address)), "{said}");
}

#[test]
fn probe_asks_whether_it_is_ready() {
    let state = tempfile::tempdir().unwrap();
    let running = armshield("http://127.0.0.1:9", &[], state.path());
    let admin = running.admin.to_string();
    assert_eq!(run(&["probe", "--admin", &admin], &[]), (0, String::new()));
    drop(running);
    let (code, said) = run(&["probe", "--admin", &admin], &[]);
    assert_eq!(code, 1);
    assert!(said.contains("does not answer"), "{said}");
}

#[test]
fn a_term_signal_ends_it_well() {
    let state = tempfile::tempdir().unwrap();
    let mut running = armshield("http://127.0.0.1:9", &[], state.path());
    let pid = running.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(running.child.wait().unwrap().success());
}

#[test]
fn the_main_job_end_to_end_over_sockets() {
    let state = tempfile::tempdir().unwrap();
    let arm = simulator(&["--nodes", "3", "--sets", "1", "--no-auth"], state.path());
    let running = armshield(&format!("http://{}", arm.address), &[], state.path());
    let group = "/subscriptions/11111111-1111-4111-a111-111111111111/resourceGroups/nodes";
    let list = format!("{group}/providers/Microsoft.Compute/virtualMachineScaleSets?api-version=2025-04-01");
    let fields = "\r\nauthorization: Bearer me\r\nuser-agent: AZURECLI/2.70";
    let first = get(running.address, &list, fields);
    assert!(first.starts_with("HTTP/1.1 200"), "{first}");
    assert!(first.contains("cache-status: armshield; fwd=miss; stored"), "{first}");
    let second = get(running.address, &list, fields);
    assert!(second.contains("cache-status: armshield; hit; ttl="), "{second}");
    let stranger = get(running.address, &list, "\r\nauthorization: Bearer another");
    assert!(!stranger.contains("armshield; hit"), "{stranger}");
}

#[test]
fn an_upstream_that_is_not_there_is_a_502_that_says_so() {
    let state = tempfile::tempdir().unwrap();
    let nobody = free();
    let running = armshield(&format!("http://{nobody}"), &[], state.path());
    let answer = get(running.address, "/subscriptions/s?api-version=1", "");
    assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
    assert!(
        answer.contains("x-ms-failure-cause: armshield") && answer.contains(&nobody.to_string()),
        "{answer}"
    );
    // Discovery needs no ARM.
    assert!(
        get(running.address, "/metadata/endpoints?api-version=2019-05-01", "").starts_with("HTTP/1.1 200")
    );
}

fn resident_kib(running: &Running) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn idle_it_takes_less_than_40_mib() {
    let state = tempfile::tempdir().unwrap();
    let running = armshield("http://127.0.0.1:9", &[], state.path());
    let resident = resident_kib(&running);
    assert!(resident < 40 * 1024, "{resident} KiB");
}

#[test]
fn under_load_it_takes_no_more_than_it_was_given() {
    let state = tempfile::tempdir().unwrap();
    let arm = simulator(&["--nodes", "150", "--sets", "1", "--no-auth"], state.path());
    let file = file("[cache]\nbytes = \"32MiB\"\n[guard]\nbytes = \"16MiB\"\n[log]\naccess = false\n");
    let words = ["--config", file.path().to_str().unwrap()];
    let running = armshield(&format!("http://{}", arm.address), &words, state.path());
    let set = "/subscriptions/11111111-1111-4111-a111-111111111111/resourceGroups/nodes/providers\
               /Microsoft.Compute/virtualMachineScaleSets/aks-pool0-vmss/virtualMachines";
    // Callers with questions of their own, several times what is kept, a third of them asked for twice.
    std::thread::scope(|scope| {
        for caller in 0..12 {
            let address = running.address;
            scope.spawn(move || {
                for question in 0..24 {
                    let target = format!("{set}?api-version=2025-04-01&$filter={}", question * 2 / 3);
                    let fields =
                        format!("\r\nauthorization: Bearer {caller}\r\nuser-agent: Prometheus/{caller}");
                    assert!(get(address, &target, &fields).starts_with("HTTP/1.1 200"));
                }
            });
        }
    });
    let (resident, given) = (resident_kib(&running), (32 * 13 / 10 + 16 + 64) * 1024);
    assert!(resident <= given, "{resident} of {given} KiB");
}
