//! nginx and HAProxy as caches: one process for one core, everything in memory, a line of log per request.
//!
//! Both are keyed by the URL alone, and both are told to ignore ARM's `no-cache`. HAProxy keeps nothing for
//! requests with `Authorization`, so that field gets another name on the way in.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use super::Outcome;
use super::machine;
use super::process::{Running, Starter};

/// A peer that runs.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) running: Running,
    /// Removed with it.
    _folder: Folder,
}

/// Starts those that are installed.
pub(crate) async fn start(starter: &Starter, origin: SocketAddr) -> Outcome<Vec<Peer>> {
    let mut peers = Vec::new();
    if machine::nginx().is_some() {
        peers.push(nginx(starter, origin).await?);
    }
    if machine::haproxy().is_some() {
        peers.push(haproxy(starter, origin).await?);
    }
    Ok(peers)
}

async fn nginx(starter: &Starter, origin: SocketAddr) -> Outcome<Peer> {
    let (address, folder) = (free()?, Folder::make("nginx")?);
    let path = folder.0.display();
    // Only root may, and has to, say as whom it works.
    let user = if is_root() { "user root;" } else { "" };
    let text = format!(
        "{user}
daemon off;
worker_processes 1;
worker_rlimit_nofile 8192;
pid {path}/pid;
error_log stderr warn;
events {{ worker_connections 4096; }}
http {{
  access_log /dev/null combined buffer=64k flush=1s;
  client_body_temp_path {path}/client; fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi;
  scgi_temp_path {path}/scgi; proxy_temp_path {path}/proxy;
  proxy_cache_path {path}/cache levels=1:2 keys_zone=hits:10m max_size=128m inactive=1d use_temp_path=off;
  open_file_cache max=1000 inactive=1d;
  open_file_cache_valid 1d;
  sendfile on;
  tcp_nodelay on;
  keepalive_timeout 1h;
  keepalive_requests 1000000000;
  large_client_header_buffers 4 16k;
  server {{
    listen {address};
    location / {{
      proxy_pass http://{origin};
      proxy_http_version 1.1;
      proxy_set_header Connection \"\";
      proxy_cache hits;
      proxy_cache_key $request_uri;
      proxy_cache_lock on;
      proxy_cache_valid 200 1d;
      proxy_ignore_headers Cache-Control Expires;
    }}
  }}
}}
"
    );
    let file = folder.0.join("nginx.conf");
    fs::write(&file, text)?;
    let mut command = starter.on_server_core(Path::new("nginx"));
    let words = [
        "-p".as_ref(),
        folder.0.as_os_str(),
        "-e".as_ref(),
        "stderr".as_ref(),
        "-c".as_ref(),
        file.as_os_str(),
    ];
    command.args(words);
    let mut stop = std::process::Command::new("nginx");
    stop.args(words).args(["-s", "stop"]);
    let running = starter.peer("nginx", &mut command, address, Some(stop)).await?;
    Ok(Peer { name: "nginx proxy_cache", running, _folder: folder })
}

async fn haproxy(starter: &Starter, origin: SocketAddr) -> Outcome<Peer> {
    let (address, folder) = (free()?, Folder::make("haproxy")?);
    let text = format!(
        "global
  maxconn 4096
  nbthread 1
  log stdout format raw local0
defaults
  mode http
  log global
  option httplog
  timeout connect 5s
  timeout client 1h
  timeout server 1m
  timeout http-keep-alive 1h
cache hits
  total-max-size 64
  max-object-size 1000000
  max-age 86400
frontend clients
  bind {address}
  http-request set-header X-Authorization %[req.hdr(Authorization)]
  http-request del-header Authorization
  default_backend arm
backend arm
  http-request cache-use hits
  http-response del-header Pragma
  http-response del-header Expires
  http-response set-header Cache-Control max-age=86400
  http-response cache-store hits
  server arm {origin}
"
    );
    let file = folder.0.join("haproxy.cfg");
    fs::write(&file, text)?;
    let mut command = starter.on_server_core(Path::new("haproxy"));
    command.arg("-db").arg("-f").arg(&file);
    let running = starter.peer("haproxy", &mut command, address, None).await?;
    Ok(Peer { name: "HAProxy cache", running, _folder: folder })
}

/// A folder in memory where there is one, which goes with what uses it.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn make(name: &str) -> Outcome<Self> {
        let memory = Path::new("/dev/shm");
        let below = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = below.join(format!("armshield-bench-{name}-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A loopback address nobody listens on at this moment.
fn free() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))
        .is_some_and(|ids| ids.split_whitespace().next() == Some("0"))
}
