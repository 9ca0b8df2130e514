#include "src/node/plugin/latency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace kgpu::plugin {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

TEST(LatencyTest, CountsEachCallInItsStep) {
  Latency latency;
  latency.Add(microseconds(0));
  latency.Add(microseconds(100));  // a bound itself
  latency.Add(microseconds(101));
  latency.Add(seconds(5));
  latency.Add(seconds(10));
  const LatencyCounts counts = latency.counts();
  EXPECT_THAT(counts.calls, ElementsAre(2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1));
  EXPECT_NEAR(counts.seconds, 15.000201, 1e-9);
}

}  // namespace
}  // namespace kgpu::plugin
