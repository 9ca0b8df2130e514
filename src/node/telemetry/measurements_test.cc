#include "src/node/telemetry/measurements.h"

#include <gtest/gtest.h>

#include "src/node/pods/background.h"
#include "testing/fake_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::telemetry {
namespace {

TEST(MeasurementsTest, TheNodeHasItsNameBeforeTheFirstSnapshot) {
  FakeLoop loop;
  const TempDir dir;
  const sys::Root host = sys::Root::Open(dir.path()).value();
  const Measurements measurements(
      loop, host, {.kubelet_dir = dir.path(), .runtime_sockets = {}, .hostname = "gpu-node-17"},
      pods::AtOnce(),
      {.own_series = [](metrics::Exposition&) {}, .health = [] { return health::Overview(); }});
  EXPECT_EQ(measurements.current().hostname, "gpu-node-17");
  EXPECT_EQ(measurements.current().snapshot, nullptr);
}

}  // namespace
}  // namespace kgpu::telemetry
