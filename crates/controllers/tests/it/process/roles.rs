//! What the processes of containers do: the variable `ROLE` of the container says it. Probes and hooks run the program with the
//! argument `call` or `succeed`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::{env, fs, process};

/// Does what the arguments and variables of this process say.
pub(crate) fn run() {
    match env::args().nth(1).as_deref() {
        Some("call") => return call_with_a_child(),
        Some("succeed") => return,
        _ => {}
    }
    match variable("ROLE").as_str() {
        "look" => look(),
        "serve" => serve(),
        "use-the-api" => use_the_api(),
        "fail" => {
            eprintln!("about to fail");
            process::exit(7);
        }
        "stubborn" => stubborn(),
        "succeed" => {}
        role => panic!("ROLE is {role:?}, which is none of this program's roles"),
    }
}

/// Connects to the address in `CALL`, as does a child of its own. Both stay until the other side hangs up.
fn call_with_a_child() {
    let address = variable("CALL");
    if env::var("IS_CHILD").is_err() {
        let mut child = process::Command::new(env::current_exe().unwrap());
        let mut child = child.arg("call").env("IS_CHILD", "yes").spawn().unwrap();
        call(&address);
        child.wait().unwrap();
    } else {
        call(&address);
    }
}

fn call(address: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    let _ = stream.read(&mut [0]);
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Prints what it was given.
fn look() {
    let words: Vec<String> = env::args().skip(1).collect();
    println!("words {words:?}");
    for (name, value) in env::vars() {
        println!("variable {name}={value}");
    }
    for file in variable("FILES").split(',').filter(|file| !file.is_empty()) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| error.to_string());
        println!("file {text}");
    }
    let root = PathBuf::from(variable("CONTAINER_SANDBOX_MOUNT_POINT"));
    let mode = |path: PathBuf| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode() & 0o777)
    };
    println!("mode of its folder {:o}", mode(root.join("../..")));
    let token = root.join("var/run/secrets/kubernetes.io/serviceaccount/token");
    println!("mode of its token {:o}", mode(token));
}

/// Answers requests: 200 as long as the file of the path's name is in its temporary folder.
fn serve() {
    let listener = TcpListener::bind(("127.0.0.1", variable("PORT").parse().unwrap())).unwrap();
    println!("serving {}", variable("VERSION"));
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut line = String::new();
        let _ = BufReader::new(&stream).read_line(&mut line);
        let name = line
            .split_whitespace()
            .nth(1)
            .unwrap_or("/")
            .trim_start_matches('/')
            .to_owned();
        let is_there = PathBuf::from(variable("TMPDIR")).join(&name).exists();
        let code = if is_there { "200 OK" } else { "503 Service Unavailable" };
        let _ = write!(
            stream,
            "HTTP/1.1 {code}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
    }
}

/// Does what its account may do, and what it may not.
fn use_the_api() {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use kube::api::{Api, ListParams, PostParams};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let client = kube::Client::try_default().await.unwrap();
        let mut made = ConfigMap::default();
        made.metadata.name = Some("made-by-a-process".to_owned());
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        maps.create(&PostParams::default(), &made).await.unwrap();
        let secrets: Api<Secret> = Api::default_namespaced(client);
        println!("{}", secrets.list(&ListParams::default()).await.unwrap_err());
    });
}

/// Does not end when it is asked to.
fn stubborn() {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut asked = signal(SignalKind::terminate()).unwrap();
        println!("here to stay as {}", process::id());
        while asked.recv().await.is_some() {
            println!("asked to end");
        }
    });
}
