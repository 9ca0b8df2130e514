// `kgpu-sim kubelet` as its users run it: the real program, a folder of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "src/platform/base/strings.h"
#include "testing/kubelet/sample_plugin.h"
#include "testing/shell.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::kubelet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class KubeletProgramTest : public ::testing::Test {
 protected:
  ~KubeletProgramTest() override { Run("stop"); }

  // `kgpu-sim kubelet WORDS`, with the folder behind the verb.
  Outcome Run(const std::string& words) const {
    const size_t end = words.starts_with("inject ") ? words.find(' ', 7) : words.find(' ');
    const std::string rest = end == std::string::npos ? "" : words.substr(end);
    return Shell(
        fmt::format("{} kubelet {} {}{}", KGPU_SIM_PROGRAM, words.substr(0, end), folder_, rest));
  }
  void Start() const {
    const Outcome started = Run("start --scale 0.01");
    ASSERT_EQ(started.code, 0) << started.text;
  }
  std::string socket() const { return folder_ + "/device-plugins/kubelet.sock"; }
  std::unique_ptr<SamplePlugin> Plugin(int devices) const {
    auto plugin = std::make_unique<SamplePlugin>(
        SamplePlugin::Options{.socket_path = folder_ + "/device-plugins/widget.sock",
                              .devices = SamplePlugin::Devices(devices)},
        SamplePlugin::Behaviour{
            .allocate = [](const SamplePlugin::Ids& ids) -> StatusOr<ContainerOptions> {
              ContainerOptions options;
              options.envs["WIDGETS"] = Join(ids, ",");
              return options;
            }});
    EXPECT_OK(plugin->Register(socket()));
    return plugin;
  }

  TempDir dir_;
  std::string folder_ = dir_.At("kubelet");
};

TEST_F(KubeletProgramTest, APodGetsDevicesOfAPlugin) {
  Start();
  const auto plugin = Plugin(2);
  EXPECT_EQ(Run("wait --resource example.com/widget --allocatable 2").code, 0);
  const Outcome pod = Run("pod p --resource example.com/widget=2");
  EXPECT_EQ(pod.code, 0) << pod.text;
  EXPECT_THAT(pod.text, AllOf(HasSubstr("p: Running"), HasSubstr("dev-0 dev-1"),
                              HasSubstr("env WIDGETS=dev-")));
  EXPECT_THAT(Run("status").text,
              AllOf(HasSubstr("example.com/widget  2         2            connected"),
                    HasSubstr("example.com/widget=dev-0,dev-1")));
  EXPECT_THAT(Run("calls").text, AllOf(HasSubstr("GetDevicePluginOptions"), HasSubstr("Allocate")));
  EXPECT_THAT(Run("status --output json").text, HasSubstr("\"allocatable\": 2"));
  EXPECT_EQ(Run("delete p").code, 0);
  EXPECT_THAT(Run("status").text, HasSubstr("no pods"));
}

TEST_F(KubeletProgramTest, APodThatDoesNotFitWaitsOrFails) {
  Start();
  const auto plugin = Plugin(1);
  EXPECT_EQ(Run("wait --resource example.com/widget --allocatable 1").code, 0);
  const Outcome waits = Run("pod p --resource example.com/widget=2 --timeout 0.05");
  EXPECT_EQ(waits.code, 1);
  EXPECT_THAT(waits.text, HasSubstr("requests 2 example.com/widget, allocatable 1"));
  const Outcome fails = Run("pod q --resource example.com/widget=2 --bind");
  EXPECT_EQ(fails.code, 1);
  EXPECT_THAT(fails.text, HasSubstr("q: Failed (UnexpectedAdmissionError)"));
}

TEST_F(KubeletProgramTest, PodsOutliveTheProcess) {
  Start();
  auto plugin = Plugin(2);
  EXPECT_EQ(Run("pod p --resource example.com/widget=1").code, 0);
  const std::string before = Run("status").text;
  const pid_t pid = std::stoi(dir_.ReadFile("kubelet/.kgpu-sim/server.pid"));
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  // The kernel has released the lock once the process is gone.
  Outcome started;
  for (int i = 0; i < 1000 && started.code != 0; ++i) {
    started = Run("start --scale 0.01");
  }
  EXPECT_EQ(started.code, 0) << started.text;
  plugin.reset();
  plugin = Plugin(2);
  EXPECT_EQ(Run("wait --resource example.com/widget --allocatable 2").code, 0);
  EXPECT_EQ(Run("status").text, before);
  EXPECT_THAT(Run("calls").text, Not(HasSubstr("Allocate")));
}

TEST_F(KubeletProgramTest, ARestartSendsPluginsToRegisterAgain) {
  Start();
  auto plugin = Plugin(1);
  EXPECT_EQ(Run("wait --resource example.com/widget --allocatable 1").code, 0);
  EXPECT_EQ(Run("restart --down 0.01").code, 0);
  EXPECT_EQ(Run("wait --resource example.com/widget --allocatable 0").code, 0);
  plugin.reset();
  plugin = Plugin(1);
  EXPECT_EQ(Run("wait --resource example.com/widget --allocatable 1").code, 0);
}

TEST_F(KubeletProgramTest, FaultsShowUntilTheyAreCleared) {
  Start();
  EXPECT_EQ(Run("inject fault register error --text busy").code, 0);
  EXPECT_THAT(Run("status").text, HasSubstr("fault: register error"));
  const SamplePlugin plugin({.socket_path = folder_ + "/device-plugins/widget.sock"});
  EXPECT_THAT(plugin.Register(socket()), StatusIs(static_cast<StatusCode>(2), HasSubstr("busy")));
  EXPECT_EQ(Run("inject clear").code, 0);
  EXPECT_OK(plugin.Register(socket()));
  EXPECT_EQ(Run("inject drop-stream --resource example.com/widget").code, 0);
  EXPECT_EQ(Run("inject drop-stream --resource example.com/other").code, 1);
  EXPECT_EQ(Run("inject stop-kubelet").code, 0);
  EXPECT_THAT(Run("status").text, HasSubstr("the kubelet is stopped"));
  EXPECT_EQ(Run("inject start-kubelet").code, 0);
}

TEST_F(KubeletProgramTest, SaysWhatIsMissing) {
  const Outcome alone = Run("status");
  EXPECT_EQ(alone.code, 1);
  EXPECT_THAT(alone.text, HasSubstr("run kgpu sim kubelet start " + folder_));
  dir_.WriteFile("kubelet/precious", "stays");
  EXPECT_THAT(Run("start").text, HasSubstr("contains other files"));
  EXPECT_EQ(dir_.ReadFile("kubelet/precious"), "stays");
}

TEST_F(KubeletProgramTest, WrongUseExitsWithTwo) {
  Start();
  EXPECT_EQ(Run("start").code, 1);
  EXPECT_EQ(Run("pod p --resource example.com/widget").code, 2);
  EXPECT_EQ(Run("pod p --resource widget=1").code, 2);
  EXPECT_EQ(Run("pod NotALabel").code, 2);
  EXPECT_EQ(Run("wait").code, 2);
  EXPECT_EQ(Run("start --topology odd").code, 2);
  EXPECT_EQ(Run("inject fault kitchen error").code, 2);
  EXPECT_EQ(Run("delete nobody").code, 1);
  EXPECT_EQ(Run("pod --help").code, 0);
}

}  // namespace
}  // namespace kgpu::kubelet
