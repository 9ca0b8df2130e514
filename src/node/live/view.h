// The node at this moment, for people who watch it: the document of `kgpu top` and of the page.
// Pure.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/gpu/health/health_event.h"
#include "src/node/live/history.h"
#include "src/node/pools/assignment.h"
#include "src/node/report/devices_view.h"
#include "src/node/telemetry/page_input.h"
#include "src/platform/base/clock.h"

namespace kgpu::live {

struct LiveInput {
  const telemetry::PageInput& measured;
  const pools::Assignment& assignment;
  const report::Holders& holders;  // of lent GPUs
  const History& history;
  const std::vector<health::HealthEvent>& events;  // the newest last
  const boost::json::array& functions;
  std::string version{};
  std::string problem{};  // why the node is not ready; empty: it is
  WallTime now{};
  std::chrono::milliseconds every{};  // between two rounds; 0: nothing is measured
  // The name of a process of the host; empty: it has ended.
  std::function<std::string(uint32_t pid)> name_of{};
};

// Field names are part of the interface: docs/reference/live.md. Null for what the driver does not
// support. Names from outside are as they are: who prints them escapes them.
boost::json::object LiveJson(const LiveInput& input);

}  // namespace kgpu::live
