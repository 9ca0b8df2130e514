#include "src/node/loans/choose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "src/node/loans/test_stock.h"

namespace kgpu::loans {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kA100[] = "A100-SXM4-80GB";

LoanRequest Request(size_t count, std::vector<std::string> models = {}) {
  return {.holder = "fn/new/1", .count = count, .models = std::move(models)};
}

Ledger Lent(std::initializer_list<unsigned> gpus) {
  Ledger ledger;
  EXPECT_OK(ledger.Add({.holder = "fn/old/1", .model = "T4", .gpus = TestGpus(gpus)},
                       WallTime(std::chrono::seconds(1))));
  return ledger;
}

TEST(ChooseGpusTest, LendsNoGpuThatIsLent) {
  const TestStock stock({"T4", "T4", "T4"});
  const auto choice = stock.Choose(Request(2), Lent({1}));
  ASSERT_OK(choice);
  EXPECT_EQ(choice->gpus, TestGpus({0, 2}));
  EXPECT_EQ(choice->model, "T4");
}

TEST(ChooseGpusTest, LendsNoUnhealthyGpu) {
  TestStock stock({"T4", "T4"});
  stock.MarkUnhealthy(0);
  EXPECT_EQ(stock.Choose(Request(1)).value().gpus, TestGpus({1}));
  EXPECT_THAT(stock.Choose(Request(2)),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("1 of 2 T4 are free"), HasSubstr("unhealthy (Xid79)"))));
}

TEST(ChooseGpusTest, LendsNoGpuWithAnObstacle) {
  TestStock stock({"T4"});
  stock.obstacles()[TestGpu(0).str()] = "pod ml/train holds it";
  EXPECT_THAT(stock.Choose(Request(1)),
              StatusIs(StatusCode::kUnavailable, HasSubstr("pod ml/train holds it")));
}

TEST(ChooseGpusTest, TheFirstModelWithEnoughFreeGpusWins) {
  const TestStock stock({"T4", kA100, "T4", kA100});
  EXPECT_EQ(stock.Choose(Request(2, {kA100, "T4"})).value().gpus, TestGpus({1, 3}));
  EXPECT_EQ(stock.Choose(Request(2, {"T4", kA100})).value().gpus, TestGpus({0, 2}));
  EXPECT_EQ(stock.Choose(Request(2, {kA100, "T4"}), Lent({1})).value().gpus, TestGpus({0, 2}));
  EXPECT_EQ(stock.Choose(Request(2, {"A100-*"})).value().model, kA100);
  EXPECT_EQ(stock.Choose(Request(2)).value().model, "T4");
}

TEST(ChooseGpusTest, ALoanHasOneModel) {
  const TestStock stock({"T4", kA100});
  EXPECT_THAT(stock.Choose(Request(2)),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("2 × any GPU of one model cannot be lent here"),
                             HasSubstr("1 × T4, 1 × A100-SXM4-80GB"))));
}

TEST(ChooseGpusTest, TellsWhatCanNeverBeLentFromWhatCannotNow) {
  const TestStock stock({"T4", "T4"});
  EXPECT_THAT(stock.Choose(Request(1, {"H100-SXM5-80GB"})),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("have 2 × T4")));
  EXPECT_THAT(stock.Choose(Request(3)), StatusIs(StatusCode::kFailedPrecondition));
  EXPECT_THAT(stock.Choose(Request(2), Lent({0, 1})),
              StatusIs(StatusCode::kUnavailable, HasSubstr("is lent to fn/old/1")));
}

TEST(ChooseGpusTest, AGpuThatHasVanishedMayComeBack) {
  TestStock stock({"T4", "T4"});
  stock.snapshot().gpus.pop_back();  // the roster keeps it in the assignment for a while
  EXPECT_THAT(stock.Choose(Request(2)),
              StatusIs(StatusCode::kUnavailable, HasSubstr("no longer reports")));
  EXPECT_EQ(stock.Choose(Request(1)).value().gpus, TestGpus({0}));
}

TEST(ChooseGpusTest, PoolsOfTheKubeletAreNotLent) {
  EXPECT_THAT(TestStock({"T4"}, "").Choose(Request(1)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("set provider: local")));
  const TestStock mixed({"T4", "T4"},
                        "pools:\n- {devices: {index: 1}, provider: local}\n- devices: all\n");
  EXPECT_EQ(mixed.Choose(Request(1)).value().gpus, TestGpus({1}));
  EXPECT_THAT(mixed.Choose(Request(2)), StatusIs(StatusCode::kFailedPrecondition));
}

TEST(ChooseGpusTest, ADriverThatDoesNotAnswerIsNoReasonToGiveUp) {
  TestStock stock({"T4"});
  stock.snapshot().driver.state = device::DriverState::kUnresponsive;
  stock.snapshot().driver.reason = "it hangs";
  EXPECT_THAT(stock.Choose(Request(1)), StatusIs(StatusCode::kUnavailable, HasSubstr("it hangs")));
  Stock unknown = stock.stock();
  unknown.snapshot = nullptr;
  EXPECT_THAT(ChooseGpus(Request(1), {}, unknown), StatusIs(StatusCode::kUnavailable));
  unknown.config = nullptr;
  EXPECT_THAT(ChooseGpus(Request(1), {}, unknown), StatusIs(StatusCode::kUnavailable));
}

TEST(ChooseGpusTest, PrefersGpusThatAreLinked) {
  TestStock stock({"T4", "T4", "T4", "T4"});
  for (const auto& [a, b] : {std::pair{1U, 3U}, std::pair{3U, 1U}}) {
    stock.snapshot().gpus[a].peers = {
        {.peer_index = b, .path = device::PciePath::kSingleSwitch, .nvlinks = 4}};
  }
  EXPECT_EQ(stock.Choose(Request(2)).value().gpus, TestGpus({1, 3}));
  // One that is alone, so that the pair stays.
  EXPECT_EQ(stock.Choose(Request(1)).value().gpus, TestGpus({0}));
}

}  // namespace
}  // namespace kgpu::loans
