#include "bench/sim_node.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "bench/process.h"
#include "src/host/inspect/driver_files.h"
#include "src/host/inspect/driver_root.h"

namespace kgpu::bench {
namespace {

using std::chrono::steady_clock;

const std::string kBin = KGPU_BIN_DIR;

[[noreturn]] void Fail(const char* what) {
  (void)std::fprintf(stderr, "benchmark: %s\n", what);
  std::_Exit(1);
}

}  // namespace

double Since(SteadyPoint start, SteadyPoint end) {
  return std::chrono::duration<double, std::milli>(end - start).count();
}

Row MakeRow(std::string what, std::string unit, std::string floor, std::string budget) {
  return {.what = std::move(what),
          .unit = std::move(unit),
          .samples = {},
          .floor_name = std::move(floor),
          .floor = {},
          .budget = std::move(budget)};
}

Daemon::Daemon(std::vector<std::string> argv) : started_(steady_clock::now()) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  std::vector<char*> pointers;
  pointers.reserve(argv.size() + 1);
  for (std::string& argument : argv) {
    pointers.push_back(argument.data());
  }
  pointers.push_back(nullptr);
  if (posix_spawn(&pid_, pointers[0], &files, nullptr, pointers.data(), environ) != 0) {
    Fail("spawn");
  }
  posix_spawn_file_actions_destroy(&files);
}

double Daemon::End(int signal) {
  if (pid_ < 0) {
    return 0;
  }
  const auto begun = steady_clock::now();
  kill(pid_, signal);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  return Since(begun, steady_clock::now());
}

SimNode::SimNode(const std::string& profile) {
  dir_.MakeDir("kubelet/device-plugins");
  dir_.MakeDir("kubelet/plugins_registry");
  dir_.MakeDir("echo/device-plugins");
  dir_.MakeDir("run");
  if (RunAndMeasure({kBin + "/kgpu-sim", "create", host(), "--profile", profile}).code != 0) {
    Fail("kgpu-sim create failed");
  }
}

SimNode::~SimNode() {
  (void)RunAndMeasure({kBin + "/kgpu-sim", "delete", host()});
}

std::string SimNode::library() const {
  const host::DriverRoot root = host::OpenDriverRoot(host(), "", "/").value();
  return root.driver.At(host::FindNvmlLibrary(root.driver).value());
}

void SimNode::Forget() const {
  std::filesystem::remove(dir_.At("run/agent-memory.json"));
}

std::vector<std::string> SimNode::Agent() const {
  return {kBin + "/kgpu",   "agent",
          "--host-root",    host(),
          "--engine-root",  "/",
          "--kubelet-dir",  kubelet(),
          "--run-dir",      run_dir(),
          "--state-dir",    dir_.At("state"),
          "--config",       dir_.At("etc/config"),
          "--http-address", "off"};
}

void SimNode::WriteConfig(const std::string& strategy, const std::string& more) const {
  // In a folder of a folder: what other programs do in the one for temporary files is not watched.
  dir_.WriteFile("etc/config", fmt::format("apiVersion: kgpu.dev/v1\nkind: NodeConfig\n"
                                           "health: {{holdDown: 5ms, flapLimit: {{times: 0}}}}\n"
                                           "plugin: {{deviceListStrategy: {}}}\n{}",
                                           strategy, more));
}

}  // namespace kgpu::bench
