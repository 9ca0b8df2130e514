// What the driver measures, through kgpu-probe, of simulated hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/cli/base/observe.h"
#include "src/gpu/probe/testdata/test_probe.h"
#include "src/node/inventory/inventory.h"
#include "testing/status_matchers.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::integration {
namespace {

using device::GpuSample;
using device::SampleSet;
using device::SampleSetPtr;
using std::chrono::milliseconds;

class SamplingTest : public ::testing::Test {
 protected:
  void Start(const std::string& profile) {
    if (!e2e::CanMakeDevices()) {
      GTEST_SKIP() << "this machine does not let us make device nodes";
    }
    host_.emplace(profile);
    options_.host_root = host_->path();
    options_.engine_root = "/";
    options_.probe = probe::kProbeProgram;
  }
  // One observation as `kgpu metrics --once` takes it.
  SampleSetPtr Observe() {
    auto root = cli::OpenRoots(options_);
    EXPECT_OK(root);
    const auto observation = cli::TakeObservation(options_, *root);
    EXPECT_OK(observation);
    return observation.ok() ? observation->samples : nullptr;
  }

  std::optional<e2e::SimHost> host_;
  cli::HostOptions options_;
};

TEST_F(SamplingTest, AnA100TellsEverythingButProfiling) {
  Start("8xA100-SXM4-80GB");
  host_->Inject("util", {"2", "--gpu", "90", "--memory", "40"});
  host_->Inject("temp", {"2", "60"});
  host_->Inject("ecc", {"2", "--single", "3"});
  host_->Inject("set", {"2", "pcie-tx-kib", "2048"});
  const SampleSetPtr set = Observe();
  ASSERT_NE(set, nullptr);
  EXPECT_TRUE(set->is_complete);
  EXPECT_EQ(set->version, 1U);  // nothing that needs a second round
  ASSERT_EQ(set->gpus.size(), 8U);
  const GpuSample& gpu = set->gpus[2];
  EXPECT_EQ(gpu.utilization.gpu, 90.0);
  EXPECT_EQ(gpu.utilization.duty_cycle, 90.0);
  EXPECT_EQ(gpu.utilization.memory, 40.0);
  EXPECT_EQ(gpu.utilization.jpeg, 0.0);
  ASSERT_TRUE(gpu.memory.has_value());
  EXPECT_EQ(gpu.memory->total, GibiBytes(80));
  EXPECT_EQ(gpu.temperatures.gpu, 60);
  EXPECT_TRUE(gpu.temperatures.slowdown.has_value());
  EXPECT_EQ(gpu.ecc.volatile_corrected, 3U);
  EXPECT_EQ(gpu.ecc.aggregate_uncorrected, 0U);
  ASSERT_TRUE(gpu.remaps.has_value());
  EXPECT_TRUE(gpu.remaps->spare_rows.has_value());
  EXPECT_FALSE(gpu.retired.has_value());
  EXPECT_EQ(gpu.pcie.sent_bytes_per_second, 2048U * 1024);
  EXPECT_EQ(gpu.pcie.generation, gpu.pcie.max_generation);
  EXPECT_EQ(gpu.nvlinks.size(), 12U);
  EXPECT_EQ(gpu.nvlinks[0].replay_errors, 0U);
  EXPECT_TRUE(gpu.throttle_reasons.has_value());
  EXPECT_EQ(gpu.performance_state, 0U);
  EXPECT_EQ(gpu.profiling.sm_active, std::nullopt);
  EXPECT_EQ(gpu.recovery_action, std::nullopt);  // driver 535 has none
}

TEST_F(SamplingTest, AT4RetiresPagesAndAK80TellsWhatItCan) {
  Start("4xT4");
  const SampleSetPtr set = Observe();
  ASSERT_NE(set, nullptr);
  EXPECT_TRUE(set->gpus[0].retired.has_value());
  EXPECT_FALSE(set->gpus[0].remaps.has_value());
  EXPECT_TRUE(set->gpus[0].nvlinks.empty());
  host_.reset();
  Start("4xK80");
  const SampleSetPtr old = Observe();
  ASSERT_NE(old, nullptr);
  ASSERT_EQ(old->gpus.size(), 4U);
  EXPECT_TRUE(old->gpus[0].temperatures.gpu.has_value());
}

TEST_F(SamplingTest, AnH100TellsWhatItsCountersSay) {
  Start("8xH100-SXM5-80GB");
  host_->Inject("set", {"1", "gpm-sm-active", "75"});
  host_->Inject("set", {"1", "gpm-tensor-active", "20"});
  host_->Inject("set", {"1", "nvlink-tx-kib", "1024"});
  const SampleSetPtr set = Observe();
  ASSERT_NE(set, nullptr);
  EXPECT_TRUE(set->is_complete);
  EXPECT_EQ(set->version, 2U);
  const GpuSample& gpu = set->gpus[1];
  EXPECT_EQ(gpu.profiling.sm_active, 0.75);
  EXPECT_EQ(gpu.profiling.tensor_active, 0.2);
  EXPECT_EQ(gpu.profiling.nvlink_sent_bytes_per_second, 18.0 * 1024 * 1024);
  ASSERT_EQ(gpu.nvlinks.size(), 18U);
  const auto sent = gpu.nvlinks[0].sent_bytes;
  ASSERT_TRUE(sent.has_value());
  EXPECT_GT(*sent, 0U);
  const auto energy = gpu.power.energy_millijoules;
  ASSERT_TRUE(energy.has_value());
  EXPECT_GT(*energy, 0U);
}

TEST_F(SamplingTest, LimitsOfHeatFollowFromTheMarginWhereThresholdsAreNotReported) {
  Start("8xH100-SXM5-80GB");
  host_->Inject("set", {"3", "temperature-only-tlimit", "1"});
  host_->Inject("temp", {"3", "60"});
  const SampleSetPtr set = Observe();
  ASSERT_NE(set, nullptr);
  const device::Temperatures& reported = set->gpus[2].temperatures;
  const device::Temperatures& derived = set->gpus[3].temperatures;
  EXPECT_EQ(derived.gpu, 60);
  EXPECT_EQ(derived.slowdown, 90);
  EXPECT_EQ(derived.slowdown, reported.slowdown);
  EXPECT_EQ(derived.shutdown, reported.shutdown);
  EXPECT_EQ(derived.gpu_max, reported.gpu_max);
  EXPECT_EQ(derived.memory_max, std::nullopt);
  EXPECT_TRUE(reported.memory_max.has_value());
}

TEST_F(SamplingTest, AnA100WithoutThresholdsHasNoLimitsOfHeat) {
  Start("8xA100-SXM4-80GB");
  host_->Inject("set", {"0", "temperature-only-tlimit", "1"});
  const SampleSetPtr set = Observe();
  ASSERT_NE(set, nullptr);
  EXPECT_TRUE(set->gpus[0].temperatures.gpu.has_value());
  EXPECT_EQ(set->gpus[0].temperatures.slowdown, std::nullopt);
}

TEST_F(SamplingTest, ANewDriverTellsRatesFromCountersAndWhatFixesAGpu) {
  Start("8xB200");
  host_->Inject("set", {"0", "pcie-rx-kib", "1024"});
  host_->Inject("set", {"0", "recovery-action", "2"});
  host_->Inject("set", {"2", "fabric-state", "3"});
  host_->Inject("set", {"2", "fabric-status", "999"});
  host_->Inject("set", {"2", "fabric-health", "1"});
  host_->Inject("set", {"2", "sram-threshold", "1"});
  host_->Inject("set", {"0", "nvlink-rx-kib", "4096"});
  const SampleSetPtr set = Observe();
  ASSERT_NE(set, nullptr);
  EXPECT_EQ(set->gpus[0].recovery_action, 2U);
  EXPECT_EQ(set->gpus[1].recovery_action, 0U);
  EXPECT_EQ(set->gpus[1].fabric_state, std::nullopt);
  EXPECT_EQ(set->gpus[1].is_sram_threshold_exceeded, false);
  EXPECT_EQ(set->gpus[2].fabric_status, 999U);
  EXPECT_EQ(set->gpus[2].fabric_health, 1U);
  EXPECT_EQ(set->gpus[2].is_sram_threshold_exceeded, true);
  ASSERT_EQ(set->gpus[0].nvlinks.size(), 18U);
  const auto received = set->gpus[0].nvlinks[17].received_bytes;
  ASSERT_TRUE(received.has_value());
  EXPECT_GT(*received, 0U);
  const auto rate = set->gpus[0].pcie.received_bytes_per_second;
  ASSERT_TRUE(rate.has_value());
  EXPECT_NEAR(static_cast<double>(*rate), 1024.0 * 1024, 1024.0 * 400);
}

TEST_F(SamplingTest, EachOfSeveralProcessesHasItsOwnUse) {
  Start("8xA100-SXM4-80GB");
  host_->Inject("process", {"0", "--pid", "41", "--memory", "10Gi", "--sm", "30", "--mem", "20"});
  host_->Inject("process", {"0", "--pid", "40", "--memory", "5Gi", "--sm", "55", "--dec", "9"});
  host_->Inject("process", {"0", "--pid", "42", "--memory", "1Gi", "--type", "M", "--sm", "5"});
  host_->Inject("process", {"1", "--pid", "43", "--memory", "1Gi", "--type", "G"});
  const SampleSetPtr set = Observe();
  ASSERT_NE(set, nullptr);
  const auto& processes = set->gpus[0].processes;
  ASSERT_EQ(processes.size(), 3U);
  EXPECT_EQ(processes[0].pid, 40U);
  EXPECT_EQ(processes[0].memory, GibiBytes(5));
  EXPECT_EQ(processes[0].sm, 55.0);
  EXPECT_EQ(processes[0].decoder, 9.0);
  EXPECT_EQ(processes[1].sm, 30.0);
  EXPECT_EQ(processes[1].memory_utilization, 20.0);
  EXPECT_EQ(processes[2].kind, device::ProcessKind::kMps);
  EXPECT_EQ(processes[2].sm, std::nullopt);
  EXPECT_EQ(set->gpus[1].processes[0].kind, device::ProcessKind::kGraphics);
}

TEST_F(SamplingTest, MigDevicesHaveTheirMemoryAndProfilingAndNoUtilization) {
  Start("8xH100-SXM5-80GB");
  host_->Inject("mig", {"0", "--enable"});
  host_->Inject("mig", {"0", "--create", "1g.10gb,2g.20gb"});
  auto root = cli::OpenRoots(options_);
  ASSERT_OK(root);
  const auto snapshot = cli::TakeSnapshot(options_, *root);
  ASSERT_OK(snapshot);
  ASSERT_EQ((*snapshot)->gpus[0].mig_devices.size(), 2U);
  const device::MigDevice& mig = (*snapshot)->gpus[0].mig_devices[0];
  host_->Inject("process", {"0", "--pid", "50", "--memory", "3Gi", "--sm", "60", "--gi",
                            std::to_string(mig.gpu_instance)});
  const SampleSetPtr set = Observe();
  ASSERT_NE(set, nullptr);
  const GpuSample& gpu = set->gpus[0];
  EXPECT_EQ(gpu.utilization.gpu, std::nullopt);
  ASSERT_EQ(gpu.migs.size(), 2U);
  EXPECT_EQ(gpu.migs[0].uuid, mig.uuid);
  ASSERT_TRUE(gpu.migs[0].memory.has_value());
  EXPECT_EQ(gpu.migs[0].memory->used, GibiBytes(3));
  EXPECT_EQ(gpu.migs[0].profiling.sm_active, 0.6);
  EXPECT_EQ(gpu.migs[1].profiling.sm_active, 0.0);
  ASSERT_EQ(gpu.processes.size(), 1U);
  EXPECT_EQ(gpu.processes[0].gpu_instance, mig.gpu_instance);
  EXPECT_EQ(gpu.processes[0].sm, std::nullopt);
}

TEST_F(SamplingTest, AHostWithoutGpusOrDriverIsNoError) {
  Start("none");
  EXPECT_EQ(Observe(), nullptr);
}

}  // namespace
}  // namespace kgpu::integration
