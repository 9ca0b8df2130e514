#include "src/node/live/history.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/node/telemetry/test_node.h"

namespace kgpu::live {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

device::SampleSet RoundAt(std::chrono::nanoseconds time, double utilization, unsigned gpu = 0) {
  device::SampleSet samples;
  samples.begun = SteadyTime(time);
  device::GpuSample sample = telemetry::TestSample(gpu);
  sample.utilization = {};
  sample.utilization.gpu = utilization;
  samples.gpus.push_back(std::move(sample));
  return samples;
}

std::string TextOf(const History& history, unsigned gpu = 0) {
  return boost::json::serialize(history.Of(telemetry::TestGpuUuid(gpu)));
}

TEST(HistoryTest, ThereIsAValueForEachStep) {
  History history;
  EXPECT_EQ(TextOf(history), R"({"stepSeconds":15,"utilization":[],"memory":[]})");
  history.Add(RoundAt(seconds(100), 10));
  history.Add(RoundAt(seconds(102), 99));  // somebody watches
  history.Add(RoundAt(milliseconds(114'900), 20.4));
  history.Add(RoundAt(seconds(160), 30.6));
  EXPECT_EQ(
      TextOf(history),
      R"({"stepSeconds":15,"utilization":[10,20,null,null,31],"memory":[50,50,null,null,50]})");
}

TEST(HistoryTest, ItHasAnHourAndForgetsWhatIsGone) {
  History history;
  for (size_t i = 0; i < History::kPoints + 10; ++i) {
    history.Add(RoundAt(i * History::kStep, static_cast<double>(i % 100), i == 0 ? 1 : 0));
  }
  EXPECT_EQ(history.Of(telemetry::TestGpuUuid(0)).at("utilization").as_array().size(),
            History::kPoints);
  EXPECT_EQ(history.Of(telemetry::TestGpuUuid(0)).at("utilization").as_array().back(), 49);
  EXPECT_TRUE(history.Of(telemetry::TestGpuUuid(1)).at("utilization").as_array().empty());
  // After a day without samples.
  history.Add(RoundAt(std::chrono::hours(24), 5));
  EXPECT_EQ(history.Of(telemetry::TestGpuUuid(0)).at("utilization").as_array().size(), 1U);
}

TEST(HistoryTest, AGpuThatDoesNotSayHasNoValue) {
  History history;
  device::SampleSet samples = RoundAt(seconds(1), 0);
  samples.gpus[0].utilization = {};
  samples.gpus[0].memory.reset();
  history.Add(samples);
  EXPECT_EQ(TextOf(history), R"({"stepSeconds":15,"utilization":[null],"memory":[null]})");
}

}  // namespace
}  // namespace kgpu::live
