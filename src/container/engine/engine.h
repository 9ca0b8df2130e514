// Container engines of a host as values: which one, where its parts are, whether it reads CDI.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/host/facts/daemons.h"
#include "src/platform/base/status.h"

namespace kgpu::engine {

enum class Kind : uint8_t { kDocker, kContainerd, kCrio, kPodman };

inline constexpr std::array kAllKinds = {Kind::kDocker, Kind::kContainerd, Kind::kCrio,
                                         Kind::kPodman};

// "docker", "containerd", "crio", "podman".
std::string_view ToString(Kind kind);
// For a distribution, the kind that it ships: containerd. Errors: InvalidArgument, listing the
// valid names.
StatusOr<Kind> ParseKind(std::string_view text);

// "k3s", "rke2", "k0s", "microk8s": they ship containerd with files of their own; "" for any other
// text.
std::string_view DistributionOf(std::string_view text);

struct Version {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  auto operator<=>(const Version&) const = default;
};

// The first number of the form N.N or N.N.N in a program's version text; nothing if there is
// none.
std::optional<Version> FindVersion(std::string_view text);
// "25.0.3".
std::string ToString(const Version& version);

// Whether a kubelet can ask it for containers by itself.
bool IsForPods(Kind kind);

enum class CdiSupport : uint8_t {
  kUnknown,  // its version is unknown
  kAbsent,   // too old
  kOptIn,    // reads CDI if its configuration enables it
  kDefault,  // reads CDI unless its configuration disables it
  kAlways,   // reads CDI, whatever its configuration
};

// Docker: opt-in from 25.0, by default from 28.2. containerd: opt-in from 1.7, by default from 2.0.
// CRI-O always from 1.23, podman from 4.1 (specs need at least CDI 0.3).
CdiSupport CdiSupportOf(Kind kind, const std::optional<Version>& version);
// "no", "opt-in", "by default", "yes", "unknown".
std::string_view ToString(CdiSupport support);

// One engine of a host. Paths are below the host's root, with a leading slash.
struct Engine {
  Kind kind = Kind::kDocker;
  // The distribution of Kubernetes that ships it, see DistributionOf; empty: its own package.
  std::string distribution;
  std::string program;       // "/usr/bin/dockerd"; empty: not found, though it runs
  std::string version_text;  // "20.10.24+dfsg1"; empty: unknown
  std::optional<Version> version;
  CdiSupport cdi = CdiSupport::kUnknown;
  std::string config_file;       // the file to edit: may not exist yet
  bool is_config_named = false;  // config_file is the admin's choice
  bool is_template = false;      // config_file is a template of k3s or RKE2
  // The file that it reads in place of config_file: the distribution writes it again at each start.
  // Empty: it reads config_file itself.
  std::string generated_file;
  std::string drop_in_folder;          // the one it reads, or the usual one; empty: it has none
  std::string programs_folder;         // of the distribution's own runc; empty: it uses the host's
  std::string socket;                  // empty: has none (podman)
  std::string unit;                    // "docker.service"; empty: not under systemd
  std::optional<host::Daemon> daemon;  // empty: not running, or it has none
  bool is_daemon_known = true;         // false: processes of the host are not visible from here
  // Not needed while it does not run: another engine that runs does the same, or its first client
  // starts it.
  bool is_spare = false;
  std::string note;  // what could not be found out, for people

  // "docker", "containerd (k3s)".
  std::string Name() const;
  // The record's key: "docker", "containerd", "containerd-k3s".
  std::string Id() const;
};

}  // namespace kgpu::engine
