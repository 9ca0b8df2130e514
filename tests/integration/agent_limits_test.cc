// An agent that runs out of descriptors answers again as soon as there are some.
#include <sys/resource.h>

#include <filesystem>
#include <vector>

#include "src/node/plugin/endpoint.h"
#include "src/platform/sys/unix_socket.h"
#include "tests/integration/agent_fixture.h"
#include "tests/integration/plugin_caller.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::integration {
namespace {

size_t OpenFiles(pid_t pid) {
  const std::filesystem::directory_iterator files(fmt::format("/proc/{}/fd", pid));
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

class AgentLimits : public AgentFixture {
 protected:
  std::string PluginSocket() const {
    return fmt::format(
        "{}/{}",
        is_watched() ? kubelet_->layout().plugins_registry() : kubelet_->layout().device_plugins(),
        plugin::SocketName(kGpuResource));
  }
  void LimitFiles(size_t limit) const {
    const rlimit files = {.rlim_cur = limit, .rlim_max = 4096};
    ASSERT_EQ(prlimit(node_->agent_pid(), RLIMIT_NOFILE, &files, nullptr), 0);
  }
  // Connections that nobody uses, until the queue of the socket is full.
  std::vector<UniqueFd> Crowd(const std::string& socket) const {
    std::vector<UniqueFd> connections;
    for (int i = 0; i < 200; ++i) {
      auto connection = sys::ConnectUnix(socket);
      if (!connection.ok()) {
        break;
      }
      connections.push_back(*std::move(connection));
    }
    return connections;
  }
  bool WaitForOpenFiles(size_t count) const {
    return WaitInFolder(node_->run_dir(), [&] { return OpenFiles(node_->agent_pid()) >= count; });
  }
  void ExpectAnswers(const std::string& id) const {
    EXPECT_TRUE(WaitInFolder(node_->run_dir(), [&] {
      const auto caller = PluginCaller::Connect(PluginSocket());
      return caller.ok() && (*caller)->Allocate({id}).ok();
    }));
    EXPECT_TRUE(
        node_->WaitForStatus([](const auto& status) { return status.at("ready") == true; }));
  }
};

TEST_P(AgentLimits, ACrowdOnThePluginSocketIsSurvived) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  const std::string id = node_->GpuUuids().at(1);
  const size_t limit = OpenFiles(node_->agent_pid()) + 8;
  ASSERT_NO_FATAL_FAILURE(LimitFiles(limit));
  std::vector<UniqueFd> crowd = Crowd(PluginSocket());
  EXPECT_GT(crowd.size(), 8u);
  EXPECT_TRUE(WaitForOpenFiles(limit));
  // The stream is served all the same.
  node_->host().Inject("xid", {"1", "79"});
  EXPECT_TRUE(WaitForGpus(3, 4));
  crowd.clear();
  node_->host().Inject("heal");
  EXPECT_TRUE(WaitForGpus(4, 4));
  ExpectAnswers(id);
  EXPECT_EQ(kubelet_->CallCount("ListAndWatch"), 1u);
}

TEST_P(AgentLimits, ASocketThatVanishedInACrowdIsMadeAgain) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  const std::string id = node_->GpuUuids().at(1);
  const size_t limit = OpenFiles(node_->agent_pid()) + 8;
  ASSERT_NO_FATAL_FAILURE(LimitFiles(limit));
  std::vector<UniqueFd> crowd = Crowd(PluginSocket());
  EXPECT_TRUE(WaitForOpenFiles(limit));
  std::filesystem::remove(PluginSocket());
  crowd.clear();
  ExpectAnswers(id);
  EXPECT_TRUE(WaitForGpus(4, 4));
}

INSTANTIATE_TEST_SUITE_P(Way, AgentLimits,
                         ::testing::Values(Registration::kKubeletSocket,
                                           Registration::kPluginWatcher),
                         NameOf);

}  // namespace
}  // namespace kgpu::integration
