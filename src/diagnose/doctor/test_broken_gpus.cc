// What the driver of a broken host answers.
#include <chrono>

#include "src/diagnose/doctor/test_healthy_host.h"
#include "src/gpu/nvml/throttle.h"

namespace kgpu::doctor {
namespace {

device::GpuUuid Uuid(std::string_view digit) {
  std::string text = "GPU-00000000-0000-0000-0000-000000000000";
  text.replace(text.size() - digit.size(), digit.size(), digit);
  return *device::GpuUuid::Parse(text);
}

void AddGpu(std::string_view digit, std::string_view address, device::Snapshot& snapshot,
            device::SampleSet& samples) {
  device::Gpu gpu;
  gpu.uuid = Uuid(digit);
  gpu.pci = *device::PciBusId::Parse(address);
  device::GpuSample sample;
  sample.uuid = gpu.uuid;
  sample.ecc.volatile_uncorrected = 0;
  sample.remaps = device::RowRemaps{};
  snapshot.gpus.push_back(std::move(gpu));
  samples.gpus.push_back(std::move(sample));
}

using Change = std::function<void(device::Snapshot&, device::SampleSet&)>;

// A host whose driver answers so.
Broken Answers(std::string_view id, const Change& change) {
  return {id, [change](const HealthyHost& host) { host.SetDriver(HealthyDriver(change)); }};
}

}  // namespace

DriverAnswer HealthyDriver(const Change& change) {
  device::Snapshot snapshot;
  device::SampleSet samples;
  snapshot.driver.state = device::DriverState::kReady;
  AddGpu("0", kGpu, snapshot, samples);
  AddGpu("1", kSecondGpu, snapshot, samples);
  if (change) {
    change(snapshot, samples);
  }
  return {.snapshot = std::make_shared<const device::Snapshot>(std::move(snapshot)),
          .samples = std::make_shared<const device::SampleSet>(std::move(samples)),
          .deadline = std::chrono::seconds(3)};
}

std::vector<Broken> BrokenGpus() {
  return {
      {"driver-unresponsive",
       [](const HealthyHost& host) {
         host.SetDriver({.deadline = std::chrono::seconds(3), .is_late = true});
       }},
      Answers("driver-unresponsive",
              [](device::Snapshot& snapshot, device::SampleSet&) {
                snapshot.driver.state = device::DriverState::kUnresponsive;
                snapshot.driver.reason = "The driver hangs: a call took 2 s.";
              }),
      Answers("gpu-lost",
              [](device::Snapshot& snapshot, device::SampleSet&) {
                snapshot.gpus[0].health = {false, "GpuLost", "The GPU has fallen off the bus."};
              }),
      Answers("gpu-lost",
              [](device::Snapshot& snapshot, device::SampleSet&) {
                snapshot.unmanaged.push_back({.pci = snapshot.gpus[0].pci,
                                              .pci_class = "3d-controller",
                                              .kernel_driver = "nvidia",
                                              .reason = ""});
                snapshot.gpus.erase(snapshot.gpus.begin());
                snapshot.lost_gpus = 1;
              }),
      Answers("gpu-not-listed",
              [](device::Snapshot& snapshot, device::SampleSet&) {
                snapshot.unmanaged.push_back({.pci = snapshot.gpus[1].pci,
                                              .pci_class = "3d-controller",
                                              .kernel_driver = "nvidia",
                                              .reason = "The driver does not report this GPU."});
                snapshot.gpus.pop_back();
              }),
      Answers("gpu-hot",
              [](device::Snapshot&, device::SampleSet& samples) {
                samples.gpus[0].throttle_reasons = nvml::kThrottleHwThermal;
                samples.gpus[0].temperatures.gpu = 96;
              }),
      Answers("gpu-nvlink-down",
              [](device::Snapshot& snapshot, device::SampleSet& samples) {
                for (size_t i = 0; i < samples.gpus.size(); ++i) {
                  snapshot.gpus[i].model = "A100-SXM4-80GB";
                  samples.gpus[i].nvlinks.resize(2);
                  samples.gpus[i].nvlinks[0].is_active = true;
                  samples.gpus[i].nvlinks[1].link = 1;
                  samples.gpus[i].nvlinks[1].is_active = i == 0;
                }
              }),
      Answers("gpu-degraded",
              [](device::Snapshot&, device::SampleSet& samples) {
                samples.gpus[1].throttle_reasons = nvml::kThrottlePowerBrake;
              }),
      {"gpu-degraded",
       [](const HealthyHost& host) {
         host.Write(kAgentHealth, R"({"gpus": [{"uuid": "GPU-0", "faults": [{"rule": "Xid63",
             "unhealthy": false, "message": "XID 63: a row was remapped.", "detail": "row 7"}]}]})");
       }},
      Answers("mig-pending",
              [](device::Snapshot& snapshot, device::SampleSet&) {
                snapshot.gpus[0].mig_mode = device::MigMode{.is_pending_enabled = true};
              }),
      Answers("mig-empty",
              [](device::Snapshot& snapshot, device::SampleSet&) {
                snapshot.gpus[0].mig_mode =
                    device::MigMode{.is_enabled = true, .is_pending_enabled = true};
              }),
      Answers("gpu-fault",
              [](device::Snapshot&, device::SampleSet& samples) {
                samples.gpus[0].is_sram_threshold_exceeded = true;
              }),
      Answers("gpu-fault",
              [](device::Snapshot& snapshot, device::SampleSet&) {
                snapshot.gpus[1].health = {false, "ResetRequired", "The GPU must be reset."};
              }),
      Answers("gpu-ecc-uncorrected",
              [](device::Snapshot&, device::SampleSet& samples) {
                samples.gpus[0].ecc.volatile_uncorrected = 2;
              }),
      Answers("gpu-row-remap-pending",
              [](device::Snapshot&, device::SampleSet& samples) {
                samples.gpus[0].remaps->is_pending = true;
              }),
      Answers("gpu-row-remap-failed",
              [](device::Snapshot&, device::SampleSet& samples) {
                samples.gpus[1].remaps->has_failed = true;
              }),
  };
}

}  // namespace kgpu::doctor
