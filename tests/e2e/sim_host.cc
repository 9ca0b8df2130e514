#include "tests/e2e/sim_host.h"

#include <gtest/gtest.h>

#include <utility>

namespace kgpu::e2e {

bool CanMakeDevices() {
  const TempDir dir;
  return dir.MakeCharDevice("null", 1, 3);
}

SimHost::SimHost(const std::string& profile, std::vector<std::string> more_flags) {
  std::vector<std::string> argv = {"kgpu-sim", "create", path(), "--profile", profile};
  argv.insert(argv.end(), more_flags.begin(), more_flags.end());
  const Result result = RunProgram(std::move(argv));
  EXPECT_EQ(result.code, 0) << result.err;
}

SimHost::~SimHost() {
  const Result result = RunProgram({"kgpu-sim", "delete", path()});
  EXPECT_EQ(result.code, 0) << result.err;
}

std::vector<std::string> SimHost::flags() const {
  return {"--host-root", path(), "--engine-root", "/"};
}

void SimHost::Inject(const std::string& verb, std::vector<std::string> arguments) {
  std::vector<std::string> argv = {"kgpu-sim", verb, path()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const Result result = RunProgram(std::move(argv));
  EXPECT_EQ(result.code, 0) << verb << ": " << result.err;
}

Result SimHost::Kgpu(std::vector<std::string> words) const {
  std::vector<std::string> argv = {"kgpu"};
  argv.insert(argv.end(), words.begin(), words.end());
  for (const std::string& flag : flags()) {
    argv.push_back(flag);
  }
  return RunProgram(std::move(argv));
}

}  // namespace kgpu::e2e
