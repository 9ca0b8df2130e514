#include "src/inventory/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace kgpu::inventory {
namespace {

using device::Health;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr SteadyTime kStart{std::chrono::hours(1)};

device::GpuUuid Uuid() {
  return *device::GpuUuid::Parse("GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ab");
}

Health Xid79() {
  return {false, "Xid79", "gone"};
}
Health Lost() {
  return {false, "GpuLost", "lost"};
}

// A MIG GPU with devices in GPU instances 1 and 2.
device::Gpu Judge(const HealthBook& book) {
  device::Gpu gpu;
  gpu.uuid = Uuid();
  gpu.mig_devices.resize(2);
  gpu.mig_devices[0].gpu_instance = 1;
  gpu.mig_devices[1].gpu_instance = 2;
  book.Apply(gpu);
  return gpu;
}

TEST(JudgeXidTest, HoldsProgramsErrorsAgainstNoGpu) {
  const std::set<uint64_t> of_programs = {13, 31, 43, 45, 68, 109};
  for (uint64_t xid = 1; xid < 200; ++xid) {
    EXPECT_EQ(JudgeXid(xid).is_fault, !of_programs.contains(xid)) << xid;
    EXPECT_THAT(JudgeXid(xid).message, HasSubstr(std::to_string(xid)));
  }
  EXPECT_TRUE(JudgeXid(~uint64_t{0}).is_fault);
}

TEST(HealthBookTest, AllIsWellWithoutNews) {
  const HealthBook book(seconds(60));
  EXPECT_TRUE(Judge(book).health.is_healthy);
  EXPECT_EQ(book.NextCheck(), std::nullopt);
}

TEST(HealthBookTest, AnEventMakesTheGpuAndItsPartsUnhealthy) {
  HealthBook book(seconds(60));
  book.NoteEvent(Uuid(), std::nullopt, Xid79(), kStart);
  const device::Gpu gpu = Judge(book);
  EXPECT_EQ(gpu.health.reason, "Xid79");
  EXPECT_EQ(gpu.mig_devices[0].health.reason, "Xid79");
  EXPECT_EQ(book.NextCheck(), kStart + seconds(60));
}

TEST(HealthBookTest, AnEventOfOneInstanceLeavesTheOthersAlone) {
  HealthBook book(seconds(60));
  book.NoteEvent(Uuid(), 2, {false, "Xid94", "contained"}, kStart);
  const device::Gpu gpu = Judge(book);
  EXPECT_TRUE(gpu.health.is_healthy);
  EXPECT_TRUE(gpu.mig_devices[0].health.is_healthy);
  EXPECT_EQ(gpu.mig_devices[1].health.reason, "Xid94");
}

TEST(HealthBookTest, TheFaultOfTheWholeGpuIsTheStrongerOne) {
  for (const bool whole_first : {true, false}) {
    HealthBook book(seconds(60));
    if (whole_first) {
      book.NoteEvent(Uuid(), std::nullopt, Xid79(), kStart);
    }
    book.NoteEvent(Uuid(), 2, {false, "Xid94", "contained"}, kStart);
    if (!whole_first) {
      book.NoteEvent(Uuid(), std::nullopt, Xid79(), kStart);
    }
    EXPECT_EQ(Judge(book).mig_devices[1].health.reason, "Xid79");
  }
}

TEST(HealthBookTest, AGoodReadBeforeTheHoldDownIsOverChangesNothing) {
  HealthBook book(seconds(60));
  book.NoteEvent(Uuid(), std::nullopt, Xid79(), kStart);
  book.NoteGoodRead(Uuid(), kStart + seconds(59));
  EXPECT_FALSE(Judge(book).health.is_healthy);
  book.NoteGoodRead(Uuid(), kStart + seconds(60));
  EXPECT_TRUE(Judge(book).health.is_healthy);
  EXPECT_EQ(book.NextCheck(), std::nullopt);
}

TEST(HealthBookTest, ANewerXidStartsTheHoldDownAnewAndGivesTheReason) {
  HealthBook book(seconds(60));
  book.NoteEvent(Uuid(), std::nullopt, {false, "Xid48", "ecc"}, kStart);
  book.NoteEvent(Uuid(), std::nullopt, Xid79(), kStart + seconds(30));
  book.NoteGoodRead(Uuid(), kStart + seconds(60));
  EXPECT_EQ(Judge(book).health.reason, "Xid79");
}

TEST(HealthBookTest, ABadReadKeepsTheCauseAndStartsTheHoldDownAnew) {
  HealthBook book(seconds(60));
  book.NoteEvent(Uuid(), std::nullopt, Xid79(), kStart);
  book.NoteBadRead(Uuid(), Lost(), kStart + seconds(60));
  book.NoteGoodRead(Uuid(), kStart + seconds(61));
  EXPECT_EQ(Judge(book).health.reason, "Xid79");
  EXPECT_EQ(book.NextCheck(), kStart + seconds(120));
}

TEST(HealthBookTest, ABadReadAloneIsAFault) {
  HealthBook book(seconds(60));
  book.NoteBadRead(Uuid(), Lost(), kStart);
  EXPECT_EQ(Judge(book).health.reason, "GpuLost");
  book.Forget(Uuid());
  EXPECT_TRUE(Judge(book).health.is_healthy);
}

TEST(HealthBookTest, FaultsOfPartsClearOneByOne) {
  HealthBook book(seconds(60));
  book.NoteEvent(Uuid(), 1, {false, "Xid94", ""}, kStart);
  book.NoteEvent(Uuid(), 2, {false, "Xid94", ""}, kStart + seconds(30));
  book.NoteGoodRead(Uuid(), kStart + seconds(60));
  EXPECT_TRUE(Judge(book).mig_devices[0].health.is_healthy);
  EXPECT_FALSE(Judge(book).mig_devices[1].health.is_healthy);
  EXPECT_EQ(book.NextCheck(), kStart + seconds(90));
}

}  // namespace
}  // namespace kgpu::inventory
