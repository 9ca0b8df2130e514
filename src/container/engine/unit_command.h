// The command line that a systemd unit starts: from its file, its drop-ins and its environment.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/container/engine/config_edit.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

struct UnitArgument {
  std::string text;
  std::string where;  // "/etc/systemd/system/docker.service.d/gpu.conf:3"
};

// The words of the ExecStart= that takes effect in `files`, a unit and its drop-ins in order, with
// the variables of Environment= and EnvironmentFile= expanded. `read` gives the text of such a
// file,
// "" if there is none. Source: systemd.unit(5), systemd.service(5), systemd.exec(5).
std::vector<UnitArgument> ParseUnitCommand(
    const std::vector<NamedText>& files,
    const std::function<std::string(const std::string& path)>& read);

// That of a unit of this host; empty if there is none. Reads at most 1 MiB of each file.
std::vector<UnitArgument> ReadUnitCommand(const sys::Root& host, const std::string& unit);

// Whether one of systemd's folders has the unit.
bool HasUnit(const sys::Root& host, const std::string& unit);

}  // namespace kgpu::engine
