// Two real containers on one simulated GPU, that they share or that is cut, with or without the
// agent.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/base/strings.h"
#include "tests/e2e/container.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {

inline constexpr const char* kGpuResource = "nvidia.com/gpu";
inline constexpr const char* kSleep =
    "sleep 1000 & trap exit TERM; while :; do sleep 100 & wait; done";

// A simulated host beside a kubelet of real containers.
class TwoPods : public ::testing::Test {
 public:
  ~TwoPods() override {
    if (bench_ != nullptr) {
      (void)Run({"stop", "--pods"});
    }
  }

 protected:
  void SetUp() override {
    if (!WhyNoContainers().empty()) {
      GTEST_SKIP() << WhyNoContainers();
    }
    MakeHost();
    bench_ = std::make_unique<ContainerBench>(ContainerBench::Image::kDebianLike);
    ASSERT_EQ(Run({"start", "--scale", "0.02", "--runtime", "runc", "--rootfs", bench_->rootfs(),
                   "--cdi-dir", bench_->cdi_dir(), "--host", host_->path()})
                  .code,
              0);
    StartPlugin();
    for (const auto& [resource, count] : Allocatable()) {
      ASSERT_EQ(Run({"wait", "--resource", resource, "--allocatable", count}).code, 0);
    }
  }
  // One GPU to give, in two slots.
  virtual void MakeHost() { host_ = std::make_unique<SimHost>("4xT4"); }
  virtual std::map<std::string, std::string> Allocatable() const { return {{kGpuResource, "2"}}; }
  virtual void StartPlugin() = 0;

  Result Run(std::vector<std::string> words) const {
    std::vector<std::string> argv = {"kgpu-sim", "kubelet"};
    words.insert(words.begin() + 1, folder());
    argv.insert(argv.end(), words.begin(), words.end());
    return RunProgram(std::move(argv));
  }
  std::string folder() const { return bench_->dir().At("kubelet"); }

  // A pod with one device; the PID of its container's first process.
  uint32_t StartPod(const std::string& name, const std::string& resource = kGpuResource,
                    const std::string& command = kSleep) {
    const std::string count = fmt::format("{}=1", resource);
    EXPECT_EQ(
        Run({"pod", name, "--restart", "Never", "--resource", count, "--command", command}).code,
        0);
    EXPECT_EQ(Run({"wait", "--pod", name, "--phase", "Running"}).code, 0) << Run({"status"}).out;
    return NewestPid();
  }
  // Of the container that was not there before.
  uint32_t NewestPid() {
    const std::string containers = folder() + "/.kgpu-sim/containers";
    for (const auto& entry : std::filesystem::directory_iterator(containers)) {
      const std::string name = entry.path().filename().string();
      if (known_.insert(name).second) {
        const TempDir& dir = bench_->dir();
        const std::string pid =
            dir.ReadFile(fmt::format("kubelet/.kgpu-sim/containers/{}/pid", name));
        return static_cast<uint32_t>(ParseUint(Trim(pid)).value_or(0));
      }
    }
    ADD_FAILURE() << "no new container";
    return 0;
  }

  std::unique_ptr<SimHost> host_;
  std::unique_ptr<ContainerBench> bench_;
  std::set<std::string> known_;
};

// The whole agent: it hands out the GPU, and what the driver tells becomes the series and the
// account of each pod.
class AgentTest : public TwoPods {
 public:
  ~AgentTest() override { agent_.reset(); }

 protected:
  // `config` says what is handed out.
  void StartAgent(const std::string& config) {
    host_->dir().WriteFile("config.yaml",
                           "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n"
                           "metrics: {every: 1s, names: [kgpu, dcgm, gke],\n"
                           "          listen: {dcgm: \"\", gke: \"\"}}\n" +
                               config);
    std::vector<std::string> argv = {"kgpu",
                                     "agent",
                                     "--kubelet-dir",
                                     folder(),
                                     "--run-dir",
                                     host_->dir().At("run"),
                                     "--state-dir",
                                     host_->dir().At("state"),
                                     "--http-address",
                                     "off",
                                     "--config",
                                     host_->dir().At("config.yaml"),
                                     "--runtime-socket",
                                     folder() + "/cri.sock"};
    for (const std::string& flag : host_->flags()) {
      argv.push_back(flag);
    }
    agent_ = std::make_unique<Background>(argv);
  }
  std::string Page() const {
    return RunProgram(
               {"kgpu", "metrics", "--names", "kgpu,dcgm,gke", "--run-dir", host_->dir().At("run")})
        .out;
  }
  // Of the page, the value of `series` that has `label`.
  static std::string Value(const std::string& page, const std::string& series,
                           const std::string& label) {
    for (const std::string_view line : Split(page, '\n')) {
      if (line.starts_with(series + "{") && line.find(label) != std::string_view::npos) {
        return std::string(line.substr(line.rfind(' ') + 1));
      }
    }
    return "absent";
  }
  bool WaitForPage(const std::function<bool(const std::string&)>& condition,
                   std::chrono::seconds limit) const {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < end) {
      if (condition(Page())) {
        return true;
      }
    }
    return false;
  }
  void Use(uint32_t pid, const char* memory, const char* percent,
           const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"0",    "--pid", std::to_string(pid), "--memory", memory,
                                      "--sm", percent};
    words.insert(words.end(), more.begin(), more.end());
    host_->Inject("process", words);
  }
  std::string Usage() const {
    return RunProgram({"kgpu", "usage", "--run-dir", host_->dir().At("run"), "--since", "1h"}).out;
  }

  std::unique_ptr<Background> agent_;
};

}  // namespace kgpu::e2e
