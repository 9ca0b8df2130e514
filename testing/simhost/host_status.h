// The status of a simulated host, for people and programs.
#pragma once

#include <sys/types.h>

#include <boost/json/fwd.hpp>

#include <optional>
#include <string>
#include <vector>

#include "testing/driver/state.h"
#include "testing/simhost/settings.h"

namespace kgpu::simhost {

struct HostStatus {
  std::string folder;
  HostSettings settings;
  std::optional<pid_t> server;       // nothing: not served
  std::vector<std::string> clients;  // "PID UID" of each connection, as the server tells
};

// What is wrong or unusual with one GPU ("lost", "XID 79", "hangs", …) and with the whole driver.
std::vector<std::string> FaultsOf(const sim::SimGpu& gpu);
std::vector<std::string> DriverFaults(const HostStatus& status, const sim::SimState& state);

std::string StatusTable(const HostStatus& status, const sim::SimState& state);
boost::json::value StatusJson(const HostStatus& status, const sim::SimState& state);

}  // namespace kgpu::simhost
