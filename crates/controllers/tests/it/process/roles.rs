//! What the processes of containers do: the variable `ROLE` of the container says it. Probes and hooks run the program with the
//! argument `call` or `succeed`, commands with others.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::{env, fs, process};

/// Does what the arguments and variables of this process say.
pub(crate) fn run() {
    match env::args().nth(1).as_deref() {
        Some("call") => return call_with_a_child(),
        Some("succeed") => return,
        Some("look") => return look_around(),
        Some("copy") => copy(),
        Some("kill") => kill_itself(),
        Some("converse") => return converse(),
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
        "converse" => converse(),
        "wait" => {
            println!("here to stay");
            loop {
                std::thread::park();
            }
        }
        "succeed" => {}
        role => panic!("ROLE is {role:?}, which is none of this program's roles"),
    }
}

/// Connects to the address in `CALL`, as does a child of its own. Both stay until the other side hangs up.
fn call_with_a_child() {
    let address = variable("CALL");
    if env::var("IS_CHILD").is_err() {
        let mut child = process::Command::new(env::current_exe().unwrap());
        child.arg("call").env("IS_CHILD", "yes");
        if env::args().any(|word| word == "apart") {
            std::os::unix::process::CommandExt::process_group(&mut child, 0);
        }
        let mut child = child.spawn().unwrap();
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

/// Prints how it was called and what it has open.
fn look_around() {
    println!("words {:?}", env::args().collect::<Vec<_>>());
    println!("folder {}", env::current_dir().unwrap().display());
    println!("role {}", variable("ROLE"));
    for entry in fs::read_dir("/proc/self/fd").into_iter().flatten().flatten() {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        let number: u32 = entry.file_name().to_str().unwrap().parse().unwrap();
        // The folder that is being read is open, too.
        if number > 2 && !target.starts_with("/proc") {
            println!("open {}", target.display());
        }
    }
}

/// Copies what it reads, and says so.
fn copy() -> ! {
    let mut text = Vec::new();
    std::io::stdin().read_to_end(&mut text).unwrap();
    std::io::stdout().write_all(&text).unwrap();
    eprintln!("copied {} bytes", text.len());
    process::exit(5);
}

fn kill_itself() -> ! {
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
    unreachable!()
}

/// Answers what it is told, line by line.
fn converse() {
    println!("ready");
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        match line.trim() {
            "size" => match rustix::termios::tcgetwinsize(std::io::stdin()) {
                Ok(size) => println!("{} columns, {} rows, {}", size.ws_col, size.ws_row, variable("TERM")),
                Err(error) => println!("no terminal: {error}"),
            },
            "fail" => process::exit(7),
            told => println!("heard {told}"),
        }
    }
    println!("nothing more to hear");
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
