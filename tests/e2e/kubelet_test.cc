// Real containers of the stub kubelet: `kgpu-sim kubelet … --runtime runc` with a device plugin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <csignal>

#include <fmt/format.h>

#include <memory>

#include "src/platform/base/strings.h"
#include "testing/kubelet/sample_plugin.h"
#include "testing/status_matchers.h"
#include "tests/e2e/container.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kWidget = "example.com/widget";

// Devices that are /dev/zero by another name, a file, a variable, and a CDI name.
StatusOr<kubelet::ContainerOptions> Answer(const TempDir& dir,
                                           const kubelet::SamplePlugin::Ids& ids) {
  kubelet::ContainerOptions options;
  options.envs["WIDGETS"] = Join(ids, ",");
  options.mounts = {{"/usr/lib/widget/driver", dir.At("driver"), true}};
  for (const std::string& id : ids) {
    options.devices.push_back({"/dev/widget-" + id, "/dev/zero", "rw"});
    options.cdi_devices.push_back("example.com/widget=" + id);
  }
  return options;
}

class KubeletContainerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!WhyNoContainers().empty()) {
      GTEST_SKIP() << WhyNoContainers();
    }
    bench_ = std::make_unique<ContainerBench>(ContainerBench::Image::kDebianLike);
    Prepare();
  }
  // Before the test: a kubelet with a plugin of two devices.
  virtual void Prepare() {
    bench_->dir().WriteFile("driver", "the driver's file\n");
    bench_->dir().WriteFile("cdi/widget.json",
                            R"({"cdiVersion": "0.5.0", "kind": "example.com/widget", "devices": [
             {"name": "dev-0", "containerEdits": {"env": ["CDI_0=yes"]}},
             {"name": "dev-1", "containerEdits": {"env": ["CDI_1=yes"]}}]})");
    Start();
    Register(2);
  }
  ~KubeletContainerTest() override {
    if (bench_ != nullptr) {
      (void)Run({"stop", "--pods"});
    }
  }

  // `kgpu-sim kubelet VERB <folder> words…`.
  Result Run(std::vector<std::string> words) const {
    std::vector<std::string> argv = {"kgpu-sim", "kubelet"};
    words.insert(words.begin() + 1, folder());
    argv.insert(argv.end(), words.begin(), words.end());
    return RunProgram(std::move(argv));
  }
  void Start() const {
    const Result started = Run({"start", "--scale", "0.02", "--runtime", "runc", "--rootfs",
                                bench_->rootfs(), "--cdi-dir", bench_->cdi_dir()});
    ASSERT_EQ(started.code, 0) << started.err;
  }
  void Register(int devices) {
    plugin_.reset();
    plugin_ = std::make_unique<kubelet::SamplePlugin>(
        kubelet::SamplePlugin::Options{.socket_path = folder() + "/device-plugins/widget.sock",
                                       .devices = kubelet::SamplePlugin::Devices(devices)},
        kubelet::SamplePlugin::Behaviour{.allocate = [this](const kubelet::SamplePlugin::Ids& ids) {
          return Answer(bench_->dir(), ids);
        }});
    ASSERT_OK(plugin_->Register(folder() + "/device-plugins/kubelet.sock"));
    const Result ready =
        Run({"wait", "--resource", kWidget, "--allocatable", std::to_string(devices)});
    ASSERT_EQ(ready.code, 0) << ready.err;
  }
  std::string folder() const { return bench_->dir().At("kubelet"); }
  std::string Status() const { return Run({"status"}).out; }

  std::unique_ptr<ContainerBench> bench_;
  std::unique_ptr<kubelet::SamplePlugin> plugin_;
};

TEST_F(KubeletContainerTest, AContainerSeesExactlyWhatThePluginAnswered) {
  const Result pod = Run({"pod", "p", "--restart", "Never", "--resource", "example.com/widget=1",
                          "--env", "OWN=1", "--command",
                          "env; ls /dev; cat /usr/lib/widget/driver; "
                          "head -c 3 /dev/widget-$WIDGETS | md5sum; "
                          "echo x >/usr/lib/widget/driver || echo read-only"});
  ASSERT_EQ(pod.code, 0) << pod.err;
  ASSERT_EQ(Run({"wait", "--pod", "p", "--phase", "Succeeded"}).code, 0) << Status();
  const std::string log = Run({"logs", "p"}).out;
  const bool is_first = log.find("WIDGETS=dev-0") != std::string::npos;
  const std::string id = is_first ? "0" : "1";
  const std::string other = is_first ? "1" : "0";
  EXPECT_THAT(log, AllOf(HasSubstr("WIDGETS=dev-" + id), HasSubstr("CDI_" + id + "=yes"),
                         HasSubstr("OWN=1"), HasSubstr("widget-dev-" + id),
                         HasSubstr("the driver's file"), HasSubstr("read-only")));
  EXPECT_THAT(log, Not(HasSubstr("widget-dev-" + other)));
  EXPECT_THAT(log, Not(HasSubstr("CDI_" + other)));
  // Three zero bytes.
  EXPECT_THAT(log, HasSubstr("693e9af84d3dfcc71e640e005bdc5e2e"));
}

TEST_F(KubeletContainerTest, ContainersOutliveTheProcessHoweverItEnds) {
  ASSERT_EQ(Run({"pod", "p", "--resource", "example.com/widget=1", "--command",
                 "echo started; trap exit TERM; while :; do sleep 100 & wait; done"})
                .code,
            0);
  const std::string before = Run({"status", "--output", "json"}).out;
  for (const bool is_killed : {false, true}) {
    if (is_killed) {
      const pid_t pid = std::stoi(bench_->dir().ReadFile("kubelet/.kgpu-sim/server.pid"));
      ASSERT_EQ(kill(pid, SIGKILL), 0);
      (void)Run({"stop"});  // waits until the process is gone, or finds none
    } else {
      ASSERT_EQ(Run({"stop"}).code, 0);
    }
    Start();
    Register(2);
  }
  EXPECT_EQ(Run({"status", "--output", "json"}).out, before);
  EXPECT_EQ(Run({"logs", "p"}).out, "started\n");
  EXPECT_EQ(Run({"delete", "p"}).code, 0);
  EXPECT_THAT(Status(), HasSubstr("no pods"));
}

TEST_F(KubeletContainerTest, ExitCodesAndRestartsAreTrue) {
  ASSERT_EQ(Run({"pod", "p", "--restart", "OnFailure", "--resource", "example.com/widget=1",
                 "--command", "test -e /dev/widget-$WIDGETS && sleep 0.1; exit 7"})
                .code,
            0);
  EXPECT_EQ(Run({"pod", "q", "--restart", "Never", "--command", "exit 5", "--timeout", "0"}).code,
            0);
  EXPECT_EQ(Run({"wait", "--pod", "q", "--phase", "Failed"}).code, 0);
  EXPECT_THAT(Status(), HasSubstr("terminated (exit code 5)"));
  bool is_restarted = false;
  for (int i = 0; i < 500 && !is_restarted; ++i) {
    is_restarted = Status().find("restart") != std::string::npos;
  }
  EXPECT_TRUE(is_restarted);
  EXPECT_THAT(Run({"calls"}).out, HasSubstr("Allocate"));
}

TEST_F(KubeletContainerTest, WhatTheRuntimeRefusesShowsInTheStatus) {
  bench_->dir().WriteFile("cdi/widget.json", "{}");
  const Result pod = Run({"pod", "p", "--resource", "example.com/widget=1"});
  EXPECT_THAT(pod.out, AllOf(HasSubstr("CreateContainerError"),
                             HasSubstr("CDI device example.com/widget=dev-")));
  ASSERT_EQ(Run({"pod", "q", "--restart", "Never", "--command", "true"}).code, 0);
}

// The whole way: simulated GPUs, the agent, this kubelet, a container.
class AgentContainerTest : public KubeletContainerTest {
 protected:
  void Prepare() override {
    host_ = std::make_unique<SimHost>("4xT4");
    Start();
    std::vector<std::string> argv = {"kgpu",           "agent",
                                     "--kubelet-dir",  folder(),
                                     "--run-dir",      host_->dir().At("run"),
                                     "--state-dir",    host_->dir().At("state"),
                                     "--http-address", "off"};
    for (const std::string& flag : host_->flags()) {
      argv.push_back(flag);
    }
    agent_ = std::make_unique<Background>(argv);
    const Result ready = Run({"wait", "--resource", "nvidia.com/gpu", "--allocatable", "4"});
    ASSERT_EQ(ready.code, 0) << ready.err;
  }
  ~AgentContainerTest() override { agent_.reset(); }

  std::unique_ptr<SimHost> host_;
  std::unique_ptr<Background> agent_;
};

TEST_F(AgentContainerTest, APodSeesExactlyItsGpus) {
  const Result pod = Run({"pod", "p", "--restart", "Never", "--resource", "nvidia.com/gpu=2",
                          "--command", "kgpu devices --output json"});
  ASSERT_EQ(pod.code, 0) << pod.err;
  ASSERT_EQ(Run({"wait", "--pod", "p", "--phase", "Succeeded"}).code, 0) << Status();
  const std::string log = Run({"logs", "p"}).out;
  size_t seen = 0;
  for (size_t at = log.find("\"GPU-"); at != std::string::npos; at = log.find("\"GPU-", at + 1)) {
    const std::string uuid = log.substr(at + 1, log.find('"', at + 1) - at - 1);
    EXPECT_THAT(pod.out, HasSubstr(uuid));
    ++seen;
  }
  EXPECT_EQ(seen, 2) << log;
}

TEST_F(AgentContainerTest, AFaultIsSeenByTheNodeAndThePod) {
  const Result pod = Run({"pod", "p", "--resource", "nvidia.com/gpu=4"});
  ASSERT_EQ(pod.code, 0) << pod.err;
  host_->Inject("xid", {"2", "79"});
  const Result wait = Run({"wait", "--resource", "nvidia.com/gpu", "--allocatable", "3"});
  EXPECT_EQ(wait.code, 0) << wait.err;
  EXPECT_THAT(Run({"status", "--output", "json"}).out, HasSubstr("\"health\": \"Unhealthy\""));
}

}  // namespace
}  // namespace kgpu::e2e
