#include "src/gpu/probe/decode_mig.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "src/gpu/probe/mig_protocol.h"
#include "src/gpu/probe/payload.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::probe {
namespace {

// Numbers that no hardware reaches; larger ones are garbage.
constexpr uint32_t kMostSlices = 32;
constexpr uint32_t kMostCount = 1U << 16;

Status CheckRange(uint64_t value, uint64_t end, std::string_view what) {
  return value < end ? OkStatus()
                     : InvalidArgument("probe frame: {} {} is out of range", what, value);
}

std::string NameOf(const MigProfileEntry& entry) {
  const size_t length = strnlen(entry.name, sizeof(entry.name));
  return device::MigProfileName({.driver_name = std::string_view(entry.name, length)});
}

StatusOr<device::MigProfile> ProfileOf(const MigProfileEntry& entry) {
  RETURN_IF_ERROR(CheckRange(entry.start_count, kMaxMigStarts + 1, "number of MIG placements"));
  RETURN_IF_ERROR(CheckRange(entry.memory_slices, kMostSlices + 1, "MIG profile's memory slices"));
  RETURN_IF_ERROR(CheckRange(entry.memory_mib, uint64_t{1} << 32, "MIG profile's memory"));
  for (const uint32_t value :
       {entry.profile_id, entry.slices, entry.max_instances, entry.multiprocessors,
        entry.copy_engines, entry.decoders, entry.encoders, entry.jpegs, entry.ofas}) {
    RETURN_IF_ERROR(CheckRange(value, kMostCount, "MIG profile's number"));
  }
  device::MigProfile profile;
  profile.name = NameOf(entry);
  profile.nvml_profile = entry.nvml_profile;
  profile.profile_id = entry.profile_id;
  profile.slices = entry.slices;
  profile.memory_slices = entry.memory_slices;
  for (const uint8_t start : std::span(entry.starts).first(entry.start_count)) {
    RETURN_IF_ERROR(CheckRange(start, kMostSlices, "MIG placement"));
    profile.starts.push_back(start);
  }
  std::ranges::sort(profile.starts);
  profile.max_instances = entry.max_instances;
  profile.multiprocessors = entry.multiprocessors;
  profile.copy_engines = entry.copy_engines;
  profile.decoders = entry.decoders;
  profile.encoders = entry.encoders;
  profile.jpegs = entry.jpegs;
  profile.ofas = entry.ofas;
  profile.memory = MebiBytes(entry.memory_mib);
  return profile;
}

StatusOr<GpuInstanceReport> InstanceOf(const GpuInstanceEntry& entry) {
  RETURN_IF_ERROR(CheckRange(entry.id, 256, "GPU instance"));
  RETURN_IF_ERROR(CheckRange(entry.profile_id, kMostCount, "GPU instance's profile"));
  RETURN_IF_ERROR(CheckRange(entry.start, kMostSlices, "GPU instance's start"));
  RETURN_IF_ERROR(CheckRange(entry.size, kMostSlices + 1, "GPU instance's size"));
  RETURN_IF_ERROR(
      CheckRange(entry.compute_count, kMaxComputeInstances + 1, "number of compute instances"));
  GpuInstanceReport report{.id = entry.id,
                           .profile_id = entry.profile_id,
                           .start = entry.start,
                           .size = entry.size,
                           .compute = {}};
  for (const ComputeInstanceEntry& part : std::span(entry.compute).first(entry.compute_count)) {
    report.compute.push_back({.id = part.id, .slices = part.slices});
  }
  std::ranges::sort(report.compute, {}, &ComputeInstanceReport::id);
  return report;
}

}  // namespace

StatusOr<std::vector<device::MigProfile>> DecodeMigProfiles(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto set, Read<MigProfilesPayload>(payload, "MIG profiles"));
  RETURN_IF_ERROR(CheckRange(set.count, kMaxMigProfiles + 1, "number of MIG profiles"));
  std::vector<device::MigProfile> profiles;
  for (const MigProfileEntry& entry : std::span(set.profiles).first(set.count)) {
    ASSIGN_OR_RETURN(device::MigProfile profile, ProfileOf(entry));
    if (profile.memory_slices > 0 && !profile.starts.empty() && profile.max_instances > 0) {
      profiles.push_back(std::move(profile));
    }
  }
  return profiles;
}

StatusOr<MigLayoutReport> DecodeMigLayout(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto set, Read<MigInstancesPayload>(payload, "MIG instances"));
  RETURN_IF_ERROR(CheckRange(set.count, kMaxGpuInstances + 1, "number of GPU instances"));
  MigLayoutReport report;
  report.mode = {.is_enabled = set.is_enabled != 0, .is_pending_enabled = set.is_pending != 0};
  for (const GpuInstanceEntry& entry : std::span(set.instances).first(set.count)) {
    ASSIGN_OR_RETURN(GpuInstanceReport instance, InstanceOf(entry));
    report.instances.push_back(std::move(instance));
  }
  std::ranges::sort(report.instances, {}, &GpuInstanceReport::start);
  return report;
}

StatusOr<MigModeReport> DecodeMigMode(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto mode, Read<MigModePayload>(payload, "MIG mode"));
  return MigModeReport{
      .activation = static_cast<nvml::Return>(mode.activation),
      .mode = {.is_enabled = mode.is_enabled != 0, .is_pending_enabled = mode.is_pending != 0}};
}

StatusOr<CreatedInstance> DecodeGpuInstance(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto made, Read<GpuInstancePayload>(payload, "GPU instance"));
  RETURN_IF_ERROR(CheckRange(made.id, 256, "GPU instance"));
  RETURN_IF_ERROR(CheckRange(made.start, kMostSlices, "GPU instance's start"));
  RETURN_IF_ERROR(CheckRange(made.size, kMostSlices + 1, "GPU instance's size"));
  return CreatedInstance{.id = made.id, .start = made.start, .size = made.size};
}

StatusOr<unsigned> DecodeComputeInstance(std::span<const std::byte> payload) {
  ASSIGN_OR_RETURN(const auto made, Read<ComputeInstancePayload>(payload, "compute instance"));
  RETURN_IF_ERROR(CheckRange(made.id, 256, "compute instance"));
  return made.id;
}

}  // namespace kgpu::probe
