# Sourced by scripts that unpack Debian packages below build/ without installing them: apt's own
# state and sources stay as they are. The archive is the one this machine installs from.
# shellcheck shell=bash
# shellcheck source=scripts/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# Where this machine gets Debian from.
archive() {
  # shellcheck disable=SC2016  # apt expands it, not the shell
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
    'Label: Debian' | head -n1
}

# private_apt STATE ARCHITECTURE COMMAND …: apt with lists, cache and sources below STATE alone.
private_apt() {
  local state=$1 architecture=$2 command=$3
  shift 3
  "$command" -o "Dir::State=$state" -o "Dir::State::lists=$state/lists" \
    -o "Dir::State::status=/dev/null" -o "Dir::Cache=$state/cache" \
    -o "Dir::Etc::SourceList=$state/sources.list" -o "Dir::Etc::SourceParts=/dev/null" \
    -o "APT::Architecture=$architecture" -o "APT::Architectures::=$architecture" \
    -o APT::Sandbox::User=root "$@"
}

# unpack FOLDER SUITE ARCHITECTURE PACKAGE …: quick when FOLDER has just these already. FOLDER/versions
# has a line for each package: its name, its source package, that one's version.
unpack() {
  local folder=$1 suite=$2 architecture=$3 uri
  local state=$folder.apt
  shift 3
  [ "$(cat "$folder/packages" 2>/dev/null)" != "$*" ] || return 0
  step "unpacking $* of Debian $suite into ${folder#"$kgpu_top"/}"
  uri=$(archive)
  [ -n "$uri" ] || die "apt knows no Debian archive here: run apt-get update"
  rm -rf "$folder.new"
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$folder.new"
  printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$uri" "$suite" >"$state/sources.list"
  private_apt "$state" "$architecture" apt-get update -q >&2
  (
    cd "$folder.new" || exit
    private_apt "$state" "$architecture" apt-get download -q "$@" >&2
    for package in *.deb; do dpkg-deb -x "$package" .; done
    for package in *.deb; do
      # shellcheck disable=SC2016  # dpkg-deb expands it
      dpkg-deb -W --showformat='${Package}\t${source:Package}\t${source:Version}\n' "$package"
    done >versions
    rm -f ./*.deb
    printf '%s\n' "$*" >packages
  )
  rm -rf "$folder" "$state"
  mv "$folder.new" "$folder"
}
