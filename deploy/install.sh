#!/bin/sh
# Installs a release of Sluice, after comparing its digest.
set -eu

usage() {
  cat <<'TEXT'
Usage: sh install.sh [--help] [VERSION]

Downloads a release of Sluice (default: the newest), compares its digest, and installs it.

  VERSION      a release's tag, such as v1.0.0

Environment:
  INSTALL_DIR  where to (default: /usr/local/bin if it can be written, otherwise ~/.local/bin)
  RELEASES     where releases are: https://HOST/OWNER/NAME/releases. The install.sh of a release knows
               its own; a copy in a clone asks the clone's origin.

From a clone, without releases: deno task install
TEXT
}

case ${1:-} in
  -h | --help) usage; exit 0 ;;
  -*) echo "sluice: unknown option $1" >&2; usage >&2; exit 2 ;;
esac
version=${1:-latest}

# a release's own copy has its address in place of the word; one in a clone has the address of the clone's origin
releases=${RELEASES:-@RELEASES@}
case $releases in
  http*) ;;
  *)
    origin=$(git -C "$(dirname "$0")" remote get-url origin 2>/dev/null || true)
    case $origin in
      https://*) releases=${origin%.git}/releases ;;
      git@*:*) releases=https://$(echo "${origin#git@}" | sed 's#:#/#; s#\.git$##')/releases ;;
      *)
        echo "sluice: where releases are is not known: set RELEASES=https://HOST/OWNER/NAME/releases" >&2
        usage >&2
        exit 2
        ;;
    esac
    ;;
esac
if [ -n "${INSTALL_DIR:-}" ]; then directory=$INSTALL_DIR
elif [ -w /usr/local/bin ]; then directory=/usr/local/bin
else directory=${HOME:?set INSTALL_DIR}/.local/bin
fi

case $(uname -s) in
  Linux) system=unknown-linux-gnu ;;
  Darwin) system=apple-darwin ;;
  *) echo "sluice: there is no release for $(uname -s); on Windows download sluice.exe" >&2; exit 1 ;;
esac
case $(uname -m) in
  x86_64 | amd64) machine=x86_64 ;;
  arm64 | aarch64) machine=aarch64 ;;
  *) echo "sluice: there is no release for $(uname -m)" >&2; exit 1 ;;
esac
name=sluice-$machine-$system
if [ "$version" = latest ]; then from=$releases/latest/download; else from=$releases/download/$version; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
curl -fsSL "$from/$name" -o "$work/$name" ||
  { echo "sluice: cannot download $from/$name" >&2; exit 1; }
curl -fsSL "$from/SHA256SUMS" -o "$work/SHA256SUMS"
cd "$work"
grep " $name\$" SHA256SUMS >wanted || { echo "sluice: SHA256SUMS does not name $name" >&2; exit 1; }
if command -v sha256sum >/dev/null; then sha256sum -c wanted >/dev/null; else shasum -a 256 -c wanted >/dev/null; fi ||
  { echo "sluice: the digest of $name is not the released one; nothing was installed" >&2; exit 1; }
chmod 755 "$name"
mkdir -p "$directory"
mv "$name" "$directory/sluice"
echo "Installed $("$directory/sluice" version | head -1) as $directory/sluice"
case :$PATH: in
  *":$directory:"*) ;;
  *) echo "Add it to your PATH: export PATH=\"$directory:\$PATH\"" ;;
esac
