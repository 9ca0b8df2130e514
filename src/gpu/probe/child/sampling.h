// Measures a GPU with as few driver calls as possible, and keeps state between two rounds: limits
// that never change, counters that become rates, GPM samples, the last time stamp of process
// utilisation. Thread: the probe's main thread.
#pragma once

#include "src/gpu/nvml/sample_functions.h"
#include "src/gpu/probe/child/driver.h"
#include "src/gpu/probe/child/processes.h"
#include "src/gpu/probe/child/profiling.h"
#include "src/gpu/probe/sample_protocol.h"

namespace kgpu::probe::child {

class Sampling {
 public:
  // `driver` must outlive the object.
  explicit Sampling(Driver& driver) : driver_(driver), processes_(driver) {}

  nvml::Return ReadGpu(uint32_t gpu, SamplePayload* payload);
  nvml::Return ReadNvLinks(uint32_t gpu, LinkSamplePayload* payload);
  nvml::Return ReadProcesses(uint32_t gpu, uint32_t page, ProcessPayload* payload);
  nvml::Return ReadMigDevice(uint32_t gpu, uint32_t index, MigSamplePayload* payload);

 private:
  struct Rate {
    uint64_t counter;
    uint64_t at_us;  // 0: none yet
  };
  struct GpuState {
    nvml::Device device;
    uint64_t constants_known;  // bits of SampleField: read, or known to be absent
    uint64_t constants_there;
    int64_t constants[kSampleFieldCount];
    uint32_t fan_count;
    bool has_fan_count;
    bool has_no_margin;  // the driver reports no temperature margin
    Rate pcie_sent;
    Rate pcie_received;
    uint64_t seen_us;  // time stamp of the newest process utilisation
    Profiling profiling;
  };
  class Writer;

  nvml::Return Begin(uint32_t gpu, GpuState** state);
  // Forgets a GPU that does not answer any more.
  nvml::Return End(uint32_t gpu, nvml::Return result);

  void ReadConstants(GpuState& state, Writer& writer);
  void ReadUtilization(Writer& writer);
  void ReadDutyCycle(Writer& writer);
  void ReadMemory(Writer& writer);
  void ReadTemperature(Writer& writer);
  void ReadHeatLimits(GpuState& state, Writer& writer);
  void ReadClocks(Writer& writer);
  void ReadViolations(Writer& writer);
  void ReadFields(GpuState& state, Writer& writer);
  void ReadPcieThroughput(GpuState& state, Writer& writer);
  void ReadSpareRows(Writer& writer);
  void ReadFans(GpuState& state, Writer& writer);
  void ReadFabric(Writer& writer);
  void ReadSram(Writer& writer);

  Driver& driver_;
  Processes processes_;
  GpuState* states_[kMaxGpus] = {};  // created when a GPU is first measured
};

}  // namespace kgpu::probe::child
