#include "src/gpu/device/snapshot.h"

#include <gtest/gtest.h>

namespace kgpu::device {
namespace {

Snapshot OneGpu() {
  Gpu gpu;
  gpu.uuid = *GpuUuid::Parse("GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ab");
  gpu.name = "NVIDIA A100-SXM4-80GB";
  Snapshot snapshot;
  snapshot.gpus.push_back(gpu);
  return snapshot;
}

TEST(SnapshotTest, IsTheSameWhateverItsVersion) {
  Snapshot older = OneGpu();
  Snapshot newer = OneGpu();
  older.version = 1;
  newer.version = 2;
  EXPECT_TRUE(older.SameAs(newer));
}

TEST(SnapshotTest, DiffersWhenHealthDiffers) {
  const Snapshot healthy = OneGpu();
  Snapshot unhealthy = OneGpu();
  unhealthy.gpus[0].health = {.is_healthy = false, .reason = "Xid79", .message = "gone"};
  EXPECT_FALSE(healthy.SameAs(unhealthy));
}

TEST(SnapshotTest, DiffersWhenTheDriverOrAnUnmanagedGpuDiffers) {
  Snapshot other = OneGpu();
  other.driver.state = DriverState::kReady;
  EXPECT_FALSE(OneGpu().SameAs(other));
  other = OneGpu();
  other.unmanaged.emplace_back();
  EXPECT_FALSE(OneGpu().SameAs(other));
}

TEST(SnapshotTest, DiffersWhenACompanionComes) {
  Snapshot other = OneGpu();
  other.companions.push_back({Companion::kGdrcopy, 0, "/dev/gdrdrv", 506, 0});
  EXPECT_FALSE(OneGpu().SameAs(other));
}

TEST(SnapshotTest, FindsAGpuByUuid) {
  const Snapshot snapshot = OneGpu();
  EXPECT_EQ(snapshot.FindGpu(snapshot.gpus[0].uuid), &snapshot.gpus[0]);
  EXPECT_EQ(snapshot.FindGpu(GpuUuid{}), nullptr);
}

TEST(DriverStateTest, HasTheEnumeratorsName) {
  EXPECT_EQ(ToString(DriverState::kReady), "Ready");
  EXPECT_EQ(ToString(DriverState::kVersionMismatch), "VersionMismatch");
  EXPECT_EQ(ToString(DriverState::kNoPermission), "NoPermission");
}

}  // namespace
}  // namespace kgpu::device
