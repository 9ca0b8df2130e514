#include "src/node/loans/loan_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/node/loans/test_stock.h"
#include "src/node/part/test_effects.h"
#include "src/platform/base/log.h"
#include "src/platform/doc/doc.h"
#include "testing/elf_library.h"
#include "testing/fake_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::loans {
namespace {

namespace json = boost::json;

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class LoanHandlerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogSink([this](LogLevel, std::string_view line) { log_.emplace_back(line); });
    dir_.WriteFile("lib.so", ElfLibrary("library"));
    Start();
  }
  void TearDown() override {
    handler_.reset();
    disk_.reset();
    SetLogSink({});
  }
  // As after a kill: only the file stays.
  void Start() {
    handler_.reset();
    disk_ = std::make_unique<sys::DiskWorker>(*loop_);
    handler_ =
        std::make_unique<LoanHandler>(timers_, *disk_, dir_.At("state/loans.json"),
                                      slices::SliceFilesOptions{.library = dir_.At("lib.so"),
                                                                .folder = dir_.At("lent"),
                                                                .engine_folder = "/engine/lent",
                                                                .most_kept = 0},
                                      effects_);
  }
  // The node of `stock_`: no pod holds its GPUs, and containers can get them.
  node::NodeState State() const {
    node::NodeState state;
    const Stock stock = stock_.stock();
    state.snapshot = std::make_shared<const device::Snapshot>(*stock.snapshot);
    state.config = std::make_shared<const config::NodeConfig>(*stock.config);
    state.assignment = std::make_shared<const pools::Assignment>(stock.assignment);
    state.pod_list.has_no_kubelet = true;
    auto plan = std::make_shared<inject::InjectionPlan>();
    for (const device::Gpu& gpu : stock.snapshot->gpus) {
      plan->devices.push_back({.names = {gpu.uuid.str()}, .nodes = {}});
    }
    auto injection = std::make_shared<injection::Injection>();
    injection->plan = std::move(plan);
    state.injection = std::move(injection);
    return state;
  }
  http::Response Ask(const std::string& method, const std::string& target,
                     const std::string& body = "") {
    http::Request request{.method = method, .target = target, .body = body};
    EXPECT_OK(http::SplitTarget(request));
    effects_.state = State();
    std::optional<http::Response> answer;
    bool is_running = false;
    EXPECT_TRUE(handler_->Answer(request, [&](http::Response response) {
      answer = std::move(response);
      if (is_running) {
        loop_->Quit();
      }
    }));
    if (!answer) {
      is_running = true;
      loop_->Run();
    }
    return answer.value_or(http::Response{});
  }
  static json::value Parsed(const http::Response& response) {
    const auto value = doc::Parse(response.body, doc::Format::kJson, "answer");
    EXPECT_OK(value);
    return value.value_or(json::object());
  }
  http::Response Lend(const std::string& holder, size_t count = 1) {
    return Ask("POST", "/v1/loans",
               fmt::format(R"({{"holder": "{}", "count": {}}})", holder, count));
  }
  node::StatusPage Page() const {
    node::StatusPage page;
    handler_->ShowStatus(State(), page);
    return page;
  }
  std::string Series() const {
    metrics::Exposition page;
    handler_->WriteSeries(State(), page);
    return page.Take();
  }
  size_t CountLoans(const std::string& query = "") {
    return Parsed(Ask("GET", "/v1/loans" + query)).at("loans").as_array().size();
  }

  TempDir dir_;
  std::vector<std::string> log_;
  loans::TestStock stock_{{"T4", "T4"}};
  node::TestEffects effects_;
  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  FakeLoop timers_;  // of the handler: time passes when a test says so
  std::unique_ptr<sys::DiskWorker> disk_;
  std::unique_ptr<LoanHandler> handler_;
};

TEST_F(LoanHandlerTest, LendsOnceTheLedgerIsOnTheDisk) {
  const http::Response response = Lend("fn/a/1");
  EXPECT_EQ(response.code, 201);
  const json::value loan = Parsed(response);
  EXPECT_EQ(loan.at("uuids").at(0).as_string(), loans::TestGpu(0).str());
  EXPECT_EQ(loan.at("devices").at(0).as_string(), "kgpu.dev/gpu=" + loans::TestGpu(0).str());
  EXPECT_THAT(dir_.ReadFile("state/loans.json"), HasSubstr("fn/a/1"));
  EXPECT_EQ(effects_.assigns, 1);
}

TEST_F(LoanHandlerTest, TheSameHolderGetsTheSameLoanAlsoAfterAKill) {
  const http::Response first = Lend("fn/a/1");
  EXPECT_EQ(Lend("fn/a/1").code, 200);
  Start();
  const http::Response again = Lend("fn/a/1");
  EXPECT_EQ(again.code, 200);
  EXPECT_EQ(again.body, first.body);
}

TEST_F(LoanHandlerTest, TellsNotNowFromNeverAndFromNonsense) {
  ASSERT_EQ(Lend("fn/a/1", 2).code, 201);
  const http::Response now = Lend("fn/b/1");
  EXPECT_EQ(now.code, 409);
  EXPECT_THAT(std::string(Parsed(now).at("error").as_string()), HasSubstr("is lent to fn/a/1"));
  EXPECT_EQ(effects_.looks, 1);
  EXPECT_EQ(Lend("fn/b/1", 3).code, 422);
  EXPECT_EQ(Lend("a b").code, 400);
  EXPECT_EQ(Ask("PUT", "/v1/loans").code, 405);
  EXPECT_EQ(Ask("GET", "/v1/loans/x").code, 405);
}

TEST_F(LoanHandlerTest, ACheckLendsNothing) {
  const auto check = [this](size_t count) {
    return Ask("POST", "/v1/loans/check",
               fmt::format(R"({{"holder": "fn/a", "count": {}}})", count));
  };
  EXPECT_EQ(check(2).code, 204);
  EXPECT_EQ(CountLoans(), 0U);
  EXPECT_EQ(effects_.assigns, 0);
  EXPECT_FALSE(std::filesystem::exists(dir_.At("state/loans.json")));
  ASSERT_EQ(Lend("fn/a/1", 2).code, 201);
  const http::Response now = check(1);
  EXPECT_EQ(now.code, 409);
  EXPECT_THAT(now.body, HasSubstr("is lent to fn/a/1"));
  EXPECT_EQ(effects_.looks, 1);
  EXPECT_EQ(check(3).code, 422);
  EXPECT_EQ(Ask("POST", "/v1/loans/check", "{}").code, 400);
  EXPECT_EQ(Ask("GET", "/v1/loans/check").code, 405);
}

TEST_F(LoanHandlerTest, ALoanEndsByDelete) {
  const std::string id(Parsed(Lend("fn/a/1", 2)).at("id").as_string());
  EXPECT_EQ(Ask("DELETE", "/v1/loans/" + id).code, 204);
  EXPECT_EQ(Ask("DELETE", "/v1/loans/" + id).code, 204);
  EXPECT_EQ(Lend("fn/b/1", 2).code, 201);
}

TEST_F(LoanHandlerTest, ListsLoansByTheStartOfTheirHolder) {
  ASSERT_EQ(Lend("fn/a/1").code, 201);
  ASSERT_EQ(Lend("fn/b/1").code, 201);
  EXPECT_EQ(CountLoans(), 2);
  EXPECT_EQ(CountLoans("?holder=fn/a/"), 1);
  EXPECT_EQ(CountLoans("?holder=x"), 0);
  stock_.MarkUnhealthy(1);
  const json::value loans = Parsed(Ask("GET", "/v1/loans"));
  EXPECT_TRUE(loans.at("loans").at(0).at("healthy").as_bool());
  EXPECT_FALSE(loans.at("loans").at(1).at("healthy").as_bool());
}

TEST_F(LoanHandlerTest, ADiskThatRefusesLendsNothing) {
  dir_.WriteFile("state", "no folder");
  EXPECT_EQ(Lend("fn/a/1").code, 503);
  EXPECT_THAT(handler_->ledger().loans(), IsEmpty());
  const node::StatusPage page = Page();
  EXPECT_THAT(page.head, StartsWith("loans     "));
  EXPECT_NE(page.fields.at("loanProblem").as_string(), "");
  EXPECT_THAT(Series(), HasSubstr("\nkgpu_loan_ledger_ok 0\n"));
}

TEST_F(LoanHandlerTest, AddsLoansToTheStatusAndHoldersToTheDevices) {
  ASSERT_EQ(Lend("fn/a/1").code, 201);
  const node::StatusPage page = Page();
  EXPECT_EQ(page.head, "");
  EXPECT_THAT(page.tables, HasSubstr("LOCAL POOL"));
  EXPECT_THAT(page.tables, HasSubstr("LENT TO"));
  EXPECT_EQ(page.fields.at("loans").at(0).at("holder").as_string(), "fn/a/1");
  EXPECT_EQ(page.fields.at("local").at(0).at("name").as_string(), "kgpu.dev/local");
  EXPECT_EQ(page.fields.at("loanProblem").as_string(), "");
  EXPECT_THAT(page.fields.at("sliceProblems").as_array(), IsEmpty());
  EXPECT_EQ(page.holders.at(loans::TestGpu(0).str()), "fn/a/1");
  EXPECT_THAT(Series(), HasSubstr("\nkgpu_loans 1\n"));
  EXPECT_THAT(Series(), HasSubstr("\nkgpu_loan_ledger_ok 1\n"));
}

TEST_F(LoanHandlerTest, WhatIsLentIsNotOfferedToTheKubelet) {
  ASSERT_EQ(Lend("fn/a/1").code, 201);
  loans::TestStock kubelets({"T4", "T4"}, "");
  handler_->Withhold(kubelets.assignment());
  ASSERT_THAT(kubelets.assignment().resources, SizeIs(1));
  ASSERT_THAT(kubelets.assignment().resources[0].slots, SizeIs(1));
  EXPECT_EQ(kubelets.assignment().resources[0].slots[0].gpu, loans::TestGpu(1));
  EXPECT_THAT(kubelets.assignment().unassigned.at(0).reason, HasSubstr("lent to fn/a/1"));
}

TEST_F(LoanHandlerTest, WithAnUnreadableLedgerOnlyWhatTheKubeletHadIsOffered) {
  dir_.MakeDir("state");
  dir_.WriteFile("state/loans.json", "torn");
  loans::TestStock kubelets({"T4", "T4"}, "");
  Start();
  node::SavedState saved{.assignment = kubelets.assignment()};
  saved.assignment.resources.at(0).slots.pop_back();
  handler_->Recall(saved);
  EXPECT_EQ(Lend("fn/a/1").code, 503);
  EXPECT_EQ(Ask("GET", "/v1/loans").code, 503);
  EXPECT_EQ(Ask("DELETE", "/v1/loans/x").code, 503);
  handler_->Withhold(kubelets.assignment());
  ASSERT_THAT(kubelets.assignment().resources.at(0).slots, SizeIs(1));
  EXPECT_EQ(kubelets.assignment().resources[0].slots[0].gpu, loans::TestGpu(0));
  EXPECT_EQ(dir_.ReadFile("state/loans.json"), "torn");
}

// As after a full disk: nobody has to lend or end anything before the alarm ends.
TEST_F(LoanHandlerTest, ALedgerThatCouldNotBeWrittenIsWrittenAgainAfterTenSeconds) {
  dir_.WriteFile("state", "in the way of the folder");
  EXPECT_EQ(Lend("fn/a/1").code, 503);
  EXPECT_THAT(Page().head, StartsWith("loans     "));
  const auto retry = [this] {
    effects_.on_assign = [this] { loop_->Quit(); };
    timers_.Advance(std::chrono::seconds(10));
    loop_->Run();
    effects_.on_assign = [] {};
  };
  retry();
  EXPECT_THAT(Page().head, StartsWith("loans     "));
  std::filesystem::remove(dir_.At("state"));
  retry();
  EXPECT_EQ(Page().head, "");
  EXPECT_EQ(CountLoans(), 0);
  timers_.Advance(std::chrono::minutes(1));
  EXPECT_EQ(effects_.assigns, 3) << "nothing more is to be done";
  EXPECT_EQ(Lend("fn/a/1").code, 201);
}

class SliceLoanTest : public LoanHandlerTest {
 protected:
  SliceLoanTest() { stock_ = loans::TestStock({"T4", "T4"}, kLocalSlices); }
  http::Response LendMemory(const std::string& holder, uint64_t gibi) {
    return Ask("POST", "/v1/loans",
               fmt::format(R"({{"holder": "{}", "memory": {}}})", holder, gibi << 30));
  }
  std::string Limits(unsigned gpu, unsigned replica) const {
    return dir_.ReadFile(
        "lent/" + sharing::FileOfSlot(loans::SlotIdOf(loans::TestGpu(gpu), replica), "limits"));
  }
  bool HasFiles(unsigned gpu, unsigned replica) const {
    return std::filesystem::exists(
        dir_.At("lent/" + sharing::FileOfSlot(loans::SlotIdOf(loans::TestGpu(gpu), replica),
                                              sharing::kLimitsName)));
  }

  static constexpr char kLocalSlices[] =
      "pools:\n- {provider: local, share: {by: memory, size: 4Gi}}\n";
};

TEST_F(SliceLoanTest, AnswersWithMountsOnceTheFilesAreThere) {
  const http::Response response = LendMemory("fn/a/1", 3);
  ASSERT_EQ(response.code, 201) << response.body;
  EXPECT_THAT(Limits(0, 0), HasSubstr("memory 4294967296\n"));
  EXPECT_EQ(dir_.ReadFile("lent/libkgpu-share.so"), ElfLibrary("library"));
  const json::value loan = Parsed(response);
  const std::string uuid = loans::TestGpu(0).str();
  EXPECT_EQ(loan.at("devices").as_array(), json::array({"kgpu.dev/gpu=" + uuid}));
  EXPECT_EQ(loan.at("slices").at(0).at("slot").as_string(), uuid + "::0");
  EXPECT_EQ(loan.at("slices").at(0).at("memory").to_number<uint64_t>(), uint64_t{4} << 30);
  ASSERT_EQ(loan.at("mounts").as_array().size(), 4);
  const json::value& limits = loan.at("mounts").at(2);
  EXPECT_EQ(limits.at("source").as_string(), "/engine/lent/" + uuid + "_0.limits");
  EXPECT_EQ(limits.at("target").as_string(), "/usr/lib/kgpu/slots/" + uuid + "_0/limits");
  EXPECT_TRUE(limits.at("readOnly").as_bool());
  EXPECT_FALSE(loan.at("mounts").at(3).at("readOnly").as_bool());
}

TEST_F(SliceLoanTest, SeveralHoldersShareAGpuAndNobodyGetsItWhole) {
  std::set<std::string> slots;
  for (int i = 0; i < 6; ++i) {
    const http::Response response = LendMemory(fmt::format("fn/a/{}", i), 4);
    ASSERT_EQ(response.code, 201) << response.body;
    slots.insert(std::string(Parsed(response).at("slices").at(0).at("slot").as_string()));
  }
  EXPECT_THAT(slots, SizeIs(6));
  EXPECT_EQ(LendMemory("fn/a/6", 4).code, 409);
  EXPECT_EQ(effects_.looks, 1);
  EXPECT_EQ(Lend("fn/b/1").code, 422);
  EXPECT_EQ(LendMemory("fn/b/1", 5).code, 422);
}

TEST_F(SliceLoanTest, IsFoundAgainAfterAKillWithItsFiles) {
  const http::Response first = LendMemory("fn/a/1", 4);
  std::filesystem::remove_all(dir_.At("lent"));
  Start();
  const http::Response again = LendMemory("fn/a/1", 4);
  EXPECT_EQ(again.code, 200);
  EXPECT_EQ(again.body, first.body);
  EXPECT_TRUE(HasFiles(0, 0));
  const json::value listed = Parsed(Ask("GET", "/v1/loans")).at("loans").at(0);
  EXPECT_EQ(listed.at("mounts"), Parsed(first).at("mounts"));
}

TEST_F(SliceLoanTest, FilesGoWithTheLoan) {
  const std::string id(Parsed(LendMemory("fn/a/1", 4)).at("id").as_string());
  ASSERT_EQ(LendMemory("fn/b/1", 4).code, 201);
  EXPECT_TRUE(HasFiles(0, 0) && HasFiles(1, 0));
  EXPECT_EQ(Ask("DELETE", "/v1/loans/" + id).code, 204);
  ASSERT_EQ(LendMemory("fn/c/1", 4).code, 201);
  ASSERT_EQ(Ask("DELETE",
                "/v1/loans/" + std::string(Parsed(LendMemory("fn/c/1", 4)).at("id").as_string()))
                .code,
            204);
  ASSERT_EQ(LendMemory("fn/b/1", 4).code, 200);
  EXPECT_FALSE(HasFiles(0, 0));
  EXPECT_TRUE(HasFiles(1, 0));
}

TEST_F(SliceLoanTest, ALoanWhoseFilesCannotBeMadeIsEnded) {
  std::filesystem::remove(dir_.At("lib.so"));
  const http::Response response = LendMemory("fn/a/1", 4);
  EXPECT_EQ(response.code, 422);
  EXPECT_THAT(response.body, HasSubstr("memory slices: "));
  EXPECT_EQ(CountLoans(), 0);
  dir_.WriteFile("lib.so", ElfLibrary("library"));
  EXPECT_EQ(LendMemory("fn/a/1", 4).code, 201);
}

// Somebody was refused a loan, since its files could not be made; the disk then refused to end it.
class UnknownLoanTest : public SliceLoanTest {
 protected:
  void SetUp() override {
    SliceLoanTest::SetUp();
    std::filesystem::remove(dir_.At("lib.so"));
    effects_.on_assign = [this] {
      if (!std::filesystem::exists(dir_.At("away"))) {
        std::filesystem::rename(dir_.At("state"), dir_.At("away"));
        dir_.WriteFile("state", "no folder");
      }
    };
    EXPECT_EQ(LendMemory("fn/a/1", 4).code, 422);
    effects_.on_assign = [] {};
    EXPECT_EQ(CountLoans(), 1);
    Repair();
  }
  void Repair() {
    std::filesystem::remove(dir_.At("state"));
    std::filesystem::rename(dir_.At("away"), dir_.At("state"));
    dir_.WriteFile("lib.so", ElfLibrary("library"));
  }
  // The disk takes one step after another: once it has a new loan, it has what was to end before.
  void PassTenSeconds() {
    timers_.Advance(std::chrono::seconds(10));
    ASSERT_EQ(LendMemory("fn/b/1", 4).code, 201);
  }
};

TEST_F(UnknownLoanTest, EndsOnceTheDiskTakesIt) {
  PassTenSeconds();
  EXPECT_EQ(CountLoans("?holder=fn/a/"), 0);
}

TEST_F(UnknownLoanTest, StaysIfItsHolderAsksAgain) {
  // Another loan writes the files of all again.
  ASSERT_EQ(LendMemory("fn/c/1", 4).code, 201);
  ASSERT_EQ(LendMemory("fn/a/1", 4).code, 200);
  PassTenSeconds();
  EXPECT_EQ(CountLoans("?holder=fn/a/"), 1);
  EXPECT_TRUE(HasFiles(0, 0));
}

TEST_F(SliceLoanTest, ALoanThatSomebodyHasSurvivesAMissingLibrary) {
  ASSERT_EQ(LendMemory("fn/a/1", 4).code, 201);
  std::filesystem::remove(dir_.At("lib.so"));
  Start();
  EXPECT_EQ(LendMemory("fn/a/1", 4).code, 503);
  EXPECT_EQ(CountLoans(), 1);
  EXPECT_THAT(Page().head, StartsWith("slices    "));
  EXPECT_THAT(Page().fields.at("sliceProblems").as_array(), SizeIs(1));
}

TEST_F(SliceLoanTest, AGpuWhoseSlicesAreLentChangesLater) {
  ASSERT_EQ(LendMemory("fn/a/1", 4).code, 201);
  const std::string lent = Limits(0, 0);
  for (const char* pools : {"", "pools:\n- {provider: local}\n",
                            "pools:\n- {provider: local, share: {by: memory, size: 7Gi}}\n",
                            "pools:\n- {share: {by: memory, size: 7Gi}}\n"}) {
    stock_ = loans::TestStock({"T4", "T4"}, pools);
    handler_->Withhold(stock_.assignment());
    ASSERT_THAT(stock_.assignment().unassigned, SizeIs(1)) << pools;
    EXPECT_EQ(stock_.assignment().unassigned[0].device_uuid, loans::TestGpu(0).str());
    EXPECT_EQ(Limits(0, 0), lent);
  }
}

TEST_F(LoanHandlerTest, OtherPathsAreNotItsOwn) {
  http::Request request{.method = "GET", .path = "/v1/loansx"};
  EXPECT_FALSE(handler_->Answer(request, [](const http::Response&) {}));
}

}  // namespace
}  // namespace kgpu::loans
