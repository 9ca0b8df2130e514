// kgpu top with the built agent on simulated hosts, on an emulated screen.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/terminal/width.h"
#include "testing/status_matchers.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"
#include "tests/e2e/tmux.h"

namespace kgpu::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
    }
    if (!HasTmux()) {
      GTEST_SKIP() << "tmux is not installed here";
    }
  }

  void Create(const std::string& profile) { host_ = std::make_unique<SimHost>(profile); }
  std::string At(const std::string& path) const { return host_->dir().At(path); }

  void StartAgent(const std::string& config = "") {
    host_->dir().WriteFile("config.yaml", "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n" + config);
    std::vector<std::string> argv = {
        "kgpu",           "agent",       "--kubelet-dir", At("kubelet"),    "--run-dir",
        At("run"),        "--state-dir", At("state"),     "--node",         "n1",
        "--http-address", "off",         "--config",      At("config.yaml")};
    for (const std::string& flag : host_->flags()) {
      argv.push_back(flag);
    }
    agent_ = std::make_unique<Background>(argv);
    // Until the driver has answered it knows no GPUs.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (Top({"--output", "json"}).out.find("\"uuid\"") == std::string::npos &&
           std::chrono::steady_clock::now() < end) {
    }
  }
  Result Top(std::vector<std::string> words) const {
    words.insert(words.begin(), {"kgpu", "top", "--run-dir", At("run")});
    return RunProgram(std::move(words));
  }
  std::string Command(const std::string& more = "") const {
    return fmt::format("{} top --run-dir {} {}", ProgramPath("kgpu"), At("run"), more);
  }

  std::unique_ptr<SimHost> host_;
  std::unique_ptr<Background> agent_;
};

// The longest line of a screen.
size_t WidthOfScreen(const std::string& screen) {
  size_t width = 0;
  for (const std::string_view line : Split(screen, '\n')) {
    width = std::max(width, terminal::TextWidth(line));
  }
  return width;
}

// Sixteen GPUs, eight of them in seven MIG devices each, seven shared by eight pods; 110 pods.
class BusyTopTest : public TopTest {
 protected:
  static constexpr int kPods = 110;
  // GPUs, MIG devices, pods, and a process outside of them.
  static constexpr int kRows = 16 + 56 + kPods + 1;

  void SetUp() override {
    TopTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    Create("16xA100");
    for (int gpu = 0; gpu < 8; ++gpu) {
      host_->Inject("mig", {std::to_string(gpu), "--enable", "--create",
                            "1g.5gb,1g.5gb,1g.5gb,1g.5gb,1g.5gb,1g.5gb,1g.5gb"});
    }
    Kubelet({"start", At("kubelet")});
    StartAgent(
        "migStrategy: mixed\n"
        "pools:\n"
        "- {resource: nvidia.com/mig-1g.5gb, devices: {mig: 1g.5gb}}\n"
        "- {resource: nvidia.com/gpu.shared, devices: {index: 8-14}, share: {by: time, replicas: "
        "8}}\n"
        "- {devices: all}\n");
    for (const char* resource : {"nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared"}) {
      Kubelet({"wait", At("kubelet"), "--resource", resource, "--allocatable", "56"});
    }
    for (int pod = 0; pod < kPods; ++pod) {
      Kubelet({"pod", At("kubelet"), fmt::format("team-{}/train-{:03}", pod % 2, pod), "--resource",
               pod < 55 ? "nvidia.com/mig-1g.5gb=1" : "nvidia.com/gpu.shared=1"});
    }
    host_->Inject("process", {"8", "--pid", "4711", "--memory", "8Gi", "--name", "python3"});
    host_->Inject("util", {"12", "--gpu", "87"});
  }
  void TearDown() override {
    if (host_) {
      agent_.reset();
      Kubelet({"stop", At("kubelet"), "--pods"});
    }
  }
  static void Kubelet(std::vector<std::string> words) {
    words.insert(words.begin(), {"kgpu-sim", "kubelet"});
    const Result result = RunProgram(std::move(words));
    EXPECT_EQ(result.code, 0) << result.err;
  }
};

TEST_F(BusyTopTest, ShowsAllOfABusyNodeInEveryWidth) {
  Tmux tmux(80, 40, Command());
  ASSERT_TRUE(tmux.WaitFor("16 GPUs")) << tmux.Screen();
  ASSERT_TRUE(tmux.WaitFor(fmt::format("of {}", kRows))) << tmux.Screen();
  for (const size_t columns : {60U, 200U, 80U}) {
    tmux.Resize(columns, 30);
    ASSERT_TRUE(tmux.WaitUntil([&](const std::string& screen) {
      return WidthOfScreen(screen) == columns && screen.find("? help") != std::string::npos;
    })) << columns
        << tmux.Screen();
    EXPECT_THAT(tmux.Screen(), HasSubstr("0:0 1g.5gb"));
    EXPECT_THAT(tmux.Screen(), HasSubstr("A100-SXM4-40GB"));
  }
  tmux.Press({"G"});
  ASSERT_TRUE(tmux.WaitFor(">  15 A100-SXM4-40GB")) << tmux.Screen();
  tmux.Press({"u", "g"});
  ASSERT_TRUE(tmux.WaitFor("sort: utilization")) << tmux.Screen();
  ASSERT_TRUE(tmux.WaitUntil([](const std::string& screen) {
    return screen.find("12 A100-SXM4-40GB") < screen.find("87%");
  })) << tmux.Screen();
  tmux.Press({"a"});
  ASSERT_TRUE(tmux.WaitFor("ok, 8 pods")) << tmux.Screen();
}

TEST_F(BusyTopTest, FiltersAndExplains) {
  Tmux tmux(80, 40, Command("--kubeconfig /nonexistent/kubeconfig"));
  ASSERT_TRUE(tmux.WaitFor("16 GPUs")) << tmux.Screen();
  ASSERT_TRUE(tmux.WaitFor(fmt::format("of {}", kRows))) << tmux.Screen();
  tmux.Press({"/", "train-109", "Enter"});
  ASSERT_TRUE(tmux.WaitUntil([](const std::string& screen) {
    return screen.find("filter: train-109") != std::string::npos &&
           screen.find("team-1/train-109") != std::string::npos &&
           screen.find("train-001") == std::string::npos;
  })) << tmux.Screen();
  tmux.Press({"Down", "e"});
  ASSERT_TRUE(tmux.WaitFor("kgpu explain pod team-1/train-109")) << tmux.Screen();
  ASSERT_TRUE(tmux.WaitFor("no such file")) << tmux.Screen();
  tmux.Press({"q", "Up", "e"});
  ASSERT_TRUE(tmux.WaitFor("kgpu health history:")) << tmux.Screen();
  EXPECT_THAT(tmux.Screen(), HasSubstr("health      healthy"));
  tmux.Press({"q", "?"});
  ASSERT_TRUE(tmux.WaitFor("kgpu top: keys")) << tmux.Screen();
  tmux.Press({"Escape", "Escape"});
  ASSERT_TRUE(tmux.WaitFor(fmt::format("of {}", kRows))) << tmux.Screen();
}

TEST_F(TopTest, ShowsFaultsAndAnAgentThatGoesAway) {
  Create("4xT4");
  StartAgent();
  Tmux tmux(100, 24, Command(), {"NO_COLOR=1"});
  ASSERT_TRUE(tmux.WaitFor("4 GPUs")) << tmux.Screen();
  host_->Inject("lose", {"2"});
  ASSERT_TRUE(tmux.WaitFor("1 unhealthy")) << tmux.Screen();
  EXPECT_THAT(tmux.Screen(), HasSubstr("! "));
  agent_->Stop();
  ASSERT_TRUE(tmux.WaitFor("no agent is running")) << tmux.Screen();
  StartAgent();
  ASSERT_TRUE(tmux.WaitUntil([](const std::string& screen) {
    return screen.find("no agent is running") == std::string::npos;
  })) << tmux.Screen();
}

// Compares the modes of the terminal before and after.
class WaysOutTest : public TopTest {
 protected:
  void SetUp() override {
    TopTest::SetUp();
    if (!IsSkipped()) {
      Create("4xT4");
      StartAgent();
    }
  }
  // `run` starts kgpu top, and ends after it.
  std::string Compared(const std::string& run) const {
    return fmt::format("stty -a > {0}; {2}; echo code $?; stty -a > {1}; cmp {0} {1} && echo same",
                       At("before"), At("after"), run);
  }
  // The shell waits for it, so that others can send it signals.
  std::string InBackground() const {
    return fmt::format("exec 3<&0; {} <&3 & echo $! > {}; wait $!", Command(), At("pid"));
  }
  pid_t Pid() const {
    const auto pid = ParseUint(Trim(host_->dir().ReadFile("pid")));
    return static_cast<pid_t>(pid.value_or(0));
  }
};

TEST_F(WaysOutTest, QuitsByKey) {
  Tmux tmux(80, 24, Compared(Command()));
  ASSERT_TRUE(tmux.WaitFor("4 GPUs")) << tmux.Screen();
  tmux.Press({"q"});
  ASSERT_TRUE(tmux.WaitFor("same")) << tmux.Screen();
  EXPECT_THAT(tmux.Screen(), HasSubstr("code 0"));
  EXPECT_THAT(tmux.Screen(), Not(HasSubstr("4 GPUs")));
}

TEST_F(WaysOutTest, EndsBySignals) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    Tmux tmux(80, 24, Compared(InBackground()));
    ASSERT_TRUE(tmux.WaitFor("4 GPUs")) << tmux.Screen();
    ASSERT_GT(Pid(), 0);
    ASSERT_EQ(kill(Pid(), signal), 0);
    ASSERT_TRUE(tmux.WaitFor("same")) << tmux.Screen();
    EXPECT_THAT(tmux.Screen(), HasSubstr(fmt::format("code {}", 128 + signal)));
  }
  Tmux tmux(80, 24, "trap : INT; " + Compared(Command()));
  ASSERT_TRUE(tmux.WaitFor("4 GPUs")) << tmux.Screen();
  tmux.Press({"C-c"});
  ASSERT_TRUE(tmux.WaitFor("same")) << tmux.Screen();
  EXPECT_THAT(tmux.Screen(), HasSubstr("code 130"));
}

TEST_F(WaysOutTest, StopsAndGoesOn) {
  Tmux tmux(80, 24, fmt::format("set -m; {}; read next; fg; echo back", Compared(Command())));
  ASSERT_TRUE(tmux.WaitFor("4 GPUs")) << tmux.Screen();
  tmux.Press({"C-z"});
  ASSERT_TRUE(tmux.WaitFor("same")) << tmux.Screen();
  tmux.Press({"Enter"});
  ASSERT_TRUE(tmux.WaitFor("4 GPUs")) << tmux.Screen();
  tmux.Press({"q"});
  ASSERT_TRUE(tmux.WaitFor("back")) << tmux.Screen();
}

TEST_F(TopTest, PrintsOneFrameWithoutATerminal) {
  Create("4xT4");
  StartAgent();
  const Result table = Top({});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, StartsWith("kgpu top  n1  4 GPUs"));
  EXPECT_THAT(table.out, Not(HasSubstr("\x1b")));
  const Result csv = Top({"-o", "csv"});
  EXPECT_EQ(Split(csv.out, '\n').size(), 1U + 4U + 1U);
  const Result text = Top({"-o", "json"});
  const auto json = doc::Parse(text.out, doc::Format::kJson, "top");
  ASSERT_OK(json);
  EXPECT_EQ(json->at("gpus").as_array().size(), 4U);
}

TEST_F(TopTest, SaysThatNoAgentRuns) {
  Create("4xT4");
  const Result result = Top({});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("no agent is running"));
}

}  // namespace
}  // namespace kgpu::e2e
