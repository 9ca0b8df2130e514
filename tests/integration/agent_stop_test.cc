// SIGTERM ends the agent at once, in every phase of its life. The times are printed; the bound is
// wide, so that a busy machine fails nothing.
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <map>

#include "src/node/plugin/endpoint.h"
#include "tests/integration/agent_fixture.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::integration {
namespace {

namespace json = boost::json;

class AgentStop : public AgentFixture {
 protected:
  bool WaitForAnswer() const {
    return node_->WaitForStatus([](const json::value&) { return true; });
  }
  std::string PluginFolder() const {
    return is_watched() ? kubelet_->layout().plugins_registry()
                        : kubelet_->layout().device_plugins();
  }
  std::string PluginSocket() const {
    return PluginFolder() + "/" + plugin::SocketName(kGpuResource);
  }
  // Ends the agent, which is in `phase`: it takes no time, and nothing is left of it.
  void ExpectQuickEnd(const std::string& phase) {
    const std::map<pid_t, char> children = node_->AgentChildren();
    const auto time = node_->EndAgent();
    std::cout << fmt::format("SIGTERM {}: {:.1f} ms\n", phase, time.count());
    EXPECT_LT(time, std::chrono::seconds(1)) << phase;
    EXPECT_FALSE(std::filesystem::exists(PluginSocket()));
    EXPECT_FALSE(std::filesystem::exists(node_->run_dir() + "/agent.sock"));
    for (const auto& child : children) {
      const pid_t pid = child.first;
      EXPECT_TRUE(
          WaitInFolder(node_->run_dir(), [pid] { return kill(pid, 0) != 0 && errno == ESRCH; }))
          << "process " << pid << " outlives the agent";
    }
  }
};

TEST_P(AgentStop, EndsBeforeAnyKubeletWasThere) {
  ASSERT_NO_FATAL_FAILURE(MakeNode());
  kubelet_->Stop();
  std::filesystem::remove_all(node_->kubelet_root());
  node_->StartAgent();
  ASSERT_TRUE(WaitForAnswer());
  ExpectQuickEnd("without a kubelet");
}

TEST_P(AgentStop, EndsWhileTheRegistrationHangs) {
  ASSERT_NO_FATAL_FAILURE(MakeNode());
  kubelet_->Inject(kubelet::kRegisterPoint, {.kind = kubelet::FaultKind::kHang});
  kubelet_->Inject(kubelet::kWatcherPoint, {.kind = kubelet::FaultKind::kSkip});
  node_->StartAgent();
  if (is_watched()) {
    ASSERT_TRUE(
        WaitInFolder(PluginFolder(), [&] { return std::filesystem::exists(PluginSocket()); }));
  } else {
    ASSERT_TRUE(kubelet_->WaitForCalls("Register", 1, kAgentPatience));
  }
  ASSERT_TRUE(WaitForAnswer());
  ExpectQuickEnd("while the registration hangs");
}

TEST_P(AgentStop, EndsWhileTheDriverHangsFromTheStart) {
  ASSERT_NO_FATAL_FAILURE(MakeNode());
  node_->host().Inject("hang");
  node_->StartAgent();
  ASSERT_TRUE(WaitForAnswer());
  ExpectQuickEnd("while the driver hangs from the start");
}

TEST_P(AgentStop, EndsWhileTheDriverHangsLater) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  node_->host().Inject("hang");
  node_->host().Inject("xid", {"1", "79"});  // has the agent ask
  ASSERT_TRUE(WaitForAnswer());
  ExpectQuickEnd("while the driver hangs later");
}

TEST_P(AgentStop, EndsMidStream) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_TRUE(WaitForAnswer());
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  ExpectQuickEnd("mid-stream");
}

// Before the driver has answered for the first time, Allocate waits for it.
TEST_P(AgentStop, EndsWhileAnAllocationWaits) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  const std::string memory = node_->run_dir() + "/agent-memory.json";
  ASSERT_TRUE(WaitInFolder(node_->run_dir(), [&] { return std::filesystem::exists(memory); }));
  const std::string id = node_->GpuUuids().at(0);
  node_->EndAgent(SIGKILL);
  ASSERT_TRUE(WaitForGpus(0, 4));
  node_->host().Inject("hang");
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(4, 4));
  ASSERT_TRUE(WaitForAnswer());
  ASSERT_OK(kubelet_->AddPod(kubelet::SimplePod("p", kGpuResource, 1)));
  ASSERT_TRUE(kubelet_->WaitForCalls("Allocate", 1, kAgentPatience));
  ExpectQuickEnd("while an allocation waits");
  EXPECT_TRUE(WaitForPhase("p", PodPhase::kFailed));
}

INSTANTIATE_TEST_SUITE_P(Way, AgentStop,
                         ::testing::Values(Registration::kKubeletSocket,
                                           Registration::kPluginWatcher),
                         NameOf);

}  // namespace
}  // namespace kgpu::integration
