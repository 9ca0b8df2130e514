#include "src/node/loans/lent_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "src/node/config/share_reader.h"
#include "src/node/sharing/kind.h"
#include "src/node/sharing/slice_paths.h"
#include "src/platform/base/strings.h"

namespace kgpu::loans {
namespace {

namespace json = boost::json;

constexpr std::array<std::string_view, 4> kSliceKeys = {"gpu", "slot", "memory", "share"};
// A pebibyte: more is a mistake.
constexpr uint64_t kMaxSliceBytes = uint64_t{1} << 50;

bool IsLendable(const sharing::Share& share) {
  return sharing::LimitsMemory(share) && share.by->traits().is_lendable;
}

slices::SliceSlot ReadSlice(const config::Node& node) {
  slices::SliceSlot slice;
  std::optional<device::GpuUuid> gpu;
  std::optional<uint64_t> replica;
  node.ForEachField(kSliceKeys, [&](std::string_view name, const config::Node& field) {
    if (name == "gpu") {
      const auto text = field.String();
      gpu = text ? field.Accept(device::GpuUuid::Parse(*text)) : std::nullopt;
    } else if (name == "slot") {
      replica = field.Number(0, sharing::kMaxSlices - 1);
    } else if (name == "memory") {
      slice.memory.count = field.Number(1, kMaxSliceBytes).value_or(0);
    } else {
      slice.share = config::ReadShare(field);
    }
  });
  if (!gpu || !replica || slice.memory == Bytes{} || !IsLendable(slice.share)) {
    node.Error("a slice needs gpu, slot, memory and share.by: memory");
    return slice;
  }
  slice.device_uuid = gpu->str();
  slice.id = SlotIdOf(*gpu, static_cast<unsigned>(*replica));
  return slice;
}

// The number behind the UUID of its GPU.
std::optional<uint64_t> NumberOf(const slices::SliceSlot& slice) {
  const std::string head = slice.device_uuid + "::";
  return slice.id.starts_with(head) ? ParseUint(std::string_view(slice.id).substr(head.size()))
                                    : std::nullopt;
}

}  // namespace

std::string SlotIdOf(const device::GpuUuid& gpu, unsigned replica) {
  return fmt::format("{}::{}", gpu.str(), replica);
}

Status CheckSlices(const LentSlices& slices) {
  if (slices.size() > sharing::kMostSlices) {
    return InvalidArgument("{} slices exceed the limit of {}: a container has no room for more",
                           slices.size(), sharing::kMostSlices);
  }
  for (auto slice = slices.begin(); slice != slices.end(); ++slice) {
    const bool is_slot = device::GpuUuid::Parse(slice->device_uuid).ok() && NumberOf(*slice);
    if (!is_slot || slice->memory == Bytes{}) {
      return InvalidArgument("\"{}\" is not a memory slice of a GPU", Printable(slice->id));
    }
    if (std::find_if(slices.begin(), slice, [&](const slices::SliceSlot& other) {
          return other.id == slice->id;
        }) != slice) {
      return InvalidArgument("{} is in the loan twice", slice->id);
    }
  }
  return OkStatus();
}

std::vector<device::GpuUuid> GpusOf(const LentSlices& slices) {
  std::vector<device::GpuUuid> gpus;
  for (const slices::SliceSlot& slice : slices) {
    auto gpu = device::GpuUuid::Parse(slice.device_uuid);
    if (gpu.ok() && std::ranges::find(gpus, *gpu) == gpus.end()) {
      gpus.push_back(*std::move(gpu));
    }
  }
  return gpus;
}

json::array PrintSlices(const LentSlices& slices) {
  json::array array;
  for (const slices::SliceSlot& slice : slices) {
    array.push_back(json::object{{"gpu", slice.device_uuid},
                                 {"slot", NumberOf(slice).value_or(0)},
                                 {"memory", slice.memory.count},
                                 {"share", config::ShareTree(slice.share)}});
  }
  return array;
}

LentSlices ReadSlices(const config::Node& node) {
  LentSlices slices;
  node.ForEachItem([&slices](const config::Node& item) { slices.push_back(ReadSlice(item)); });
  return slices;
}

}  // namespace kgpu::loans
