# Sourced by the scripts beside it: colours on terminals only, step headings, root.
# shellcheck shell=bash

kgpu_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export kgpu_top
if [ -t 2 ]; then
  kgpu_bold=$'\e[1m' kgpu_plain=$'\e[0m'
else
  kgpu_bold='' kgpu_plain=''
fi

step() { printf '%s==> %s%s\n' "$kgpu_bold" "$*" "$kgpu_plain" >&2; }
die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# Runs a command as root: directly, or through sudo where it is there.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "this needs root: run it as root, or install sudo ($*)"
  fi
}

# The compiler cache is shared by clones and presets: paths below the clone are made relative.
export CCACHE_BASEDIR=$kgpu_top CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-5G}
