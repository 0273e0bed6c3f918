//! The Rust program of docs/valkey.md. Takes the address of a server; the tests run it.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("give the address of a server, redis://…")?;
    let mut server = redis::Client::open(address)?.get_connection()?;
    let _: () = redis::cmd("CF.ADD").arg("seen").arg("page/1").query(&mut server)?;
    let seen: bool = redis::cmd("CF.EXISTS").arg("seen").arg("page/1").query(&mut server)?;
    println!("page/1: {seen}");
    let seen: Vec<bool> =
        redis::cmd("CF.MEXISTS").arg("seen").arg(&["page/1", "page/2"]).query(&mut server)?;
    println!("page/1 and page/2: {seen:?}");
    Ok(())
}
