// Prints runs. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <vector>

#include "src/cluster/run/runs.h"
#include "src/platform/base/clock.h"

namespace kgpu::run {

// A run with its URL; empty: it has none.
struct ShownRun {
  RunInfo run{};
  std::string url{};
};

std::string RunsText(const std::vector<ShownRun>& runs, WallTime now);
// Field names are part of the interface: docs/reference/run.md.
boost::json::value RunsJson(const std::vector<ShownRun>& runs);

// The objects as one YAML text of several documents. Values of Secrets are hidden.
std::string ManifestText(std::vector<boost::json::value> objects);

}  // namespace kgpu::run
