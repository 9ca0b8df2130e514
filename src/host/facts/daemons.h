// Running daemons, read from procfs: their command lines tell where their files are.
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/clock.h"
#include "src/platform/sys/root.h"

namespace kgpu::host {

struct Daemon {
  pid_t pid = 0;
  std::string name;     // "dockerd", as the kernel has it
  std::string program;  // target of /proc/<pid>/exe; empty: unreadable
  std::vector<std::string> argv;
  WallTime started;  // accurate to about a second
  // Its systemd unit, "docker.service"; empty: none, it was started by hand or runs in a container;
  // nothing: unreadable.
  std::optional<std::string> unit;
  bool operator==(const Daemon&) const = default;

  // A flag's value, given as "--config X", "--config=X" or "-c X"; empty: not given.
  std::string Flag(std::initializer_list<std::string_view> names) const;
  // All values of a flag that may be repeated.
  std::vector<std::string> Flags(std::initializer_list<std::string_view> names) const;
};

// Whether /proc below `host` is a kernel's procfs. If it is not, as in a folder with a host's
// files, nobody knows what runs there, and programs that need /proc fail there. Source: proc(5).
bool ShowsProcesses(const sys::Root& host);

// The system service in a text of /proc/<pid>/cgroup; empty: none. Source: cgroups(7).
std::string UnitOf(std::string_view cgroups);

// Processes with one of these names, sorted by pid. Skips those in containers (in their own pid
// namespace): a node that runs in a container is not this host. Source: proc(5).
std::vector<Daemon> FindDaemons(const sys::Root& host,
                                std::initializer_list<std::string_view> names);

// Only those of root and of our own user: another user's "dockerd" is not run to get its version,
// nor trusted about its files.
std::vector<Daemon> FindSystemDaemons(const sys::Root& host,
                                      std::initializer_list<std::string_view> names);

// Display servers and compositors, and what starts them.
std::vector<Daemon> FindDisplays(const sys::Root& host);

}  // namespace kgpu::host
