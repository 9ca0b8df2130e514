// What every engine's container must report about its GPUs.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/engines/programs.h"
#include "tests/engines/report.h"

namespace kgpu::engines {

// Of four GPUs exactly those in `gpus` (by minor) are present, and only those can be opened, even
// through a node that the image contains; the control nodes are present.
MATCHER_P(HasGpus, gpus, "has exactly these GPUs") {
  bool is_healthy = arg.is_complete;
  for (unsigned gpu = 0; gpu < 4; ++gpu) {
    const bool is_wanted = gpus.contains(gpu);
    if (arg.nodes.contains("nvidia" + std::to_string(gpu)) != is_wanted) {
      *result_listener << "node of GPU " << gpu << (is_wanted ? " is missing; " : " is there; ");
      is_healthy = false;
    }
    const auto opens = arg.opens.find(gpu);
    if (opens != arg.opens.end() && opens->second != (is_wanted ? kGranted : kRefused)) {
      *result_listener << "opening GPU " << gpu << ": " << opens->second << "; ";
      is_healthy = false;
    }
  }
  for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}) {
    if (arg.nodes.contains(node) == gpus.empty()) {
      *result_listener << node << (gpus.empty() ? " is there; " : " is missing; ");
      is_healthy = false;
    }
  }
  return is_healthy;
}

// The parameter of a test in its name.
struct OriginName {
  std::string operator()(const ::testing::TestParamInfo<Origin>& parameter) const {
    return ToString(parameter.param);
  }
};

using Gpus = std::set<unsigned>;

// The loader of the image finds the driver's libraries in `folder` ("/lib64", "linux-gnu").
MATCHER_P(FindsLibrariesIn, folder, "finds the driver's libraries") {
  for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1"}) {
    const auto found = arg.libraries.find(name);
    if (found == arg.libraries.end() || found->second.find(folder) == std::string::npos) {
      *result_listener << name << " is not found in " << folder;
      return false;
    }
  }
  return true;
}

}  // namespace kgpu::engines
