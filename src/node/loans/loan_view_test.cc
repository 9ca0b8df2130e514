#include "src/node/loans/loan_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "src/node/loans/test_stock.h"

namespace kgpu::loans {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Two GPUs, of which the second is lent and unhealthy.
class LoanViewTest : public ::testing::Test {
 protected:
  LoanViewTest() { stock_.MarkUnhealthy(1); }
  const std::vector<pools::Resource>& local() { return stock_.assignment().local; }
  std::string Series() {
    metrics::Exposition page;
    WriteLoanSeries(local(), loans_, page);
    return page.Take();
  }

  TestStock stock_{{"T4", "T4"}};
  std::vector<Loan> loans_ = {{.id = "6553f100-1",
                               .holder = "fn/hello/1",
                               .model = "T4",
                               .gpus = {TestGpu(1)},
                               .since = WallTime(std::chrono::seconds(1'700'000'000))}};
};

TEST_F(LoanViewTest, NamesTheDevicesOfContainersAndTheirHealth) {
  const boost::json::value loan = LoansJson(loans_, &stock_.snapshot()).at(0);
  const std::string uuid = TestGpu(1).str();
  EXPECT_EQ(loan.at("id").as_string(), "6553f100-1");
  EXPECT_EQ(loan.at("holder").as_string(), "fn/hello/1");
  EXPECT_EQ(loan.at("devices").at(0).as_string(), "kgpu.dev/gpu=" + uuid);
  EXPECT_EQ(loan.at("uuids").at(0).as_string(), uuid);
  EXPECT_EQ(loan.at("since").as_string(), "2023-11-14T22:13:20Z");
  EXPECT_FALSE(loan.at("healthy").as_bool());
  EXPECT_THAT(std::string(loan.at("problem").as_string()), HasSubstr("Xid79"));
}

TEST_F(LoanViewTest, TellsAVanishedGpuFromASilentDriver) {
  device::Snapshot snapshot;
  snapshot.driver.state = device::DriverState::kReady;
  EXPECT_THAT(ProblemOf(loans_[0], &snapshot), HasSubstr("no longer reports it"));
  snapshot.driver.state = device::DriverState::kUnresponsive;
  snapshot.driver.reason = "a call hangs";
  EXPECT_EQ(ProblemOf(loans_[0], &snapshot), "the driver does not answer: a call hangs");
  snapshot.driver.state = device::DriverState::kStarting;
  EXPECT_EQ(ProblemOf(loans_[0], &snapshot), "");
  EXPECT_EQ(ProblemOf(loans_[0], nullptr), "");
}

TEST_F(LoanViewTest, ShowsLocalPoolsAndWhoHasTheirGpus) {
  EXPECT_THAT(LocalTable(local(), loans_, &stock_.snapshot()),
              AllOf(HasSubstr("LOCAL POOL      GPUS  SLOTS  HEALTHY  LENT"),
                    HasSubstr("kgpu.dev/local  2     2      1        1"), HasSubstr("fn/hello/1"),
                    HasSubstr("2023-11-14T22:13:20Z")));
  const boost::json::array pools = LocalPoolsJson(local(), loans_);
  EXPECT_EQ(pools.at(0).at("devices").at(1).at("holder").as_string(), "fn/hello/1");
}

TEST_F(LoanViewTest, SeriesCountLocalGpus) {
  EXPECT_THAT(
      Series(),
      AllOf(HasSubstr("kgpu_local_devices{resource=\"kgpu.dev/local\",state=\"free\"} 1\n"),
            HasSubstr("kgpu_local_devices{resource=\"kgpu.dev/local\",state=\"lent\"} 1\n"),
            HasSubstr("kgpu_local_devices{resource=\"kgpu.dev/local\",state=\"unhealthy\"} 0\n"),
            HasSubstr("kgpu_loans 1\n"),
            HasSubstr(fmt::format("kgpu_gpu_lent{{uuid=\"{}\",holder=\"fn/hello/1\"}} 1\n",
                                  TestGpu(1).str()))));
}

// Of the first GPU's slices, one is lent.
class SliceLoanViewTest : public LoanViewTest {
 protected:
  SliceLoanViewTest() {
    stock_ = TestStock({"T4"}, "pools:\n- {provider: local, share: {by: memory, size: 7Gi}}\n");
    loans_[0].gpus = {TestGpu(0)};
    loans_[0].slices = {TestSlice(0, 1, 7)};
  }
};

TEST_F(SliceLoanViewTest, ShowsWhoHasWhichSlice) {
  const std::string uuid = TestGpu(0).str();
  EXPECT_THAT(LocalTable(local(), loans_, &stock_.snapshot()),
              AllOf(HasSubstr(fmt::format("{}  1     2      2        1", local().at(0).name)),
                    HasSubstr(uuid + "::1 (7Gi)")));
  const boost::json::array pools = LocalPoolsJson(local(), loans_);
  const auto& slots = pools.at(0).at("devices").as_array();
  EXPECT_EQ(slots.at(0).at("holder").as_string(), "");
  EXPECT_EQ(slots.at(1).at("holder").as_string(), "fn/hello/1");
  EXPECT_EQ(slots.at(1).at("slot").as_string(), uuid + "::1");
  EXPECT_EQ(slots.at(1).at("memory").to_number<uint64_t>(), uint64_t{7} << 30);
  EXPECT_FALSE(LoansJson(loans_, &stock_.snapshot()).at(0).as_object().contains("mounts"));
  EXPECT_THAT(Series(),
              HasSubstr(fmt::format("kgpu_local_devices{{resource=\"{}\",state=\"lent\"}} 1\n",
                                    local().at(0).name)));
}

TEST_F(SliceLoanViewTest, NamesAllHoldersOfAGpu) {
  Loan other = loans_[0];
  other.holder = "fn/other/1";
  other.slices[0].id = SlotIdOf(TestGpu(0), 0);
  loans_.push_back(other);
  const std::string uuid = TestGpu(0).str();
  EXPECT_EQ(HoldersOf(loans_).at(uuid), "fn/hello/1, fn/other/1");
  for (const char* holder : {"fn/hello/1", "fn/other/1"}) {
    EXPECT_THAT(Series(), HasSubstr(fmt::format("kgpu_gpu_lent{{uuid=\"{}\",holder=\"{}\"}} 1\n",
                                                uuid, holder)));
  }
}

TEST_F(LoanViewTest, AHostThatLendsNothingShowsNothingOfIt) {
  EXPECT_EQ(LocalTable({}, {}, &stock_.snapshot()), "");
}

}  // namespace
}  // namespace kgpu::loans
