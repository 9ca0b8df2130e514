// How a claim wants its devices to be shared: the opaque parameters of claims and classes for the
// driver gpu.nvidia.com, GpuConfig and MigDeviceConfig of resource.nvidia.com/v1beta1.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/bytes.h"
#include "src/platform/base/status.h"

namespace kgpu::dra {

inline constexpr std::string_view kParametersVersion = "resource.nvidia.com/v1beta1";

// How long a program has the GPU before the next one, where programs take turns. Source: the
// compute policy of nvidia-smi, --set-timeslice.
enum class TimeSlice { kDefault, kShort, kMedium, kLong };

struct MpsParameters {
  std::optional<unsigned> threads{};         // percent of a device's, for each program
  std::optional<Bytes> memory{};             // for each program on each device
  std::map<std::string, Bytes> memory_of{};  // by UUID, or index among the claim's devices
  bool operator==(const MpsParameters&) const = default;
};

struct Parameters {
  // At most one of them is set; neither: the devices are not shared by the claim's containers in a
  // way of their own.
  std::optional<TimeSlice> time_slice{};
  std::optional<MpsParameters> mps{};
  bool operator==(const Parameters&) const = default;
};

// The kind of device that the parameters are for.
enum class DeviceType { kGpu, kMig };

// `where` names the parameters in errors: "the claim's config[0]". Errors: InvalidArgument with all
// problems, one per line; an unknown field with the nearest one; parameters of another type.
StatusOr<Parameters> ParseParameters(const boost::json::value& parameters, DeviceType type,
                                     std::string_view where);

}  // namespace kgpu::dra
