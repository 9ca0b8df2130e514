// GPUs that the built agent lends to programs of its host: nobody gets what somebody else has,
// whatever is killed, reconfigured or broken meanwhile.
#include <algorithm>
#include <atomic>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <csignal>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/node/telemetry/own_series.h"
#include "src/platform/doc/doc.h"
#include "src/platform/net/http/client.h"
#include "tests/integration/agent_fixture.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::integration {
namespace {

namespace json = boost::json;

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kTwoLocal[] = "pools:\n- {devices: {index: 0-1}, provider: local}\n- devices: all\n";
constexpr char kAllLocal[] = "pools:\n- provider: local\n";

using Gpus = std::set<std::string>;

struct Lent {
  int code = 0;  // 0: the agent was killed before it answered
  std::string id;
  Gpus gpus;
  std::string error;
};

// A client of the agent's socket. Thread: any.
class LoanClient {
 public:
  explicit LoanClient(const std::string& run_dir) : socket_(run_dir + "/agent.sock") {}

  Lent Lend(const std::string& holder, size_t count = 1) const {
    return LentIn(
        Ask("POST", "/v1/loans", fmt::format(R"({{"holder": "{}", "count": {}}})", holder, count)));
  }
  int End(const std::string& id) const {
    const auto response = Ask("DELETE", "/v1/loans/" + id);
    return response.ok() ? response->code : 0;
  }
  // By holder.
  std::map<std::string, Lent> List() const {
    const auto response = Ask("GET", "/v1/loans");
    EXPECT_OK(response.status());
    std::map<std::string, Lent> loans;
    if (response.ok()) {
      const json::value answer = Parsed(response->body);
      for (const json::value& loan : answer.at("loans").as_array()) {
        loans[std::string(loan.at("holder").as_string())] = LentOf(loan);
      }
    }
    return loans;
  }

 private:
  StatusOr<http::Response> Ask(const std::string& method, const std::string& target,
                               const std::string& body = "") const {
    return http::Fetch(socket_, {.method = method, .target = target, .body = body});
  }
  static json::value Parsed(const std::string& text) {
    auto value = doc::Parse(text, doc::Format::kJson, "answer");
    EXPECT_OK(value.status());
    return std::move(value).value_or(json::object());
  }
  static Lent LentOf(const json::value& loan) {
    Lent lent{.code = 200, .id = std::string(loan.at("id").as_string()), .gpus = {}, .error = {}};
    for (const json::value& uuid : loan.at("uuids").as_array()) {
      lent.gpus.emplace(uuid.as_string());
    }
    return lent;
  }
  static Lent LentIn(const StatusOr<http::Response>& response) {
    if (!response.ok()) {
      return {};
    }
    const json::value answer = Parsed(response->body);
    const json::value* error = answer.as_object().if_contains("error");
    Lent lent = error == nullptr ? LentOf(answer) : Lent();
    lent.error = error == nullptr ? "" : std::string(error->as_string());
    lent.code = response->code;
    return lent;
  }

  const std::string socket_;
};

class Loans : public AgentFixture {
 protected:
  LoanClient client() const { return LoanClient(node_->run_dir()); }
  void Configure(const std::string& pools) const {
    node_->host().dir().WriteFile(
        "config.yaml",
        fmt::format("apiVersion: kgpu.dev/v1\nkind: NodeConfig\nhealth: {{holdDown: 50ms}}\n{}",
                    pools));
  }
  // Until the agent knows what pods hold.
  Lent LendSoon(const std::string& holder, size_t count) const {
    Lent lent;
    (void)WaitInFolder(node_->run_dir(), [&] {
      lent = client().Lend(holder, count);
      return lent.code == 201 || lent.code == 200;
    });
    return lent;
  }
  Gpus UuidsAt(std::initializer_list<size_t> indices) const {
    const std::vector<std::string> all = node_->GpuUuids();
    Gpus gpus;
    for (const size_t index : indices) {
      gpus.insert(all.at(index));
    }
    return gpus;
  }
};

TEST_P(Loans, TwoHoldersGetGpusThatTheKubeletNeverCounts) {
  ASSERT_NO_FATAL_FAILURE(StartNode(2, {.more_config = kTwoLocal}));
  const Lent a = LendSoon("fn/a/1", 1);
  ASSERT_EQ(a.code, 201) << a.error;
  const Lent b = client().Lend("fn/b/1");
  ASSERT_EQ(b.code, 201) << b.error;
  Gpus both = a.gpus;
  both.insert(b.gpus.begin(), b.gpus.end());
  EXPECT_EQ(both, UuidsAt({0, 1}));
  EXPECT_EQ(client().Lend("fn/a/1").gpus, a.gpus);
  EXPECT_EQ(client().Lend("fn/c/1").code, 409);
  EXPECT_EQ(client().Lend("fn/c/1", 3).code, 422);
  EXPECT_THAT(node_->CdiDevices(), Contains("kgpu.dev/gpu=" + *a.gpus.begin()));
  EXPECT_TRUE(WaitForGpus(2, 2));
  const e2e::Result devices = e2e::RunProgram({"kgpu", "devices", "--run-dir", node_->run_dir()});
  EXPECT_THAT(devices.out, HasSubstr("lent to fn/a/1"));
  EXPECT_EQ(client().End(a.id), 204);
  EXPECT_EQ(client().Lend("fn/c/1").gpus, a.gpus);
}

// The list of parts is complete: each shows what it knows.
TEST_P(Loans, StatusAndSeriesHaveWhatEveryPartKnows) {
  ASSERT_NO_FATAL_FAILURE(StartNode(2, {.more_config = kTwoLocal}));
  ASSERT_EQ(LendSoon("fn/a/1", 1).code, 201);
  const auto page =
      http::Fetch(node_->run_dir() + "/agent.sock", {.method = "GET", .target = "/metrics"});
  ASSERT_OK(page.status());
  for (const telemetry::Series& series : telemetry::kOwnSeries) {
    EXPECT_THAT(page->body, HasSubstr(fmt::format("# HELP {} ", series.name)));
  }
  const json::value status = node_->Status();
  for (const char* field : {"kernelProblem", "loanProblem", "loans", "local", "memoryProblem",
                            "mig", "resources", "sliceProblems", "slices"}) {
    EXPECT_TRUE(status.as_object().contains(field)) << field;
  }
}

TEST_P(Loans, AConfigurationThatTakesALentGpuBackWaitsForTheEndOfItsLoan) {
  ASSERT_NO_FATAL_FAILURE(StartNode(2, {.more_config = kTwoLocal}));
  const Lent lent = LendSoon("fn/a/1", 1);
  ASSERT_EQ(lent.code, 201) << lent.error;
  Configure("");
  EXPECT_TRUE(WaitForGpus(3, 3));
  EXPECT_EQ(client().Lend("fn/a/1").gpus, lent.gpus);
  EXPECT_EQ(client().Lend("fn/b/1").code, 422);
  node_->EndAgent(SIGKILL);
  node_->StartAgent();
  ASSERT_TRUE(WaitForGpus(3, 3));
  EXPECT_EQ(client().End(lent.id), 204);
  EXPECT_TRUE(WaitForGpus(4, 4));
}

TEST_P(Loans, AGpuOfAPodIsNotLentWhenItBecomesLocal) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  const kubelet::DeviceIds held = IdsOf("p");
  Configure(kAllLocal);
  const Lent rest = LendSoon("fn/rest/1", 3);
  ASSERT_EQ(rest.code, 201) << rest.error;
  for (const std::string& id : held) {
    EXPECT_FALSE(rest.gpus.contains(id));
  }
  const Lent refused = client().Lend("fn/last/1");
  EXPECT_EQ(refused.code, 409);
  EXPECT_THAT(refused.error, HasSubstr("p holds it"));
  ASSERT_OK(kubelet_->RemovePod("p"));
  EXPECT_EQ(LendSoon("fn/last/1", 1).code, 201);
}

TEST_P(Loans, AGpuThatBecomesUnhealthyIsReportedAndNotTakenAway) {
  ASSERT_NO_FATAL_FAILURE(StartNode(2, {.more_config = kTwoLocal}));
  const Lent lent = LendSoon("fn/a/1", 2);
  ASSERT_EQ(lent.code, 201) << lent.error;
  const auto healthy = UuidsAt({1});    // before the loss, which changes the numbers of the others
  node_->host().Inject("lose", {"0"});  // a fault that stays
  EXPECT_TRUE(node_->WaitForStatus(
      [](const json::value& status) { return !status.at("loans").at(0).at("healthy").as_bool(); }));
  EXPECT_EQ(client().Lend("fn/a/1").gpus, lent.gpus);
  ASSERT_EQ(client().End(lent.id), 204);
  EXPECT_EQ(client().Lend("fn/b/1", 2).code, 409);
  EXPECT_EQ(client().Lend("fn/b/1", 1).gpus, healthy);
}

// Three programs that borrow and give back until the agent is gone, each with its last answer.
class Borrower {
 public:
  Borrower(LoanClient client, std::string name, uint32_t seed)
      : client_(std::move(client)), name_(std::move(name)), random_(seed) {}

  void RunUntilKilled(std::atomic<int>& answers) {
    while (true) {
      // Whoever asks for the end no longer uses the GPUs.
      const std::string ended = std::exchange(held_.id, "");
      held_.gpus.clear();
      if (!ended.empty() && client_.End(ended) == 0) {
        return;
      }
      Lent lent = client_.Lend(fmt::format("fn/{}/{}", name_, random_() % 2), 1 + random_() % 2);
      if (lent.code == 0) {
        return;
      }
      held_ = std::move(lent);
      ++answers;
      answers.notify_all();
    }
  }
  const Lent& held() const { return held_; }

 private:
  const LoanClient client_;
  const std::string name_;
  std::mt19937 random_;
  Lent held_;
};

TEST_P(Loans, KilledAtRandomTheAgentLendsNothingTwiceAndLeaksNothing) {
  constexpr int kKills = 40;  // the unit tests of the lender kill it 300 times
  ASSERT_NO_FATAL_FAILURE(MakeNode({.more_config = kAllLocal}));
  node_->StartAgent();
  std::mt19937 random(19);
  std::vector<Borrower> borrowers;
  for (const char* name : {"a", "b", "c"}) {
    borrowers.emplace_back(client(), name, random());
  }
  for (int kill = 0; kill < kKills; ++kill) {
    ASSERT_NE(LendSoon("fn/ready/0", 1).code, 0);
    std::atomic<int> answers = 0;
    {
      std::vector<std::jthread> threads;
      for (Borrower& borrower : borrowers) {
        threads.emplace_back([&] { borrower.RunUntilKilled(answers); });
      }
      const int enough = 1 + static_cast<int>(random() % 20);
      for (int seen = 0; seen < enough; seen = answers) {
        answers.wait(seen);
      }
      node_->EndAgent(SIGKILL);
    }
    node_->StartAgent();
    ASSERT_TRUE(node_->WaitForStatus([](const json::value&) { return true; }));
    const std::map<std::string, Lent> loans = client().List();
    Gpus all;
    for (const auto& [holder, loan] : loans) {
      for (const std::string& gpu : loan.gpus) {
        EXPECT_TRUE(all.insert(gpu).second) << gpu << " again to " << holder;
      }
    }
    for (const Borrower& borrower : borrowers) {
      const bool is_kept =
          borrower.held().id.empty() || std::ranges::any_of(loans, [&borrower](const auto& loan) {
            return loan.second.id == borrower.held().id && loan.second.gpus == borrower.held().gpus;
          });
      EXPECT_TRUE(is_kept) << borrower.held().id;
    }
  }
  for (const auto& [holder, loan] : client().List()) {
    EXPECT_EQ(client().End(loan.id), 204);
  }
  EXPECT_THAT(LendSoon("fn/last/1", 4).gpus, SizeIs(4));
}

INSTANTIATE_TEST_SUITE_P(Way, Loans, ::testing::Values(Registration::kKubeletSocket), NameOf);

}  // namespace
}  // namespace kgpu::integration
