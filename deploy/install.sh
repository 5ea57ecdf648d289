#!/bin/sh
# Installs the newest release of Sluice, after comparing its digest: sh install.sh [VERSION]
#   INSTALL_DIR  where to (default: /usr/local/bin)
#   RELEASES     where releases are, as https://HOST/OWNER/NAME/releases (a release's own copy knows)
set -eu
releases=${RELEASES:-@RELEASES@}
case $releases in
  http*) ;;
  *) echo "sluice: set RELEASES to where releases are, as https://HOST/OWNER/NAME/releases" >&2; exit 1 ;;
esac
directory=${INSTALL_DIR:-/usr/local/bin}
version=${1:-latest}

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
curl -fsSL "$from/$name" -o "$work/$name"
curl -fsSL "$from/SHA256SUMS" -o "$work/SHA256SUMS"
cd "$work"
grep " $name\$" SHA256SUMS >wanted || { echo "sluice: SHA256SUMS does not name $name" >&2; exit 1; }
if command -v sha256sum >/dev/null; then sha256sum -c wanted >/dev/null; else shasum -a 256 -c wanted >/dev/null; fi ||
  { echo "sluice: the digest of $name is not the released one; nothing was installed" >&2; exit 1; }
chmod 755 "$name"
mkdir -p "$directory"
mv "$name" "$directory/sluice"
echo "Installed $("$directory/sluice" version | head -1) as $directory/sluice"
