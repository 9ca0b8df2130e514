// The limit on the simulated driver, whose memory all processes share: what the ledger says against
// what the driver says.
#include "tests/share/simulated_driver.h"

namespace kgpu::share {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr uint64_t kGpu = 80 * 1024;  // MiB

TEST_F(ShareSimulatedDriverTest, TwoContainersOnOneGpuHaveTwentyGibibytesEach) {
  const auto one = Start();
  const auto other = Start();
  const HeldClient held(*one, "init ctx info alloc:20000 alloc:1000");
  EXPECT_THAT(held.text(), HasSubstr("total=20480 device=20480\nalloc 0\nalloc 2\n"));
  EXPECT_THAT(other->Steps("init ctx info alloc:20000 alloc:1000"),
              EndsWith("info 0 free=" + std::to_string(20480 - kContext) +
                       " total=20480 device=20480\nalloc 0\nalloc 2\n"));
  EXPECT_EQ(DriverUsed(), 20000 + kContext);
}

TEST_F(ShareSimulatedDriverTest, FreeMemoryIsNeverMoreThanTheGpuHas) {
  const auto one = Start();
  server_->Change([](sim::SimState& state) {
    state.gpus[0].memory_reserved = 0;
    state.gpus[0].memory_used = (kGpu - 5000) * kMiB;
  });
  const std::string text = one->Steps("init ctx info alloc:6000");
  EXPECT_THAT(text, HasSubstr("free=" + std::to_string(5000 - kContext) + " total=20480"));
  EXPECT_THAT(text, EndsWith("alloc 2\n"));
  EXPECT_EQ(one->ReadLedger().header.total,
            kContext * kMiB);  // what the driver refuses is not charged
}

// The heart of it: for each family, no byte of the driver's that the ledger does not have.
TEST_F(ShareSimulatedDriverTest, TheLedgerHasWhateverTheDriverHas) {
  for (const char* steps : {"ctx",
                            "primary",
                            "ctx alloc:1000",
                            "ctx alloc:1000 free",
                            "ctx pitch:1000",
                            "ctx managed:1000",
                            "ctx async:1000",
                            "ctx async:1 async:1 async:1",
                            "ctx async:1000 free-async",
                            "ctx async:1000 free-async sync",
                            "ctx pool pool-alloc:1000",
                            "ctx pool pool-alloc:1000 free-async pool-trim",
                            "ctx pool pool-alloc:1000 pool-end",
                            "ctx create:1000",
                            "ctx create:1000 release",
                            "ctx create:1000 map:1000 release",
                            "ctx create:1000 map:1000 release unmap:1000",
                            "ctx create:1000 map:1000 retain release",
                            "ctx array:1000",
                            "ctx array:1000 array-end",
                            "ctx array3d:1000",
                            "ctx mipmap:1000",
                            "ctx graph:1000",
                            "ctx graph:1000 launch",
                            "ctx graph:1000 launch launch graph-trim",
                            "ctx capture:1000",
                            "ctx capture:1000 launch launch",
                            "ctx capture:1000 launch graph-trim",
                            "ctx alloc:1000 ctx-end",
                            "primary alloc:1000 primary-reset",
                            "primary primary-release"}) {
    const auto container = Start();
    const HeldClient held(*container, std::string("init ") + steps);
    const uint64_t ledger = container->ReadLedger().header.total / kMiB;
    EXPECT_GE(ledger, DriverUsed()) << steps << "\n" << held.text();
    EXPECT_LE(ledger, DriverUsed() + 64) << steps << "\n" << held.text();
    EXPECT_EQ(held.text().find(" -"), std::string::npos) << held.text();
  }
}

TEST_F(ShareSimulatedDriverTest, NoFamilyPassesTheLimit) {
  for (const char* step :
       {"alloc", "pitch", "managed", "async", "create", "array", "array3d", "mipmap", "graph"}) {
    const auto container = Start();
    const std::string name = step;
    EXPECT_THAT(container->Steps("init ctx " + name + ":20400"), EndsWith(name + " 2\n"));
  }
}

TEST_F(ShareSimulatedDriverTest, AllIsFreeAfterAKill) {
  const auto container = Start();
  EXPECT_THAT(container->Steps("init ctx alloc:20000 kill"), EndsWith("alloc 0\n"));
  EXPECT_EQ(DriverUsed(), 0U);
  EXPECT_THAT(container->Steps("init ctx alloc:20000"), EndsWith("alloc 0\n"));
}

TEST_F(ShareSimulatedDriverTest, ManyThreadsAndProcessesStayWithinTheLimit) {
  const auto container = Start();
  const HeldClient held(*container, "init ctx alloc:10000");
  EXPECT_THAT(container->Steps("init ctx threads:1000 info alloc:9000"),
              EndsWith("free=" + std::to_string(10480 - 2 * kContext) +
                       " total=20480 device=20480\nalloc 0\n"));
}

// What a stream captures is not allocated yet.
TEST_F(ShareSimulatedDriverTest, CapturedAllocationsCountWhenTheGraphIsLaunched) {
  const auto container = Start();
  EXPECT_THAT(container->Steps("init ctx capture:1000 info launch info"),
              EndsWith("capture 0\ninfo 0 free=" + std::to_string(20480 - kContext) +
                       " total=20480 device=20480\nlaunch 0\ninfo 0 free=" +
                       std::to_string(20480 - kContext - 1000) + " total=20480 device=20480\n"));
  EXPECT_THAT(container->Steps("init ctx capture:15000 alloc:10000 launch"),
              EndsWith("alloc 0\nlaunch 2\n"));
}

TEST_F(ShareSimulatedDriverTest, EachGpuHasItsOwnLimit) {
  const auto container = Start();
  container->Write(1, "version 1\ndevice GPU-00000000-0000-0000-0000-000000000001\nmemory " +
                          std::to_string(10240 * kMiB) + "\ncontext " +
                          std::to_string(kContext * kMiB) + "\n");
  EXPECT_THAT(container->Steps("init ctx alloc:20000 ctx-on-second info alloc:9900 alloc:100"),
              EndsWith("info 0 free=" + std::to_string(10240 - kContext) +
                       " total=10240 device=20480\nalloc 0\nalloc 2\n"));
  EXPECT_EQ(container->ReadLedger(0).header.total, (20000 + kContext) * kMiB);
  EXPECT_EQ(container->ReadLedger(1).header.total, (9900 + kContext) * kMiB);
}

TEST_F(ShareSimulatedDriverTest, MemoryOfAStreamIsOfTheStreamsGpu) {
  const auto container = Start();
  container->Write(1, "version 1\ndevice GPU-00000000-0000-0000-0000-000000000001\nmemory " +
                          std::to_string(10240 * kMiB) + "\ncontext " +
                          std::to_string(kContext * kMiB) + "\n");
  EXPECT_THAT(container->Steps("init ctx-on-second stream ctx async-in-stream:15000 "
                               "async-in-stream:1000"),
              EndsWith("async-in-stream 2\nasync-in-stream 0\n"));
  EXPECT_EQ(container->ReadLedger(0).header.total, kContext * kMiB);
  EXPECT_GE(container->ReadLedger(1).header.total, (1000 + kContext) * kMiB);
}

TEST_F(ShareSimulatedDriverTest, WhatTheDriverRefusesWithoutAContextIsGivenBack) {
  const auto container = Start();
  EXPECT_THAT(container->Steps("init ctx ctx-end async:15000 async:15000 ctx alloc:15000"),
              EndsWith("async 201\nasync 201\nctx 0\nalloc 0\n"));
}

TEST_F(ShareSimulatedDriverTest, NvmlShowsTheSlice) {
  const auto container = Start();
  const HeldClient held(*container, "init ctx alloc:1000");
  const std::string text = container->Run("share_nvml_client");
  const uint64_t used = 1000 + kContext;
  EXPECT_EQ(text, "v1 total=20480 used=" + std::to_string(used) +
                      " free=" + std::to_string(20480 - used) + "\nv2 total=20480 used=" +
                      std::to_string(used) + " free=" + std::to_string(20480 - used) + "\n");
}

}  // namespace
}  // namespace kgpu::share
