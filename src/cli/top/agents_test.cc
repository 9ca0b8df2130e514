#include "src/cli/top/agents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <boost/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::top {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Answers with what it was given for a path; nobody has what is missing.
class TableClient final : public kube::Client {
 public:
  explicit TableClient(EventLoop& loop) : loop_(loop) {}

  std::unique_ptr<kube::Call> Send(kube::ApiRequest request, Done done) override {
    const auto found = answers.find(request.path);
    const StatusOr<json::value> answer =
        found == answers.end() ? NotFound("no {}", request.path) : found->second;
    asked.push_back(request);
    ++open_;
    most_open = std::max(most_open, open_);
    loop_.Post([this, answer, done = std::move(done)] {
      --open_;
      done(answer);
    });
    return std::make_unique<kube::Call>();
  }
  std::unique_ptr<kube::Call> Stream(kube::ApiRequest /*request*/,
                                     kube::StreamHandlers /*handlers*/) override {
    return nullptr;
  }

  std::map<std::string, StatusOr<json::value>> answers;
  std::vector<kube::ApiRequest> asked;
  size_t most_open = 0;

 private:
  EventLoop& loop_;
  size_t open_ = 0;
};

class AgentsTest : public ::testing::Test {
 protected:
  static std::string PathOf(size_t agent) {
    return fmt::format("/api/v1/namespaces/kgpu/pods/kgpu-agent-{:03}:9401/proxy/live", agent);
  }
  void AddAgents(size_t count) {
    json::array items;
    for (size_t i = 0; i < count; ++i) {
      items.push_back(json::parse(fmt::format(
          R"({{"metadata": {{"name": "kgpu-agent-{:03}", "namespace": "kgpu"}}, "spec":
              {{"containers": [{{"ports": [{{"name": "metrics", "containerPort": 9401}}]}}]}}}})",
          i)));
      client_.answers.emplace(
          PathOf(i), json::parse(fmt::format(
                         R"({{"node": "n{}", "gpus": [{{"uuid": "GPU-0", "index": 0, "model": "T4",
                   "pool": "nvidia.com/gpu", "utilization": {{"gpu": 40}},
                   "memory": {{"used": 7, "total": 16}}}}]}})",
                         i)));
    }
    client_.answers.emplace(
        "/api/v1/pods", json::object{{"items", std::move(items)}, {"metadata", json::object()}});
  }
  AgentsAnswer Read(const std::string& node = "") {
    std::optional<AgentsAnswer> answer;
    const AgentsReader reader(client_, node, [&](AgentsAnswer read) { answer = std::move(read); });
    loop_.RunUntilIdle();
    EXPECT_TRUE(answer);
    return answer.value_or(AgentsAnswer());
  }

  FakeLoop loop_;
  TableClient client_{loop_};
};

TEST_F(AgentsTest, ReadsWhatGpusDo) {
  AddAgents(20);
  const AgentsAnswer answer = Read();
  EXPECT_EQ(answer.problem, "");
  ASSERT_THAT(answer.uses, SizeIs(20));
  EXPECT_EQ(answer.uses[3].node, "n3");
  EXPECT_EQ(answer.uses[3].resource, "nvidia.com/gpu");
  EXPECT_EQ(answer.uses[3].utilization, 40.0);
  EXPECT_EQ(answer.uses[3].memory_total, 16U);
  EXPECT_EQ(client_.most_open, kAgentsAtOnce);
}

TEST_F(AgentsTest, AsksOneNodesAgent) {
  AddAgents(1);
  Read("n0");
  const auto& query = client_.asked[0].query;
  EXPECT_THAT(query, ::testing::Contains(std::pair<std::string, std::string>(
                         "fieldSelector", "status.phase=Running,spec.nodeName=n0")));
}

TEST_F(AgentsTest, OneThatDoesNotAnswerCostsItsOwn) {
  AddAgents(3);
  client_.answers.at(PathOf(1)) = Unavailable("error trying to reach service");
  const AgentsAnswer answer = Read();
  EXPECT_THAT(answer.uses, SizeIs(2));
  EXPECT_EQ(answer.problem,
            "GPU use: 1 of 3 agents did not answer: kgpu-agent-001: error trying to reach service");
}

TEST_F(AgentsTest, WithoutTheRightItAsksOnce) {
  AddAgents(50);
  for (size_t i = 0; i < 50; ++i) {
    client_.answers.at(PathOf(i)) = PermissionDenied("pods/proxy is forbidden");
  }
  const AgentsAnswer answer = Read();
  EXPECT_THAT(answer.uses, IsEmpty());
  EXPECT_EQ(answer.problem,
            "GPU use: 50 of 50 agents did not answer: kgpu-agent-000: pods/proxy is forbidden: "
            "use --api-only to ask none");
  EXPECT_THAT(client_.asked, SizeIs(1 + kAgentsAtOnce));
}

TEST_F(AgentsTest, ALargeClusterIsNotAskedAsAWhole) {
  AddAgents(kMostAgents + 20);
  const AgentsAnswer answer = Read();
  EXPECT_THAT(answer.uses, SizeIs(kMostAgents));
  EXPECT_THAT(answer.problem, HasSubstr("only 100 of 120 agents were asked: --node"));
}

TEST_F(AgentsTest, AClusterWithoutAgentsHasNoneToAsk) {
  AddAgents(0);
  const AgentsAnswer answer = Read();
  EXPECT_EQ(answer.problem, "");
  EXPECT_THAT(answer.uses, IsEmpty());
}

}  // namespace
}  // namespace kgpu::top
