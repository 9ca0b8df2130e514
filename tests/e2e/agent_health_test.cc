// How a fault is reported, and for how long: the built agent on a simulated host, beside
// the stub API server and the stub kubelet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"
#include "tests/e2e/cluster_fixture.h"

namespace kgpu::e2e {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class AgentHealthTest : public ClusterFixture {
 protected:
  AgentHealthTest() { keeps_log_ = true; }

  // "Warning GPUUnhealthy Node/n1 [uid] x3: note" of each.
  std::set<std::string> Events(const std::string& space = "default") const {
    const auto list = doc::Parse(
        Ask("GET", fmt::format("/apis/events.k8s.io/v1/namespaces/{}/events", space), ""),
        doc::Format::kJson, "events");
    EXPECT_OK(list);
    std::set<std::string> events;
    for (const json::value& event : list.ok() ? list->at("items").as_array() : json::array()) {
      events.insert(fmt::format("{} {} {}/{} [{}]: {}", TextAt(event, {"type"}),
                                TextAt(event, {"reason"}), TextAt(event, {"regarding", "kind"}),
                                TextAt(event, {"regarding", "name"}),
                                TextAt(event, {"regarding", "uid"}), TextAt(event, {"note"})));
    }
    return events;
  }
  size_t CountOf(const std::string& word) const {
    const auto events = Events();
    return static_cast<size_t>(std::ranges::count_if(
        events, [&word](const auto& event) { return event.find(word) != std::string::npos; }));
  }
  std::string NodeUid() const { return TextAt(Node(), {"metadata", "uid"}); }
  std::string Kgpu(std::vector<std::string> words) const {
    words.insert(words.begin(), "kgpu");
    words.insert(words.end(), {"--run-dir", At("run")});
    const Result result = RunProgram(words);
    return result.out + result.err;
  }
  std::string History() const { return Kgpu({"health", "history", "--state-dir", At("state")}); }
  // Of one GPU, whose name the driver of the simulated host knows where no agent runs.
  std::string HistoryOf(const std::string& gpu) const {
    std::vector<std::string> words = {"health",    "history", "--state-dir",
                                      At("state"), "--gpu",   gpu};
    for (const std::string& flag : host_->flags()) {
      words.push_back(flag);
    }
    return Kgpu(words);
  }
  std::string Log() const { return host_->dir().ReadFile("log"); }
  bool WaitForHistory(const std::string& text) const {
    return WaitForNode([&] { return History().find(text) != std::string::npos; });
  }
  bool IsHealthy(const std::string& status) const {
    return Condition("GPUHealthy").starts_with(status);
  }
};

TEST_F(AgentHealthTest, AFaultIsReportedToNodeAndJournalAndSoIsItsEnd) {
  StartAgent("health: {holdDown: 1s}\n");
  ASSERT_TRUE(WaitForNode([&] { return Condition("GPUHealthy") == "True AllHealthy"; }));
  host_->Inject("xid", {"2", "79"});
  ASSERT_TRUE(WaitForNode([&] { return Condition("GPUHealthy") == "False Xid79"; }))
      << Condition("GPUHealthy");
  ASSERT_TRUE(WaitForNode([&] { return Condition("GPUHealthy") == "True AllHealthy"; }));
  ASSERT_TRUE(WaitForNode([&] { return CountOf("GPURecovered") == 1; }));
  EXPECT_THAT(Events(),
              AllOf(Contains(AllOf(HasSubstr("Warning GPUUnhealthy Node/n1 [" + NodeUid() + "]"),
                                   HasSubstr("GPU 2 (GPU-"), HasSubstr("Xid79"))),
                    Contains(AllOf(HasSubstr("Normal GPURecovered Node/n1"),
                                   HasSubstr("Xid79 recovered")))));
  EXPECT_THAT(History(), AllOf(HasSubstr("raised   Xid79"), HasSubstr("cleared  Xid79")));
}

TEST_F(AgentHealthTest, ThePodThatUsesTheDeviceIsNotified) {
  StartKubelet();
  StartAgent("health: {holdDown: 1s}\nmetrics: {every: 1s}\n");
  ASSERT_EQ(RunProgram({"kgpu-sim", "kubelet", "wait", At("kubelet"), "--resource",
                        "nvidia.com/gpu", "--allocatable", "4"})
                .code,
            0);
  Ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":"ml"}})");
  Ask("POST", "/api/v1/namespaces/ml/pods",
      R"({"metadata":{"name":"train"},"spec":{"nodeName":"n1","containers":[{"name":"main","image":"i"}]}})");
  const std::string pod_uid = TextAt(
      *doc::Parse(Ask("GET", "/api/v1/namespaces/ml/pods/train", ""), doc::Format::kJson, "pod"),
      {"metadata", "uid"});
  ASSERT_EQ(RunProgram({"kgpu-sim", "kubelet", "pod", At("kubelet"), "ml/train", "--resource",
                        "nvidia.com/gpu=4"})
                .code,
            0);
  // Shown by the agent once the kubelet has reported who has the devices.
  ASSERT_TRUE(WaitForNode([&] {
    return http::Fetch(At("run/agent.sock"), {.target = "/metrics"})->body.find("pod=\"train\"") !=
           std::string::npos;
  }));
  host_->Inject("xid", {"1", "79"});
  ASSERT_TRUE(WaitForNode([&] { return Events("ml").size() == 2; }));
  EXPECT_THAT(Events("ml"),
              AllOf(Contains(AllOf(HasSubstr("Warning GPUUnhealthy Pod/train [" + pod_uid + "]"),
                                   HasSubstr("GPU 1 (GPU-"))),
                    Contains(HasSubstr("Normal GPURecovered Pod/train"))));
}

TEST_F(AgentHealthTest, TheJournalOutlivesTheAgent) {
  StartAgent("health: {holdDown: 1h}\n");
  ASSERT_TRUE(WaitForNode([&] { return IsHealthy("True"); }));
  host_->Inject("xid", {"0", "48"});
  ASSERT_TRUE(WaitForHistory("raised  Xid48"));
  // Remembered a moment later, for a start in the same boot.
  ASSERT_TRUE(WaitForNode([&] {
    return host_->dir().ReadFile("run/agent-memory.json").find("Xid48") != std::string::npos;
  }));
  agent_.reset();  // killed
  EXPECT_THAT(History(), HasSubstr("raised  Xid48"));
  EXPECT_THAT(HistoryOf("0"), AllOf(HasSubstr("raised  Xid48"), HasSubstr("GPU 0")));
  EXPECT_THAT(HistoryOf("1"), Not(HasSubstr("Xid48")));
  StartAgent("health: {holdDown: 1h}\n");
  ASSERT_TRUE(WaitForNode([&] { return Kgpu({"health"}).find("Xid48") != std::string::npos; }))
      << "a restart heals nothing";
  EXPECT_THAT(History(), HasSubstr("raised  Xid48"));
}

TEST_F(AgentHealthTest, ADeviceThatFailsTooOftenWaitsForAnAdmin) {
  StartAgent("health: {holdDown: 100ms, flapLimit: {times: 1, within: 1h}}\n");
  ASSERT_TRUE(WaitForNode([&] { return IsHealthy("True"); }));
  host_->Inject("xid", {"3", "79"});
  ASSERT_TRUE(WaitForHistory("cleared"));
  host_->Inject("xid", {"3", "79"});
  ASSERT_TRUE(WaitForHistory("held"));
  ASSERT_TRUE(WaitForNode([&] { return CountOf("GPUHeldBack") == 1; }));
  ASSERT_TRUE(WaitForNode([&] { return IsHealthy("False"); }));
  EXPECT_THAT(Kgpu({"health"}), HasSubstr("kgpu health clear GPU-"));
  EXPECT_THAT(Kgpu({"health", "clear", "3"}), HasSubstr(": cleared: Xid79"));
  ASSERT_TRUE(WaitForNode([&] { return IsHealthy("True"); }));
}

TEST(HealthVerbTest, TheHistoryNeedsNoAgentToNameAGpu) {
  if (!CanMakeDevices()) {
    GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
  }
  SimHost host("4xT4");
  EXPECT_EQ(host.Kgpu({"health", "history", "--gpu", "3"}).out, "No health events.\n");
  Result result = host.Kgpu({"health", "history", "--gpu", "7"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("the driver reports no GPU 7 now: use the GPU's UUID")));
  result = host.Kgpu({"health", "history", "--gpu", "third"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("--gpu: \"third\" does not name a GPU"));
  host.Inject("unload");
  result = host.Kgpu({"health", "history", "--gpu", "3"});
  EXPECT_EQ(result.code, 6);
  EXPECT_THAT(result.err, AllOf(HasSubstr("the driver does not say which GPU is 3 ("),
                                HasSubstr("use the GPU's UUID")));
}

TEST(HealthVerbTest, LooksAtTheDriverWhereNoAgentRuns) {
  if (!CanMakeDevices()) {
    GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
  }
  SimHost host("8xA100-SXM4-80GB");
  Result result = host.Kgpu({"health"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("8 of 8 GPUs are healthy."));
  host.Inject("ecc", {"2", "--double", "1"});
  EXPECT_THAT(host.Kgpu({"health"}).out,
              AllOf(HasSubstr("1 of 8 GPUs is unhealthy"), HasSubstr("GPU 2: EccUncorrected"),
                    HasSubstr("GPU 2: RowRemapPending (warning only)")));
  host.Inject("lose", {"5"});
  result = host.Kgpu({"health"});
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("2 of 8 GPUs are unhealthy"), HasSubstr("has fallen off the bus")));
}

// Resident memory of a process in kilobytes.
size_t ResidentKilobytes(pid_t pid) {
  const auto proc = sys::Root::Open(fmt::format("/proc/{}", pid));
  const auto status = proc.ok() ? proc->ReadFile("status") : proc.status();
  EXPECT_OK(status);
  const size_t at = status.ok() ? status->find("VmRSS:") : std::string::npos;
  if (at == std::string::npos) {
    return 0;
  }
  const auto words = Words(std::string_view(*status).substr(at, 40));
  return words.size() < 2 ? 0 : ParseUint(words[1]).value_or(0);
}

TEST_F(AgentHealthTest, TenThousandXidsLeaveLittleBehind) {
  StartAgent("health: {holdDown: 1h}\n");
  ASSERT_TRUE(WaitForNode([&] { return IsHealthy("True"); }));
  host_->Inject("xid", {"0", "31", "--times", "1"});
  ASSERT_TRUE(WaitForHistory("Xid31"));
  const size_t before = ResidentKilobytes(agent_->pid());
  const auto lines = std::ranges::count(Log(), '\n');
  const auto begun = std::chrono::steady_clock::now();
  host_->Inject("xid", {"0", "94", "--times", "10000"});
  host_->Inject("xid", {"1", "79"});
  ASSERT_TRUE(WaitForNode([&] {
    return Kgpu({"health"}).find("10000 times") != std::string::npos;
  })) << Kgpu({"health"});
  ASSERT_TRUE(WaitForHistory("Xid79")) << "one among thousands is not lost";
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  const std::string history = History();
  const size_t after = ResidentKilobytes(agent_->pid());
  RecordProperty("seconds", fmt::format("{:.1f}", took.count()));
  RecordProperty("kilobytes", static_cast<int>(after) - static_cast<int>(before));
  EXPECT_LT(after, before + 1024);
  EXPECT_LT(std::ranges::count(Log(), '\n'), lines + 60);
  EXPECT_LT(std::ranges::count(history, '\n'), 40) << history;
  EXPECT_LT(host_->dir().ReadFile("state/health.journal").size(), 20'000U);
  EXPECT_LT(Events().size(), 8U);
}

}  // namespace
}  // namespace kgpu::e2e
