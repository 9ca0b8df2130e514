#include "tests/e2e/container.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

constexpr const char* kContainerScript = KGPU_SOURCE_DIR "/scripts/container.sh";

Result Bash(const std::string& script) {
  return RunProgram(
      {"/bin/bash", "-c", fmt::format("set -euo pipefail\n. {}\n{}", kContainerScript, script)});
}

}  // namespace

const std::string& WhyNoContainers() {
  static const std::string reason = [] {
    if (geteuid() != 0) {
      return std::string("containers on simulated hosts need root");
    }
    if (!CanMakeDevices()) {
      return std::string("character devices cannot be created here (no CAP_MKNOD)");
    }
    const ContainerBench bench(ContainerBench::Image::kDebianLike);
    const Result result = bench.Run({}, "echo started");
    return result.out == "started\n" ? std::string()
                                     : fmt::format(
                                           "podman with runc cannot start a container "
                                           "here: {}",
                                           result.err);
  }();
  return reason;
}

ContainerBench::ContainerBench(Image image) {
  dir_.MakeDir("cdi");
  MakeImageTree(rootfs(), image, {"kgpu", "kgpu-cuda", "kgpu-probe", "load-library"});
}

Result ContainerBench::Run(const std::vector<std::string>& devices,
                           const std::string& script) const {
  dir_.WriteFile("rootfs/run-test", script);
  std::string flags;
  for (const std::string& device : devices) {
    fmt::format_to(std::back_inserter(flags), "--device {} ", device);
  }
  return Bash(fmt::format("run_container {} {} {} {} -- sh /run-test", dir_.path(), cdi_dir(),
                          rootfs(), flags));
}

}  // namespace kgpu::e2e
