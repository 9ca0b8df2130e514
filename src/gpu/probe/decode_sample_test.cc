#include "src/gpu/probe/decode_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <vector>

#include "src/gpu/nvml/sample_abi.h"
#include "src/gpu/probe/sample_protocol.h"
#include "testing/status_matchers.h"

namespace kgpu::probe {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::span<const std::byte> SampleBytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

void Put(SamplePayload& payload, SampleField field, int64_t value) {
  payload.has |= uint64_t{1} << static_cast<uint32_t>(field);
  payload.values[static_cast<uint32_t>(field)] = value;
}
void Put(ProfilingValues& values, ProfilingField field, double value) {
  values.has |= 1U << static_cast<uint32_t>(field);
  values.values[static_cast<uint32_t>(field)] = value;
}

device::GpuSample Decoded(const SamplePayload& payload) {
  const auto report = DecodeSample(SampleBytesOf(payload));
  EXPECT_OK(report);
  return report.ok() ? report->sample : device::GpuSample{};
}

TEST(DecodeSampleTest, LeavesOutWhatIsNotThere) {
  const device::GpuSample sample = Decoded(SamplePayload{});
  EXPECT_EQ(sample.utilization.gpu, std::nullopt);
  EXPECT_EQ(sample.memory, std::nullopt);
  EXPECT_EQ(sample.temperatures.gpu, std::nullopt);
  EXPECT_EQ(sample.power.watts, std::nullopt);
  EXPECT_FALSE(sample.remaps.has_value());
  EXPECT_FALSE(sample.retired.has_value());
  EXPECT_EQ(sample.profiling.sm_active, std::nullopt);
  EXPECT_TRUE(sample.fans.empty());
}

TEST(DecodeSampleTest, TurnsUnitsIntoThoseOfTheSample) {
  SamplePayload payload{};
  Put(payload, SampleField::kPower, 61500);
  Put(payload, SampleField::kDutyCycle, 12345);
  Put(payload, SampleField::kTemperature, -5);
  Put(payload, SampleField::kMemoryTotal, int64_t{80} << 30);
  Put(payload, SampleField::kMemoryUsed, int64_t{2} << 30);
  const device::GpuSample sample = Decoded(payload);
  EXPECT_EQ(sample.power.watts, 61.5);
  EXPECT_EQ(sample.utilization.duty_cycle, 12.345);
  EXPECT_EQ(sample.temperatures.gpu, -5);
  ASSERT_TRUE(sample.memory.has_value());
  EXPECT_EQ(sample.memory->total, GibiBytes(80));
  EXPECT_EQ(sample.memory->used, GibiBytes(2));
}

TEST(DecodeSampleTest, EveryFieldHasAPlace) {
  SamplePayload payload{};
  for (uint32_t i = 0; i < kSampleFieldCount; ++i) {
    Put(payload, static_cast<SampleField>(i), i + 1);
  }
  Put(payload, SampleField::kMemoryTotal, 100);
  const device::GpuSample sample = Decoded(payload);
  EXPECT_EQ(sample.utilization.gpu, 1.0);
  EXPECT_EQ(sample.clocks.max_memory, 28U);
  EXPECT_EQ(sample.throttle_reasons, 29U);
  EXPECT_EQ(sample.ecc.aggregate_uncorrected, 35U);
  ASSERT_TRUE(sample.remaps.has_value());
  EXPECT_TRUE(sample.remaps->has_failed);
  ASSERT_TRUE(sample.remaps->spare_rows.has_value());
  EXPECT_THAT(*sample.remaps->spare_rows, ElementsAre(40, 41, 42, 43, 44));
  ASSERT_TRUE(sample.retired.has_value());
  EXPECT_EQ(sample.retired->double_bit, 46U);
  EXPECT_EQ(sample.pcie.received_bytes_per_second, 54U);
  EXPECT_EQ(sample.performance_state, 55U);
  EXPECT_EQ(sample.recovery_action, 57U);
  EXPECT_EQ(sample.fabric_status, 58U);
  EXPECT_EQ(sample.fabric_health, 59U);
  EXPECT_EQ(sample.is_sram_threshold_exceeded, true);
}

TEST(DecodeSampleTest, LeavesOutWhatCannotBe) {
  SamplePayload payload{};
  Put(payload, SampleField::kGpuUtilization, 4711);
  Put(payload, SampleField::kDutyCycle, 100'001);
  Put(payload, SampleField::kTemperature, 5000);
  Put(payload, SampleField::kMemoryTotal, 10);
  Put(payload, SampleField::kMemoryUsed, 11);
  Put(payload, SampleField::kEnergy, -1);
  Put(payload.profiling, ProfilingField::kSm, 250);
  Put(payload.profiling, ProfilingField::kDram, std::numeric_limits<double>::quiet_NaN());
  Put(payload.profiling, ProfilingField::kPcieSent, 1e300);
  const device::GpuSample sample = Decoded(payload);
  EXPECT_EQ(sample.utilization.gpu, std::nullopt);
  EXPECT_EQ(sample.utilization.duty_cycle, std::nullopt);
  EXPECT_EQ(sample.temperatures.gpu, std::nullopt);
  EXPECT_EQ(sample.memory, std::nullopt);
  EXPECT_EQ(sample.power.energy_millijoules, std::nullopt);
  EXPECT_EQ(sample.profiling.sm_active, std::nullopt);
  EXPECT_EQ(sample.profiling.dram_active, std::nullopt);
  EXPECT_EQ(sample.profiling.pcie_sent_bytes_per_second, std::nullopt);
}

TEST(DecodeSampleTest, ProfilingBecomesSharesAndBytes) {
  SamplePayload payload{};
  Put(payload.profiling, ProfilingField::kSm, 25);
  Put(payload.profiling, ProfilingField::kTensor, 100.5);  // a little above all there is
  Put(payload.profiling, ProfilingField::kNvLinkSent, 2);
  const device::GpuSample sample = Decoded(payload);
  EXPECT_EQ(sample.profiling.sm_active, 0.25);
  EXPECT_EQ(sample.profiling.tensor_active, 1.0);
  EXPECT_EQ(sample.profiling.nvlink_sent_bytes_per_second, 2.0 * 1024 * 1024);
  EXPECT_EQ(sample.profiling.fp64_active, std::nullopt);
}

TEST(DecodeSampleTest, RejectsMoreFansThanThereCanBe) {
  SamplePayload payload{};
  payload.fan_count = kMaxFans + 1;
  EXPECT_THAT(DecodeSample(SampleBytesOf(payload)), StatusIs(StatusCode::kInvalidArgument));
}

TEST(DecodeSampleTest, RejectsAPayloadOfAnotherSize) {
  const SamplePayload payload{};
  EXPECT_THAT(DecodeSample(SampleBytesOf(payload).first(8)),
              StatusIs(StatusCode::kInvalidArgument));
}

TEST(DecodeLinkSamplesTest, OrdersLinksAndCountsBytes) {
  LinkSamplePayload payload{};
  payload.count = 2;
  payload.links[0] = {
      .link = 3, .is_active = 1, .has = 0x3f, .reserved = 0, .values = {1, 2, 3, 4, 5, 6}};
  payload.links[1] = {.link = 0, .is_active = 0, .has = 0x2, .reserved = 0, .values = {0, 9}};
  const auto links = DecodeLinkSamples(SampleBytesOf(payload));
  ASSERT_OK(links);
  ASSERT_EQ(links->size(), 2U);
  EXPECT_EQ((*links)[0].link, 0U);
  EXPECT_FALSE((*links)[0].is_active);
  EXPECT_EQ((*links)[0].replay_errors, std::nullopt);
  EXPECT_EQ((*links)[0].recovery_errors, 9U);
  EXPECT_EQ((*links)[1].crc_data_errors, 4U);
  EXPECT_EQ((*links)[1].received_bytes, 6U * 1024);
}

TEST(DecodeLinkSamplesTest, RejectsWhatNoGpuHas) {
  LinkSamplePayload payload{};
  payload.count = kMaxNvLinks + 1;
  EXPECT_THAT(DecodeLinkSamples(SampleBytesOf(payload)), StatusIs(StatusCode::kInvalidArgument));
  payload.count = 1;
  payload.links[0].link = kMaxNvLinks;
  EXPECT_THAT(DecodeLinkSamples(SampleBytesOf(payload)), StatusIs(StatusCode::kInvalidArgument));
  payload.count = 2;
  payload.links[0].link = 4;
  payload.links[1].link = 4;
  EXPECT_THAT(DecodeLinkSamples(SampleBytesOf(payload)), StatusIs(StatusCode::kInvalidArgument))
      << "one link twice";
}

TEST(DecodeProcessesTest, ReadsProcesses) {
  ProcessPayload payload{};
  payload.count = 2;
  payload.has_more = 1;
  payload.processes[0] = {.pid = 42,
                          .kind = kProcessCompute,
                          .gpu_instance = nvml::kNoInstance,
                          .compute_instance = nvml::kNoInstance,
                          .memory = 1024,
                          .has_utilization = 1,
                          .sm = 50,
                          .memory_utilization = 0,
                          .encoder = 0,
                          .decoder = 255,
                          .reserved = {}};
  payload.processes[1] = {.pid = 43,
                          .kind = kProcessMps,
                          .gpu_instance = 1,
                          .compute_instance = 0,
                          .memory = nvml::kValueNotAvailable,
                          .has_utilization = 0,
                          .sm = 0,
                          .memory_utilization = 0,
                          .encoder = 0,
                          .decoder = 0,
                          .reserved = {}};
  const auto page = DecodeProcesses(SampleBytesOf(payload));
  ASSERT_OK(page);
  EXPECT_TRUE(page->has_more);
  EXPECT_EQ(page->processes[0].sm, 50.0);
  EXPECT_EQ(page->processes[0].decoder, 100.0);
  EXPECT_EQ(page->processes[0].gpu_instance, std::nullopt);
  EXPECT_EQ(page->processes[1].kind, device::ProcessKind::kMps);
  EXPECT_EQ(page->processes[1].memory, std::nullopt);
  EXPECT_EQ(page->processes[1].gpu_instance, 1U);
  EXPECT_EQ(page->processes[1].sm, std::nullopt);
}

TEST(DecodeProcessesTest, RejectsWhatIsNoProcess) {
  ProcessPayload payload{};
  payload.count = 1;
  EXPECT_THAT(DecodeProcesses(SampleBytesOf(payload)), StatusIs(StatusCode::kInvalidArgument));
  payload.processes[0].pid = 1;
  payload.processes[0].kind = 9;
  EXPECT_THAT(DecodeProcesses(SampleBytesOf(payload)), StatusIs(StatusCode::kInvalidArgument));
  payload.count = kProcessesPerPage + 1;
  EXPECT_THAT(DecodeProcesses(SampleBytesOf(payload)), StatusIs(StatusCode::kInvalidArgument));
}

TEST(DecodeMigSampleTest, ReadsMemoryAndProfiling) {
  MigSamplePayload payload{};
  payload.gpu_instance = 7;
  payload.has_memory = 1;
  payload.memory_total = 10;
  payload.memory_used = 4;
  Put(payload.profiling, ProfilingField::kGraphics, 50);
  const auto sample = DecodeMigSample(SampleBytesOf(payload));
  ASSERT_OK(sample);
  EXPECT_EQ(sample->gpu_instance, 7U);
  ASSERT_TRUE(sample->memory.has_value());
  EXPECT_EQ(sample->memory->used, Bytes{4});
  EXPECT_EQ(sample->profiling.graphics_active, 0.5);
}

}  // namespace
}  // namespace kgpu::probe
