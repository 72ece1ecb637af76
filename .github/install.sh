#!/bin/sh
# Installs the kubewright command of a release into ~/.local/bin, or where KUBEWRIGHT_BIN says; KUBEWRIGHT_VERSION names a
# release other than the newest. Nothing is left behind if a step fails.
set -eu

repository=${KUBEWRIGHT_REPOSITORY:-@REPOSITORY@}
version=${KUBEWRIGHT_VERSION:-latest}
folder=${KUBEWRIGHT_BIN:-$HOME/.local/bin}

fail() {
  echo "kubewright: $1" >&2
  exit 1
}

case "$(uname -s)" in
Linux) system=unknown-linux-musl ;;
Darwin) system=apple-darwin ;;
*) fail "there is no binary for $(uname -s); build it: cargo install --git $repository kubewright-cli" ;;
esac
case "$(uname -m)" in
x86_64 | amd64) machine=x86_64 ;;
aarch64 | arm64) machine=aarch64 ;;
*) fail "there is no binary for $(uname -m); build it: cargo install --git $repository kubewright-cli" ;;
esac

archive=kubewright-$machine-$system.tar.gz
if [ "$version" = latest ]; then
  from=$repository/releases/latest/download
else
  from=$repository/releases/download/v${version#v}
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in "$archive" "$archive.sha256"; do
  curl -fsSL -o "$work/$file" "$from/$file" || fail "cannot fetch $from/$file"
done
cd "$work"
if command -v sha256sum >/dev/null; then
  sha256sum -c "$archive.sha256" >/dev/null || fail "the checksum of $archive is wrong; nothing was installed"
else
  shasum -a 256 -c "$archive.sha256" >/dev/null || fail "the checksum of $archive is wrong; nothing was installed"
fi
tar -xzf "$archive"
mkdir -p "$folder"
mv kubewright "$folder/kubewright"
echo "kubewright is in $folder: $("$folder/kubewright" --version)"
case ":$PATH:" in
*":$folder:"*) ;;
*) echo "$folder is not in your PATH; add it: export PATH=\"$folder:\$PATH\"" ;;
esac
