# What the walkthroughs share: words before each command, waiting, and an end that leaves nothing running.
# Needs kubewright and kubectl in the PATH.

say() { printf '\n== %s\n' "$*"; }

# Shows a command, then runs it.
run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

# Runs a command that must be refused, and shows what it says.
refused() {
  printf '\n$ %s\n' "$*"
  if "$@" >"$work/refused" 2>&1; then
    cat "$work/refused"
    echo "this was to be refused, but it was accepted" >&2
    exit 1
  fi
  cat "$work/refused"
}

# Waits until a command succeeds: `eventually kubectl get deployment viewer-sample`.
eventually() {
  printf '\n$ %s\n' "$*"
  for _ in $(seq 150); do
    if "$@" >"$work/eventually" 2>&1; then
      cat "$work/eventually"
      return
    fi
    sleep 0.2
  done
  cat "$work/eventually" >&2
  echo "this did not come about within 30 seconds: $*" >&2
  [ -f "$work/operator.log" ] && sed 's/^/operator: /' "$work/operator.log" >&2
  exit 1
}

# Whether a command prints exactly this.
prints() {
  local wanted=$1
  shift
  local printed
  printed=$("$@") || return
  printf '%s\n' "$printed"
  [ "$printed" = "$wanted" ]
}

# Runs something until the walkthrough ends, or until `stop` with the same name.
background() {
  local name=$1
  shift
  printf '\n$ %s &\n' "$*"
  : >"$work/$name.log"
  "$@" >>"$work/$name.log" 2>&1 &
  echo $! >"$work/$name.pid"
}

# Waits until something in the background says that it runs; before that it may have to be built.
running() {
  for _ in $(seq 3000); do
    grep -q "$2" "$work/$1.log" 2>/dev/null && return
    kill -0 "$(cat "$work/$1.pid")" 2>/dev/null || break
    sleep 0.2
  done
  sed "s/^/$1: /" "$work/$1.log" >&2
  echo "$1 does not run" >&2
  exit 1
}

stop() {
  local pid
  pid=$(cat "$work/$1.pid" 2>/dev/null) || return 0
  rm -f "$work/$1.pid"
  kill -TERM "$pid" 2>/dev/null || return 0
  wait "$pid" 2>/dev/null || true
}

# An API server without controllers: one of ours, or the one to which WALKTHROUGH_KUBECONFIG leads, as
# `conformance/upstream/old-examples` has it. Nobody else's objects may be in it.
cluster() {
  if [ -n "${WALKTHROUGH_KUBECONFIG:-}" ]; then
    run cp "$WALKTHROUGH_KUBECONFIG" "$KUBECONFIG"
  else
    background apiserver kubewright apiserver --secure-port 0 --kubeconfig-out "$KUBECONFIG"
  fi
  eventually kubectl get namespace default
}

work=$(mktemp -d)

# In a test the project is built with the versions of this workspace, and where other projects of tests are built, so that
# dependencies are compiled once.
if [ -n "${WALKTHROUGH_WORKSPACE:-}" ]; then
  cp "$WALKTHROUGH_WORKSPACE/Cargo.lock" "$work/Cargo.lock"
  printf '[workspace]\nresolver = "3"\nmembers = ["%s"]\n' "${project_name:-$(basename "$0")}" >"$work/Cargo.toml"
  export CARGO_TARGET_DIR=$WALKTHROUGH_WORKSPACE/target/scaffolds/target
  export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false RUSTFLAGS=-Dwarnings CARGO_NET_OFFLINE=true
fi

end() {
  for file in "$work"/*.pid; do
    [ -e "$file" ] && stop "$(basename "$file" .pid)"
  done
  rm -rf "$work"
}
trap end EXIT
