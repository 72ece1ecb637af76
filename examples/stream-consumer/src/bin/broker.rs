// SPDX-License-Identifier: Apache-2.0

//! A broker to play with: topics in memory, behind HTTP. `broker 127.0.0.1:8080`.

use std::process::ExitCode;

use stream_consumer::broker::{MemoryBroker, serve};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> ExitCode {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    match TcpListener::bind(&address).await {
        Ok(listener) => {
            eprintln!("a broker on http://{address}");
            serve(listener, MemoryBroker::new()).await;
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {address}: {error}");
            ExitCode::FAILURE
        }
    }
}
