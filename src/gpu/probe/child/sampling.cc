#include "src/gpu/probe/child/sampling.h"

#include <cstdlib>
#include <cstring>

#include "src/gpu/probe/child/clock.h"
#include "src/gpu/probe/child/sampling_fields.h"

namespace kgpu::probe::child {
namespace {

constexpr uint64_t kDutyPeriodUs = 10'000'000;
constexpr uint32_t kMaxDutySamples = 512;
constexpr double kLargestReal = 9e18;  // that an int64_t holds
constexpr int64_t kMostDegrees = 1000;

// The GPU, or all of the driver, answers nothing more.
bool IsGone(nvml::Return result) {
  return result == nvml::kErrorGpuIsLost || result == nvml::kErrorUninitialized ||
         result == nvml::kErrorDriverNotLoaded || result == nvml::kErrorLibRmVersionMismatch ||
         result == nvml::kErrorGpuNotFound;
}

uint64_t Bit(SampleField field) {
  return uint64_t{1} << static_cast<uint32_t>(field);
}

// False for what is no number.
bool IntegerOf(const nvml::FieldValue& field, int64_t* value) {
  switch (field.value_type) {
    case nvml::kValueDouble:
      // Not of NaN either; the cast of what does not fit is undefined.
      if (!(field.value.real > -kLargestReal && field.value.real < kLargestReal)) {
        return false;
      }
      *value = static_cast<int64_t>(field.value.real);
      return true;
    case nvml::kValueUint:
      *value = field.value.uint;
      return true;
    case nvml::kValueUlong:
    case nvml::kValueUlongLong:
      *value = static_cast<int64_t>(field.value.ulong);
      return true;
    case nvml::kValueSignedLongLong:
      *value = field.value.signed_long;
      return true;
    case nvml::kValueSignedInt:
      *value = field.value.signed_int;
      return true;
    case nvml::kValueUshort:
      *value = field.value.ushort;
      return true;
    default:
      return false;
  }
}

}  // namespace

// The current payload. After an answer that the GPU is lost no more calls are made.
class Sampling::Writer {
 public:
  Writer(Driver& driver, nvml::Device device, SamplePayload* payload)
      : driver_(driver), device_(device), payload_(payload) {}

  template <typename Fn, typename... Args>
  nvml::Return Call(const nvml::Function<Fn>& function, Args... args) {
    if (result_ != nvml::kSuccess) {
      return result_;
    }
    const nvml::Return result = driver_.Call(function, device_, args...);
    if (IsGone(result)) {
      result_ = result;
    }
    return result;
  }
  void Put(SampleField field, int64_t value) {
    payload_->has |= Bit(field);
    payload_->values[static_cast<uint32_t>(field)] = value;
  }
  // Puts what a getter of one number answers.
  template <typename Fn, typename... Args>
  void PutUint(SampleField field, const nvml::Function<Fn>& function, Args... args) {
    uint32_t value = 0;
    if (Call(function, args..., &value) == nvml::kSuccess) {
      Put(field, value);
    }
  }
  bool Has(SampleField field) const { return (payload_->has & Bit(field)) != 0; }
  int64_t Get(SampleField field) const { return payload_->values[static_cast<uint32_t>(field)]; }
  SamplePayload* payload() const { return payload_; }
  nvml::Return result() const { return result_; }

 private:
  Driver& driver_;
  nvml::Device device_;
  SamplePayload* payload_;
  nvml::Return result_ = nvml::kSuccess;
};

nvml::Return Sampling::Begin(uint32_t gpu, GpuState** state) {
  if (gpu >= kMaxGpus) {
    return nvml::kErrorInvalidArgument;
  }
  nvml::Device device = nullptr;
  if (const nvml::Return result = driver_.Handle(gpu, &device); result != nvml::kSuccess) {
    return End(gpu, result);
  }
  if (states_[gpu] == nullptr) {
    states_[gpu] = static_cast<GpuState*>(calloc(1, sizeof(GpuState)));
  }
  if (states_[gpu] == nullptr) {
    return nvml::kErrorMemory;
  }
  states_[gpu]->device = device;
  *state = states_[gpu];
  return nvml::kSuccess;
}

nvml::Return Sampling::End(uint32_t gpu, nvml::Return result) {
  if (IsGone(result) && states_[gpu] != nullptr) {
    states_[gpu]->profiling.FreeAll(driver_);
    free(states_[gpu]);
    states_[gpu] = nullptr;
  }
  return result;
}

void Sampling::ReadConstants(GpuState& state, Writer& writer) {
  const auto read = [&](SampleField field, const auto& function, auto... args) {
    if ((state.constants_known & Bit(field)) == 0) {
      uint32_t value = 0;
      const nvml::Return result = writer.Call(function, args..., &value);
      if (result == nvml::kSuccess) {
        state.constants_there |= Bit(field);
        state.constants[static_cast<uint32_t>(field)] = value;
      }
      if (result == nvml::kSuccess || result == nvml::kErrorNotSupported ||
          result == nvml::kErrorFunctionNotFound || result == nvml::kErrorInvalidArgument) {
        state.constants_known |= Bit(field);
      }
    }
    if ((state.constants_there & Bit(field)) != 0) {
      writer.Put(field, state.constants[static_cast<uint32_t>(field)]);
    }
  };
  for (const WantedUint& wanted : kConstantUints) {
    read(wanted.field, *wanted.function);
  }
  for (const WantedType& wanted : kConstantTyped) {
    read(wanted.field, *wanted.function, wanted.type);
  }
}

void Sampling::ReadUtilization(Writer& writer) {
  nvml::Utilization rates{};
  if (writer.Call(nvml::kDeviceGetUtilizationRates, &rates) == nvml::kSuccess) {
    writer.Put(SampleField::kGpuUtilization, rates.gpu);
    writer.Put(SampleField::kMemoryUtilization, rates.memory);
  }
  for (const WantedEngine& wanted : kEngines) {
    uint32_t percent = 0;
    uint32_t period_us = 0;
    if (writer.Call(*wanted.function, &percent, &period_us) == nvml::kSuccess) {
      writer.Put(wanted.field, percent);
    }
  }
}

// The mean of the samples that the driver keeps of the GPU's utilisation.
void Sampling::ReadDutyCycle(Writer& writer) {
  nvml::Sample samples[kMaxDutySamples];
  uint32_t count = kMaxDutySamples;
  int32_t type = nvml::kValueUint;
  const uint64_t since = MicrosecondsOf(CLOCK_REALTIME) - kDutyPeriodUs;
  if (writer.Call(nvml::kDeviceGetSamples, int32_t{nvml::kSampleGpu}, since, &type, &count,
                  static_cast<nvml::Sample*>(samples)) != nvml::kSuccess ||
      type != nvml::kValueUint) {
    return;
  }
  uint64_t total = 0;
  uint32_t used = 0;
  for (uint32_t i = 0; i < count && i < kMaxDutySamples; ++i) {
    if (samples[i].timestamp_us > since) {
      total += samples[i].value.uint;
      ++used;
    }
  }
  if (used > 0) {
    writer.Put(SampleField::kDutyCycle, static_cast<int64_t>(total * 1000 / used));
  }
}

void Sampling::ReadMemory(Writer& writer) {
  nvml::MemoryV2 memory{};
  memory.version = nvml::kMemoryV2Version;
  nvml::Return result = writer.Call(nvml::kDeviceGetMemoryInfoV2, &memory);
  if (result == nvml::kErrorFunctionNotFound || result == nvml::kErrorArgumentVersionMismatch ||
      result == nvml::kErrorNotSupported) {
    nvml::Memory older{};  // counts what is reserved as used
    result = writer.Call(nvml::kDeviceGetMemoryInfo, &older);
    memory.total = older.total;
    memory.free = older.free;
    memory.used = older.used;
  }
  if (result == nvml::kSuccess) {
    writer.Put(SampleField::kMemoryTotal, static_cast<int64_t>(memory.total));
    writer.Put(SampleField::kMemoryReserved, static_cast<int64_t>(memory.reserved));
    writer.Put(SampleField::kMemoryUsed, static_cast<int64_t>(memory.used));
    writer.Put(SampleField::kMemoryFree, static_cast<int64_t>(memory.free));
  }
  nvml::Bar1Memory bar1{};
  if (writer.Call(nvml::kDeviceGetBar1MemoryInfo, &bar1) == nvml::kSuccess) {
    writer.Put(SampleField::kBar1Total, static_cast<int64_t>(bar1.total));
    writer.Put(SampleField::kBar1Used, static_cast<int64_t>(bar1.used));
  }
}

void Sampling::ReadTemperature(Writer& writer) {
  uint32_t celsius = 0;
  const nvml::Return result =
      writer.Call(nvml::kDeviceGetTemperature, int32_t{nvml::kTemperatureSensorGpu}, &celsius);
  if (result == nvml::kSuccess) {
    writer.Put(SampleField::kTemperature, celsius);
  } else if (result == nvml::kErrorFunctionNotFound) {
    nvml::TemperatureV1 newer{.version = nvml::StructVersion<nvml::TemperatureV1>(1),
                              .sensor = nvml::kTemperatureSensorGpu,
                              .celsius = 0};
    if (writer.Call(nvml::kDeviceGetTemperatureV, &newer) == nvml::kSuccess) {
      writer.Put(SampleField::kTemperature, newer.celsius);
    }
  }
}

// For drivers that no longer report thresholds. The margin is the distance to T.Limit 0; a limit of
// -2 is 2 degrees beyond that. It is read right after the temperature, so that the distance is the
// driver's own, though the sum of both may vary by a degree between rounds.
void Sampling::ReadHeatLimits(GpuState& state, Writer& writer) {
  if (state.has_no_margin || writer.Has(SampleField::kTemperatureSlowdown) ||
      !writer.Has(SampleField::kTemperature)) {
    return;
  }
  nvml::MarginTemperatureV1 margin{.version = nvml::StructVersion<nvml::MarginTemperatureV1>(1),
                                   .celsius = 0};
  const nvml::Return result = writer.Call(nvml::kDeviceGetMarginTemperature, &margin);
  state.has_no_margin =
      result == nvml::kErrorNotSupported || result == nvml::kErrorFunctionNotFound;
  nvml::FieldValue limits[kTLimitCount] = {};
  for (uint32_t i = 0; i < kTLimitCount; ++i) {
    limits[i].field_id = kTLimits[i].id;
  }
  if (result != nvml::kSuccess ||
      writer.Call(nvml::kDeviceGetFieldValues, static_cast<int32_t>(kTLimitCount),
                  static_cast<nvml::FieldValue*>(limits)) != nvml::kSuccess) {
    return;
  }
  const int64_t zero = writer.Get(SampleField::kTemperature) + margin.celsius;
  for (uint32_t i = 0; i < kTLimitCount; ++i) {
    int64_t limit = 0;
    if (limits[i].nvml_return == nvml::kSuccess && IntegerOf(limits[i], &limit) &&
        limit > -kMostDegrees && limit < kMostDegrees) {
      writer.Put(kTLimits[i].field, zero - limit);
    }
  }
}

void Sampling::ReadClocks(Writer& writer) {
  for (const WantedType& wanted : kTyped) {
    writer.PutUint(wanted.field, *wanted.function, wanted.type);
  }
  uint64_t reasons = 0;
  if (writer.Call(nvml::kDeviceGetCurrentClocksEventReasons, &reasons) == nvml::kSuccess) {
    writer.Put(SampleField::kThrottleReasons, static_cast<int64_t>(reasons));
  }
}

void Sampling::ReadViolations(Writer& writer) {
  nvml::ViolationTime time{};
  if (writer.Call(nvml::kDeviceGetViolationStatus, int32_t{nvml::kPolicyPower}, &time) ==
      nvml::kSuccess) {
    writer.Put(SampleField::kPowerViolation, static_cast<int64_t>(time.violation_ns));
  }
  if (writer.Call(nvml::kDeviceGetViolationStatus, int32_t{nvml::kPolicyThermal}, &time) ==
      nvml::kSuccess) {
    writer.Put(SampleField::kThermalViolation, static_cast<int64_t>(time.violation_ns));
  }
}

void Sampling::ReadFields(GpuState& state, Writer& writer) {
  nvml::FieldValue values[kFieldCount] = {};
  for (uint32_t i = 0; i < kFieldCount; ++i) {
    values[i].field_id = kFields[i].id;
  }
  if (writer.Call(nvml::kDeviceGetFieldValues, static_cast<int32_t>(kFieldCount),
                  static_cast<nvml::FieldValue*>(values)) != nvml::kSuccess) {
    return;
  }
  const uint64_t now = MicrosecondsOf(CLOCK_MONOTONIC);
  const auto put_rate = [&](SampleField field, uint64_t counter, Rate* rate) {
    if (rate->at_us == 0) {
      writer.payload()->wants_second = 1;
    } else if (now > rate->at_us && counter >= rate->counter) {
      const auto passed = static_cast<double>(now - rate->at_us);
      const auto bytes = static_cast<double>(counter - rate->counter);
      writer.Put(field, static_cast<int64_t>(bytes * 1e6 / passed));
    }
    *rate = {.counter = counter, .at_us = now};
  };
  for (uint32_t i = 0; i < kFieldCount; ++i) {
    int64_t value = 0;
    if (values[i].nvml_return != nvml::kSuccess || !IntegerOf(values[i], &value)) {
      continue;
    }
    if (kFields[i].field == SampleField::kPcieSent) {
      put_rate(kFields[i].field, static_cast<uint64_t>(value), &state.pcie_sent);
    } else if (kFields[i].field == SampleField::kPcieReceived) {
      put_rate(kFields[i].field, static_cast<uint64_t>(value), &state.pcie_received);
    } else {
      writer.Put(kFields[i].field, value);
    }
  }
}

// Drivers without counters measure for 20 ms while we wait.
void Sampling::ReadPcieThroughput(GpuState& state, Writer& writer) {
  if (state.pcie_sent.at_us != 0) {
    return;
  }
  uint32_t kib = 0;
  if (writer.Call(nvml::kDeviceGetPcieThroughput, int32_t{nvml::kPcieTxBytes}, &kib) ==
      nvml::kSuccess) {
    writer.Put(SampleField::kPcieSent, int64_t{kib} * 1024);
  }
  if (writer.Call(nvml::kDeviceGetPcieThroughput, int32_t{nvml::kPcieRxBytes}, &kib) ==
      nvml::kSuccess) {
    writer.Put(SampleField::kPcieReceived, int64_t{kib} * 1024);
  }
}

void Sampling::ReadSpareRows(Writer& writer) {
  nvml::RowRemapperHistogram rows{};
  if (!writer.Has(SampleField::kRemapPending) ||
      writer.Call(nvml::kDeviceGetRowRemapperHistogram, &rows) != nvml::kSuccess) {
    return;
  }
  writer.Put(SampleField::kSpareRowsMax, rows.max);
  writer.Put(SampleField::kSpareRowsHigh, rows.high);
  writer.Put(SampleField::kSpareRowsPartial, rows.partial);
  writer.Put(SampleField::kSpareRowsLow, rows.low);
  writer.Put(SampleField::kSpareRowsNone, rows.none);
}

void Sampling::ReadFans(GpuState& state, Writer& writer) {
  if (!state.has_fan_count) {
    const nvml::Return result = writer.Call(nvml::kDeviceGetNumFans, &state.fan_count);
    if (result == nvml::kErrorFunctionNotFound) {
      state.fan_count = 1;  // asked below
    } else if (result != nvml::kSuccess) {
      state.fan_count = 0;
    }
    state.fan_count = state.fan_count > kMaxFans ? kMaxFans : state.fan_count;
    state.has_fan_count = true;
  }
  for (uint32_t fan = 0; fan < state.fan_count; ++fan) {
    uint32_t percent = 0;
    nvml::Return result = writer.Call(nvml::kDeviceGetFanSpeedV2, fan, &percent);
    if (result == nvml::kErrorFunctionNotFound) {
      result = writer.Call(nvml::kDeviceGetFanSpeed, &percent);
    }
    if (result != nvml::kSuccess) {
      return;  // those after it would get a wrong number
    }
    writer.payload()->fans[writer.payload()->fan_count++] = percent;
  }
}

// Older libraries know the state, and not how well the fabric does.
void Sampling::ReadFabric(Writer& writer) {
  nvml::FabricInfoV2 fabric{};
  fabric.version = nvml::StructVersion<nvml::FabricInfoV2>(2);
  if (writer.Call(nvml::kDeviceGetGpuFabricInfoV, &fabric) == nvml::kSuccess) {
    writer.Put(SampleField::kFabricHealth, fabric.health_mask);
  } else {
    nvml::FabricInfo old{};
    if (writer.Call(nvml::kDeviceGetGpuFabricInfo, &old) != nvml::kSuccess) {
      return;
    }
    fabric.state = old.state;
    fabric.status = old.status;
  }
  writer.Put(SampleField::kFabricState, fabric.state);
  if (fabric.state == nvml::kFabricStateCompleted) {
    writer.Put(SampleField::kFabricStatus, fabric.status);
  }
}

void Sampling::ReadSram(Writer& writer) {
  nvml::SramEccStatus sram{};
  sram.version = nvml::StructVersion<nvml::SramEccStatus>(1);
  if (writer.Call(nvml::kDeviceGetSramEccErrorStatus, &sram) == nvml::kSuccess) {
    writer.Put(SampleField::kSramThreshold, sram.is_threshold_exceeded);
  }
}

nvml::Return Sampling::ReadGpu(uint32_t gpu, SamplePayload* payload) {
  GpuState* state = nullptr;
  if (const nvml::Return result = Begin(gpu, &state); result != nvml::kSuccess) {
    return result;
  }
  Writer writer(driver_, state->device, payload);
  ReadConstants(*state, writer);
  ReadUtilization(writer);
  ReadDutyCycle(writer);
  ReadMemory(writer);
  ReadTemperature(writer);
  ReadHeatLimits(*state, writer);
  for (const WantedUint& wanted : kUints) {
    writer.PutUint(wanted.field, *wanted.function);
  }
  ReadClocks(writer);
  ReadViolations(writer);
  ReadFields(*state, writer);
  ReadPcieThroughput(*state, writer);
  ReadSpareRows(writer);
  ReadFans(*state, writer);
  ReadFabric(writer);
  ReadSram(writer);
  if (writer.result() == nvml::kSuccess) {
    state->profiling.BeginRound(driver_);
    if (state->profiling.ReadGpu(driver_, state->device, &payload->profiling)) {
      payload->wants_second = 1;
    }
  }
  return End(gpu, writer.result());
}

nvml::Return Sampling::ReadProcesses(uint32_t gpu, uint32_t page, ProcessPayload* payload) {
  if (page == 0) {
    GpuState* state = nullptr;
    nvml::Return result = Begin(gpu, &state);
    if (result == nvml::kSuccess) {
      result = processes_.Read(gpu, state->device, &state->seen_us);
    }
    if (result != nvml::kSuccess) {
      return End(gpu, result);
    }
  }
  return processes_.Page(gpu, page, payload);
}

nvml::Return Sampling::ReadMigDevice(uint32_t gpu, uint32_t index, MigSamplePayload* payload) {
  GpuState* state = nullptr;
  nvml::Device device = nullptr;
  nvml::Return result = Begin(gpu, &state);
  if (result == nvml::kSuccess) {
    result = driver_.Call(nvml::kDeviceGetMigDeviceHandleByIndex, state->device, index, &device);
  }
  if (result == nvml::kSuccess) {
    result = driver_.Call(nvml::kDeviceGetGpuInstanceId, device, &payload->gpu_instance);
  }
  if (result == nvml::kSuccess) {
    result = driver_.Call(nvml::kDeviceGetComputeInstanceId, device, &payload->compute_instance);
  }
  if (result != nvml::kSuccess) {
    return End(gpu, result);
  }
  nvml::MemoryV2 memory{};
  memory.version = nvml::kMemoryV2Version;
  if (driver_.Call(nvml::kDeviceGetMemoryInfoV2, device, &memory) == nvml::kSuccess) {
    payload->has_memory = 1;
    payload->memory_total = memory.total;
    payload->memory_reserved = memory.reserved;
    payload->memory_used = memory.used;
    payload->memory_free = memory.free;
  }
  state->profiling.ReadInstance(driver_, state->device, payload->gpu_instance, &payload->profiling);
  return nvml::kSuccess;
}

}  // namespace kgpu::probe::child
