#!/bin/sh
# Installs what the suite needs from the system, and only what is missing. Quiet when nothing is.
# With the argument `tests` also what only its tests need.
set -eu
PATH=$PATH:/usr/sbin:/sbin

missing=
need() { # PACKAGE TEST...: note the package if the test fails
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}
have() { command -v "$1"; }
java_17() {
    version=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
    [ "${version:-0}" -ge 17 ]
}
library() { ldconfig -p | grep -q "$1"; }
font() { fc-list : family | grep -q "$1"; }

need default-jdk-headless java_17
need maven have mvn
need python3-venv "${PYTHON:-python3}" -c 'import ensurepip, venv'
# Nodes: networks, packet filters, namespaces, disks of their own.
need iproute2 have ip
need nftables have nft
need iptables have iptables
need util-linux have unshare
need util-linux have nsenter
need util-linux have setpriv
need mount have losetup
need e2fsprogs have mkfs.ext4
# Reports: WeasyPrint's libraries, the fonts that the template names, and PDF pages as pictures.
need libpango-1.0-0 library libpango-1.0.so.0
need libpangoft2-1.0-0 library libpangoft2-1.0.so.0
need libharfbuzz0b library libharfbuzz.so.0
need libharfbuzz-subset0 library libharfbuzz-subset.so.0
need fontconfig have fc-list
need fonts-inter font Inter
need fonts-jetbrains-mono font 'JetBrains Mono'
need poppler-utils have pdftoppm
# Reports as a reader's browser shows them.
[ "${1:-}" != tests ] || need chromium have chromium
# Servers in containers.
[ "${1:-}" != tests ] || need docker.io have dockerd

[ -n "$missing" ] || exit 0
missing=$(printf '%s\n' $missing | sort -u | paste -sd' ' -)
install="apt-get install --yes --no-install-recommends $missing"

if ! command -v apt-get >/dev/null; then
    echo "These are missing (by their Debian names); install what your system calls them: $missing" >&2
    exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "System packages are missing. Install them, then run again:" >&2
    echo "    sudo sh -c 'apt-get update && $install'" >&2
    exit 1
fi
echo "Installing system packages: $missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
$install -qq >/dev/null
