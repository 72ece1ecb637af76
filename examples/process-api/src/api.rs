//! The kind.

/// A process of the node.
#[kubewright::resource(
    group = "ps.example.com",
    version = "v1alpha1",
    kind = "Process",
    shortname = "proc",
    status = "ProcessStatus",
    printcolumn(name = "Command", type = "string", json_path = ".spec.command"),
    printcolumn(name = "State", type = "string", json_path = ".status.state"),
    printcolumn(name = "Memory", type = "string", json_path = ".status.memory"),
    printcolumn(name = "User", type = "integer", json_path = ".spec.user", priority = 1),
    printcolumn(name = "Parent", type = "integer", json_path = ".spec.parent", priority = 1),
    printcolumn(name = "Age", type = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ProcessSpec {
    /// The name of the program.
    pub command: String,
    /// The words of its command line, the program first. Threads of the kernel have none.
    pub arguments: Vec<String>,
    /// The process that started it; 0 for none.
    pub parent: u32,
    /// The number of the user it runs as.
    pub user: u32,
}

/// What a process is doing.
#[kubewright::schema]
pub struct ProcessStatus {
    /// What it is doing: `Running`, `Sleeping`, `Waiting` for a disk, `Stopped`, `Zombie` or `Idle`.
    pub state: String,
    /// How much memory it occupies, as a quantity.
    pub memory: Option<String>,
    /// How many threads it has.
    pub threads: u32,
}
