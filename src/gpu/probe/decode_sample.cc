#include "src/gpu/probe/decode_sample.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/gpu/nvml/sample_abi.h"
#include "src/gpu/probe/payload.h"
#include "src/gpu/probe/sample_protocol.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::probe {
namespace {

using device::GpuSample;
using device::ProfilingSample;

// Rates past this are no rates of any link: 2^50 bytes a second.
constexpr double kMostBytesPerSecond = 1125899906842624.0;

// The values of one payload by field, checked when they are read.
class Values {
 public:
  explicit Values(const SamplePayload& payload) : payload_(payload) {}

  bool Has(SampleField field) const {
    return (payload_.has >> static_cast<uint32_t>(field) & 1) != 0;
  }
  // Nothing if absent, negative or above `most`.
  std::optional<uint64_t> Number(SampleField field,
                                 int64_t most = std::numeric_limits<int64_t>::max()) const {
    const int64_t value = payload_.values[static_cast<uint32_t>(field)];
    if (!Has(field) || value < 0 || value > most) {
      return std::nullopt;
    }
    return static_cast<uint64_t>(value);
  }
  std::optional<unsigned> Small(SampleField field) const {
    const auto value = Number(field, std::numeric_limits<int32_t>::max());
    return value ? std::optional(static_cast<unsigned>(*value)) : std::nullopt;
  }
  // All 64 bits.
  std::optional<uint64_t> Bits(SampleField field) const {
    return Has(field)
               ? std::optional(static_cast<uint64_t>(payload_.values[static_cast<uint32_t>(field)]))
               : std::nullopt;
  }
  std::optional<int> Celsius(SampleField field) const {
    const int64_t value = payload_.values[static_cast<uint32_t>(field)];
    return Has(field) && value > -274 && value < 1000 ? std::optional(static_cast<int>(value))
                                                      : std::nullopt;
  }
  std::optional<double> Scaled(SampleField field, double unit, double most) const {
    const auto value = Number(field);
    return value && static_cast<double>(*value) * unit <= most
               ? std::optional(static_cast<double>(*value) * unit)
               : std::nullopt;
  }
  std::optional<double> Percent(SampleField field) const { return Scaled(field, 1, 100); }
  std::optional<Bytes> Size(SampleField field) const {
    const auto value = Number(field);
    return value ? std::optional(Bytes{*value}) : std::nullopt;
  }

 private:
  const SamplePayload& payload_;
};

std::optional<device::MemoryUse> MemoryOf(const Values& values) {
  const auto total = values.Size(SampleField::kMemoryTotal);
  const auto used = values.Size(SampleField::kMemoryUsed);
  if (!total || !used || *used > *total) {
    return std::nullopt;
  }
  return device::MemoryUse{.total = *total,
                           .reserved = values.Size(SampleField::kMemoryReserved).value_or(Bytes{}),
                           .used = *used,
                           .free = values.Size(SampleField::kMemoryFree).value_or(Bytes{})};
}

std::optional<device::RowRemaps> RemapsOf(const Values& values) {
  const auto pending = values.Small(SampleField::kRemapPending);
  if (!pending) {
    return std::nullopt;
  }
  device::RowRemaps remaps{.corrected = values.Small(SampleField::kRemapsCorrected).value_or(0),
                           .uncorrected = values.Small(SampleField::kRemapsUncorrected).value_or(0),
                           .is_pending = *pending != 0,
                           .has_failed = values.Small(SampleField::kRemapFailed).value_or(0) != 0,
                           .spare_rows = std::nullopt};
  std::vector<unsigned> rows;
  for (const SampleField field :
       {SampleField::kSpareRowsMax, SampleField::kSpareRowsHigh, SampleField::kSpareRowsPartial,
        SampleField::kSpareRowsLow, SampleField::kSpareRowsNone}) {
    if (const auto count = values.Small(field)) {
      rows.push_back(*count);
    }
  }
  if (rows.size() == 5) {
    remaps.spare_rows = std::move(rows);
  }
  return remaps;
}

std::optional<device::RetiredPages> RetiredOf(const Values& values) {
  const auto single = values.Small(SampleField::kRetiredSingleBit);
  const auto both = values.Small(SampleField::kRetiredDoubleBit);
  if (!single || !both) {
    return std::nullopt;
  }
  return device::RetiredPages{
      .single_bit = *single,
      .double_bit = *both,
      .is_pending = values.Small(SampleField::kRetiredPending).value_or(0) != 0};
}

ProfilingSample ProfilingOf(const ProfilingValues& values) {
  const auto value = [&](ProfilingField field, double unit, double most) -> std::optional<double> {
    const auto index = static_cast<uint32_t>(field);
    const double scaled = values.values[index] * unit;
    const bool is_there = (values.has >> index & 1) != 0;
    // Hardware counters are read one after the other: a share may come out a little above all.
    if (!is_there || !std::isfinite(scaled) || scaled < 0 || scaled > most * 1.1) {
      return std::nullopt;
    }
    return std::min(scaled, most);
  };
  const auto share = [&](ProfilingField field) { return value(field, 0.01, 1.0); };
  const auto rate = [&](ProfilingField field) {
    return value(field, 1024.0 * 1024.0, kMostBytesPerSecond);
  };
  return {.graphics_active = share(ProfilingField::kGraphics),
          .sm_active = share(ProfilingField::kSm),
          .sm_occupancy = share(ProfilingField::kOccupancy),
          .tensor_active = share(ProfilingField::kTensor),
          .fp64_active = share(ProfilingField::kFp64),
          .fp32_active = share(ProfilingField::kFp32),
          .fp16_active = share(ProfilingField::kFp16),
          .dram_active = share(ProfilingField::kDram),
          .pcie_sent_bytes_per_second = rate(ProfilingField::kPcieSent),
          .pcie_received_bytes_per_second = rate(ProfilingField::kPcieReceived),
          .nvlink_sent_bytes_per_second = rate(ProfilingField::kNvLinkSent),
          .nvlink_received_bytes_per_second = rate(ProfilingField::kNvLinkReceived)};
}

void FillLoad(const Values& values, GpuSample* sample) {
  sample->utilization = {.gpu = values.Percent(SampleField::kGpuUtilization),
                         .duty_cycle = values.Scaled(SampleField::kDutyCycle, 0.001, 100),
                         .memory = values.Percent(SampleField::kMemoryUtilization),
                         .encoder = values.Percent(SampleField::kEncoderUtilization),
                         .decoder = values.Percent(SampleField::kDecoderUtilization),
                         .jpeg = values.Percent(SampleField::kJpegUtilization),
                         .ofa = values.Percent(SampleField::kOfaUtilization)};
  sample->memory = MemoryOf(values);
  sample->bar1_total = values.Size(SampleField::kBar1Total);
  sample->bar1_used = values.Size(SampleField::kBar1Used);
  sample->clocks = {.graphics = values.Small(SampleField::kClockGraphics),
                    .sm = values.Small(SampleField::kClockSm),
                    .memory = values.Small(SampleField::kClockMemory),
                    .video = values.Small(SampleField::kClockVideo),
                    .max_sm = values.Small(SampleField::kMaxClockSm),
                    .max_memory = values.Small(SampleField::kMaxClockMemory)};
  sample->performance_state = values.Small(SampleField::kPerformanceState);
}

void FillHeat(const Values& values, GpuSample* sample) {
  constexpr double kNoLimit = std::numeric_limits<double>::max();
  sample->temperatures = {.gpu = values.Celsius(SampleField::kTemperature),
                          .memory = values.Celsius(SampleField::kMemoryTemperature),
                          .slowdown = values.Celsius(SampleField::kTemperatureSlowdown),
                          .shutdown = values.Celsius(SampleField::kTemperatureShutdown),
                          .gpu_max = values.Celsius(SampleField::kTemperatureGpuMax),
                          .memory_max = values.Celsius(SampleField::kTemperatureMemoryMax)};
  sample->power = {.watts = values.Scaled(SampleField::kPower, 0.001, kNoLimit),
                   .limit_watts = values.Scaled(SampleField::kPowerLimit, 0.001, kNoLimit),
                   .energy_millijoules = values.Number(SampleField::kEnergy)};
  sample->throttle_reasons = values.Bits(SampleField::kThrottleReasons);
  sample->power_violation_ns = values.Number(SampleField::kPowerViolation);
  sample->thermal_violation_ns = values.Number(SampleField::kThermalViolation);
}

void FillFaults(const Values& values, GpuSample* sample) {
  sample->ecc = {.volatile_corrected = values.Number(SampleField::kEccVolatileCorrected),
                 .volatile_uncorrected = values.Number(SampleField::kEccVolatileUncorrected),
                 .aggregate_corrected = values.Number(SampleField::kEccAggregateCorrected),
                 .aggregate_uncorrected = values.Number(SampleField::kEccAggregateUncorrected)};
  sample->remaps = RemapsOf(values);
  sample->retired = RetiredOf(values);
  sample->fabric_state = values.Small(SampleField::kFabricState);
  sample->fabric_status = values.Small(SampleField::kFabricStatus);
  sample->fabric_health = values.Number(SampleField::kFabricHealth);
  if (const auto exceeded = values.Number(SampleField::kSramThreshold)) {
    sample->is_sram_threshold_exceeded = *exceeded != 0;
  }
  sample->recovery_action = values.Small(SampleField::kRecoveryAction);
  sample->pcie = {.generation = values.Small(SampleField::kPcieGeneration),
                  .max_generation = values.Small(SampleField::kPcieMaxGeneration),
                  .width = values.Small(SampleField::kPcieWidth),
                  .max_width = values.Small(SampleField::kPcieMaxWidth),
                  .replays = values.Number(SampleField::kPcieReplays),
                  .sent_bytes_per_second = values.Number(SampleField::kPcieSent),
                  .received_bytes_per_second = values.Number(SampleField::kPcieReceived)};
}

std::optional<unsigned> SampledInstance(uint32_t id) {
  return id == nvml::kNoInstance ? std::nullopt : std::optional<unsigned>(id);
}

StatusOr<device::ProcessSample> ProcessOf(const ProcessEntry& entry) {
  if (entry.pid == 0 || entry.kind > kProcessMps) {
    return InvalidArgument("probe frame: process {} has invalid kind {}", entry.pid, entry.kind);
  }
  device::ProcessSample process;
  process.pid = entry.pid;
  process.kind = static_cast<device::ProcessKind>(entry.kind);
  if (entry.memory != nvml::kValueNotAvailable) {
    process.memory = Bytes{entry.memory};
  }
  process.gpu_instance = SampledInstance(entry.gpu_instance);
  process.compute_instance = SampledInstance(entry.compute_instance);
  if (entry.has_utilization != 0) {
    const auto percent = [](uint8_t value) { return std::min<double>(value, 100); };
    process.sm = percent(entry.sm);
    process.memory_utilization = percent(entry.memory_utilization);
    process.encoder = percent(entry.encoder);
    process.decoder = percent(entry.decoder);
  }
  return process;
}

}  // namespace

StatusOr<SampleReport> DecodeSample(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto read, Read<SamplePayload>(payload, "sample of a GPU"));
  if (read.fan_count > kMaxFans) {
    return InvalidArgument("probe frame: {} fans exceed the limit of {}", read.fan_count, kMaxFans);
  }
  SampleReport report;
  const Values values(read);
  FillLoad(values, &report.sample);
  FillHeat(values, &report.sample);
  FillFaults(values, &report.sample);
  report.sample.fans.assign(read.fans, read.fans + read.fan_count);
  report.sample.profiling = ProfilingOf(read.profiling);
  report.wants_second = read.wants_second != 0;
  return report;
}

StatusOr<std::vector<device::NvLinkSample>> DecodeLinkSamples(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto set, Read<LinkSamplePayload>(payload, "sample of NVLinks"));
  if (set.count > kMaxNvLinks) {
    return InvalidArgument("probe frame: {} NVLinks exceed the limit of {}", set.count,
                           kMaxNvLinks);
  }
  std::vector<device::NvLinkSample> links;
  links.reserve(set.count);
  for (const LinkSampleEntry& entry : std::span(set.links).first(set.count)) {
    if (entry.link >= kMaxNvLinks) {
      return InvalidArgument("probe frame: NVLink {} is out of range", entry.link);
    }
    const auto value = [&](LinkField field, unsigned shift = 0) -> std::optional<uint64_t> {
      const auto index = static_cast<uint32_t>(field);
      return (entry.has >> index & 1) != 0 ? std::optional(entry.values[index] << shift)
                                           : std::nullopt;
    };
    links.push_back({.link = entry.link,
                     .is_active = entry.is_active != 0,
                     .replay_errors = value(LinkField::kReplayErrors),
                     .recovery_errors = value(LinkField::kRecoveryErrors),
                     .crc_flit_errors = value(LinkField::kCrcFlitErrors),
                     .crc_data_errors = value(LinkField::kCrcDataErrors),
                     .sent_bytes = value(LinkField::kSentKib, 10),
                     .received_bytes = value(LinkField::kReceivedKib, 10)});
  }
  std::ranges::sort(links, {}, &device::NvLinkSample::link);
  const auto twice = std::ranges::adjacent_find(links, {}, &device::NvLinkSample::link);
  if (twice != links.end()) {
    return InvalidArgument("probe frame: duplicate NVLink {}", twice->link);
  }
  return links;
}

StatusOr<ProcessPage> DecodeProcesses(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto read, Read<ProcessPayload>(payload, "processes"));
  if (read.count > kProcessesPerPage) {
    return InvalidArgument("probe frame: {} processes on a page exceed the limit of {}", read.count,
                           kProcessesPerPage);
  }
  ProcessPage page;
  page.processes.reserve(read.count);
  for (const ProcessEntry& entry : std::span(read.processes).first(read.count)) {
    ASSIGN_OR_RETURN(device::ProcessSample process, ProcessOf(entry));
    page.processes.push_back(process);
  }
  page.has_more = read.has_more != 0;
  return page;
}

StatusOr<device::MigSample> DecodeMigSample(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto read, Read<MigSamplePayload>(payload, "sample of a MIG device"));
  device::MigSample sample;
  sample.gpu_instance = read.gpu_instance;
  sample.compute_instance = read.compute_instance;
  if (read.has_memory != 0 && read.memory_used <= read.memory_total) {
    sample.memory = device::MemoryUse{.total = Bytes{read.memory_total},
                                      .reserved = Bytes{read.memory_reserved},
                                      .used = Bytes{read.memory_used},
                                      .free = Bytes{read.memory_free}};
  }
  sample.profiling = ProfilingOf(read.profiling);
  return sample;
}

}  // namespace kgpu::probe
