//! Text as Go reads and writes it, compared with tables that Go wrote.

mod go;
mod tables;
mod url;
