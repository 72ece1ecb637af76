#!/bin/sh
# Installs the kubewright command of a release into ~/.local/bin, or where KUBEWRIGHT_BIN says, its man pages and completions into
# ~/.local/share, or where KUBEWRIGHT_SHARE says. KUBEWRIGHT_VERSION names a release other than the newest. Nothing is installed if a
# step fails.
set -eu

repository=${KUBEWRIGHT_REPOSITORY:-https://github.com/kubewright/kubewright}
version=${KUBEWRIGHT_VERSION:-latest}
folder=${KUBEWRIGHT_BIN:-$HOME/.local/bin}
share=${KUBEWRIGHT_SHARE:-${XDG_DATA_HOME:-$HOME/.local/share}}

fail() {
  echo "kubewright: $1" >&2
  exit 1
}

case "$(uname -s)" in
Linux) system=unknown-linux-musl ;;
Darwin) system=apple-darwin ;;
*) fail "there is no binary for $(uname -s); build it: cargo install kubewright-cli --locked" ;;
esac
case "$(uname -m)" in
x86_64 | amd64) machine=x86_64 ;;
aarch64 | arm64) machine=aarch64 ;;
*) fail "there is no binary for $(uname -m); build it: cargo install kubewright-cli --locked" ;;
esac

archive=kubewright-$machine-$system.tar.gz
if [ "$version" = latest ]; then
  from=$repository/releases/latest/download
else
  from=$repository/releases/download/v${version#v}
fi

fetch() {
  if command -v curl >/dev/null; then
    curl -fsSL -o "$2" "$1"
  elif command -v wget >/dev/null; then
    wget -q -O "$2" "$1"
  else
    fail "neither curl nor wget is installed"
  fi
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in "$archive" "$archive.sha256"; do
  fetch "$from/$file" "$work/$file" || fail "cannot fetch $from/$file"
done
cd "$work"
if command -v sha256sum >/dev/null; then
  sha256sum -c "$archive.sha256" >/dev/null 2>&1 || fail "the checksum of $archive is wrong; nothing was installed"
else
  shasum -a 256 -c "$archive.sha256" >/dev/null 2>&1 || fail "the checksum of $archive is wrong; nothing was installed"
fi
tar -xzf "$archive"
./kubewright version >/dev/null || fail "the binary does not run on this machine; nothing was installed"

mkdir -p "$folder" "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
cp man/*.1 "$share/man/man1/"
cp completions/kubewright.bash "$share/bash-completion/completions/kubewright"
cp completions/_kubewright "$share/zsh/site-functions/_kubewright"
cp completions/kubewright.fish "$share/fish/vendor_completions.d/kubewright.fish"
# Beside its place first: a command that runs is replaced in one step.
cp kubewright "$folder/.kubewright.new"
mv "$folder/.kubewright.new" "$folder/kubewright"
echo "kubewright is in $folder: $("$folder/kubewright" version)"
case ":$PATH:" in
*":$folder:"*) ;;
*) echo "$folder is not in your PATH; add it: export PATH=\"$folder:\$PATH\"" ;;
esac
echo "Next: kubewright doctor says what a project needs, and kubewright demo shows an operator at work"
