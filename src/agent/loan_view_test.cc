#include "src/agent/loan_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <memory>

#include "src/agent/own_metrics.h"
#include "src/agent/status_view.h"
#include "src/agent/test_state.h"

namespace kgpu::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Its second GPU is unhealthy.
AgentState LendingState() {
  AgentState state = TestState();
  state.assignment.local.swap(state.assignment.resources);
  state.assignment.local[0].name = "kgpu.dev/local";
  state.loans = {{.id = "6553f100-1",
                  .holder = "fn/hello/1",
                  .model = "T4",
                  .gpus = {state.snapshot->gpus[1].uuid},
                  .since = WallTime(std::chrono::seconds(1'700'000'000))}};
  return state;
}

TEST(LoanViewTest, NamesTheDevicesOfContainersAndTheirHealth) {
  const AgentState state = LendingState();
  const boost::json::value loan = LoansJson(state.loans, state.snapshot.get()).at(0);
  const std::string uuid = state.snapshot->gpus[1].uuid.str();
  EXPECT_EQ(loan.at("id").as_string(), "6553f100-1");
  EXPECT_EQ(loan.at("holder").as_string(), "fn/hello/1");
  EXPECT_EQ(loan.at("devices").at(0).as_string(), "kgpu.dev/gpu=" + uuid);
  EXPECT_EQ(loan.at("uuids").at(0).as_string(), uuid);
  EXPECT_EQ(loan.at("since").as_string(), "2023-11-14T22:13:20Z");
  EXPECT_FALSE(loan.at("healthy").as_bool());
  EXPECT_THAT(std::string(loan.at("problem").as_string()), HasSubstr("Xid79"));
}

TEST(LoanViewTest, TellsAVanishedGpuFromASilentDriver) {
  AgentState state = LendingState();
  device::Snapshot snapshot;
  snapshot.driver.state = device::DriverState::kReady;
  EXPECT_THAT(ProblemOf(state.loans[0], &snapshot), HasSubstr("no longer reports it"));
  snapshot.driver.state = device::DriverState::kUnresponsive;
  snapshot.driver.reason = "a call hangs";
  EXPECT_EQ(ProblemOf(state.loans[0], &snapshot), "the driver does not answer: a call hangs");
  snapshot.driver.state = device::DriverState::kStarting;
  EXPECT_EQ(ProblemOf(state.loans[0], &snapshot), "");
  EXPECT_EQ(ProblemOf(state.loans[0], nullptr), "");
}

TEST(LoanViewTest, TheStatusShowsLocalPoolsAndWhoHasTheirGpus) {
  const AgentState state = LendingState();
  EXPECT_THAT(StatusTable(state, "1"),
              AllOf(HasSubstr("LOCAL POOL      GPUS  SLOTS  HEALTHY  LENT"),
                    HasSubstr("kgpu.dev/local  2     2      1        1"), HasSubstr("fn/hello/1"),
                    HasSubstr("2023-11-14T22:13:20Z"), Not(HasSubstr("CAPACITY"))));
  const boost::json::value json = StatusJson(state, "1");
  EXPECT_TRUE(json.at("resources").as_array().empty());
  EXPECT_EQ(json.at("local").at(0).at("devices").at(1).at("holder").as_string(), "fn/hello/1");
  EXPECT_EQ(json.at("loans").at(0).at("holder").as_string(), "fn/hello/1");
}

TEST(LoanViewTest, SeriesCountLocalGpusApart) {
  const AgentState state = LendingState();
  EXPECT_THAT(
      OwnMetrics(state, {}, "1"),
      AllOf(HasSubstr("kgpu_local_devices{resource=\"kgpu.dev/local\",state=\"free\"} 1\n"),
            HasSubstr("kgpu_local_devices{resource=\"kgpu.dev/local\",state=\"lent\"} 1\n"),
            HasSubstr("kgpu_local_devices{resource=\"kgpu.dev/local\",state=\"unhealthy\"} 0\n"),
            HasSubstr("kgpu_loans 1\n"),
            HasSubstr(fmt::format("kgpu_gpu_lent{{uuid=\"{}\",holder=\"fn/hello/1\"}} 1\n",
                                  state.snapshot->gpus[1].uuid.str())),
            Not(HasSubstr("kgpu_resource_devices{"))));
}

// Two slices of the first GPU, of which one is lent.
AgentState SlicingState() {
  AgentState state = LendingState();
  const device::GpuUuid gpu = state.snapshot->gpus[0].uuid;
  pools::Resource& pool = state.assignment.local[0];
  pool.name = "kgpu.dev/local-4gi";
  pool.slots.pop_back();
  pool.slots[0].memory = GibiBytes(4);
  pool.slots.push_back(pool.slots[0]);
  pool.slots[0].id = loans::SlotIdOf(gpu, 0);
  pool.slots[1].id = loans::SlotIdOf(gpu, 1);
  state.loans[0].gpus = {gpu};
  state.loans[0].slices = {
      {.id = pool.slots[1].id, .device_uuid = gpu.str(), .memory = GibiBytes(4)}};
  return state;
}

TEST(LoanViewTest, ShowsWhoHasWhichSlice) {
  AgentState state = SlicingState();
  const std::string uuid = state.snapshot->gpus[0].uuid.str();
  EXPECT_THAT(StatusTable(state, "1"),
              AllOf(HasSubstr("kgpu.dev/local-4gi  1     2      2        1"),
                    HasSubstr(uuid + "::1 (4Gi)")));
  const boost::json::value json = StatusJson(state, "1");
  const auto& slots = json.at("local").at(0).at("devices").as_array();
  EXPECT_EQ(slots.at(0).at("holder").as_string(), "");
  EXPECT_EQ(slots.at(1).at("holder").as_string(), "fn/hello/1");
  EXPECT_EQ(slots.at(1).at("slot").as_string(), uuid + "::1");
  EXPECT_EQ(slots.at(1).at("memory").to_number<uint64_t>(), uint64_t{4} << 30);
  EXPECT_EQ(json.at("loans").at(0).as_object().contains("mounts"), false);
  EXPECT_THAT(OwnMetrics(state, {}, "1"),
              HasSubstr("kgpu_local_devices{resource=\"kgpu.dev/local-4gi\",state=\"lent\"} 1\n"));
  state.slice_problems = {"processes use 9 GiB"};
  EXPECT_THAT(StatusTable(state, "1"), HasSubstr("slices    processes use 9 GiB\n"));
  EXPECT_EQ(StatusJson(state, "1").at("sliceProblems").at(0).as_string(), "processes use 9 GiB");
  loans::Loan other = state.loans[0];
  other.holder = "fn/other/1";
  other.slices[0].id = loans::SlotIdOf(state.snapshot->gpus[0].uuid, 0);
  state.loans.push_back(other);
  EXPECT_EQ(HoldersOf(state.loans).at(uuid), "fn/hello/1, fn/other/1");
  EXPECT_THAT(
      OwnMetrics(state, {}, "1"),
      AllOf(
          HasSubstr(fmt::format("kgpu_gpu_lent{{uuid=\"{}\",holder=\"fn/hello/1\"}} 1\n", uuid)),
          HasSubstr(fmt::format("kgpu_gpu_lent{{uuid=\"{}\",holder=\"fn/other/1\"}} 1\n", uuid))));
}

TEST(LoanViewTest, AHostThatLendsNothingShowsNothingOfIt) {
  EXPECT_EQ(LocalTable(TestState()), "");
}

}  // namespace
}  // namespace kgpu::agent
