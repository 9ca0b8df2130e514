// Daemons that run, read from procfs: how they were called says where their files are.
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
  std::string program;  // what /proc/<pid>/exe leads to; empty: may not be read
  std::vector<std::string> argv;
  WallTime started;  // to a second or so
  // The unit of systemd that it belongs to, "docker.service"; empty: to none, it was started by
  // hand or is in a container; nothing: may not be read.
  std::optional<std::string> unit;
  bool operator==(const Daemon&) const = default;

  // The value of a flag, given as "--config X", "--config=X" or "-c X"; empty: not given.
  std::string Flag(std::initializer_list<std::string_view> names) const;
  // Every value of a flag that may be given again.
  std::vector<std::string> Flags(std::initializer_list<std::string_view> names) const;
};

// Whether /proc below `host` is a kernel's procfs. Where it is not, as in a folder with a host's
// files, nobody knows what runs there, and programs that need /proc fail there. Source: proc(5).
bool ShowsProcesses(const sys::Root& host);

// The service in a text of /proc/<pid>/cgroup; empty: none of the system's. Source: cgroups(7).
std::string UnitOf(std::string_view cgroups);

// Processes with one of these names, by pid. Those of containers (in a pid namespace of their own)
// are left out: a node that runs in a container is not this host. Source: proc(5).
std::vector<Daemon> FindDaemons(const sys::Root& host,
                                std::initializer_list<std::string_view> names);

// Of those only the ones of root and of whoever runs us: what any other user calls "dockerd" is
// neither asked for its version nor believed about its files.
std::vector<Daemon> FindSystemDaemons(const sys::Root& host,
                                      std::initializer_list<std::string_view> names);

// Servers and compositors of displays, and what starts them.
std::vector<Daemon> FindDisplays(const sys::Root& host);

}  // namespace kgpu::host
