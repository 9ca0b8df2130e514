#include "src/node/dra/parameters.h"

#include <boost/json.hpp>

#include <array>

#include "src/node/config/tree_reader.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/located.h"

namespace kgpu::dra {
namespace {

using config::Node;
using config::Word;

constexpr size_t kMaxBytes = 10 << 10;  // as the API server
constexpr std::array<std::string_view, 3> kKeys = {"apiVersion", "kind", "sharing"};
constexpr std::array<std::string_view, 3> kSharingKeys = {"strategy", "timeSlicingConfig",
                                                          "mpsConfig"};
constexpr std::array<std::string_view, 1> kTimeKeys = {"interval"};
constexpr std::array<std::string_view, 3> kMpsKeys = {"defaultActiveThreadPercentage",
                                                      "defaultPinnedDeviceMemoryLimit",
                                                      "defaultPerDevicePinnedMemoryLimit"};

enum class Strategy { kTime, kMps };
constexpr std::array kStrategies = {Word<Strategy>{"TimeSlicing", Strategy::kTime},
                                    Word<Strategy>{"MPS", Strategy::kMps}};
constexpr std::array kIntervals = {
    Word<TimeSlice>{"Default", TimeSlice::kDefault}, Word<TimeSlice>{"Short", TimeSlice::kShort},
    Word<TimeSlice>{"Medium", TimeSlice::kMedium}, Word<TimeSlice>{"Long", TimeSlice::kLong}};

std::optional<Bytes> ReadMemory(const Node& field) {
  const auto text = field.String();
  return text ? field.Accept(ParseQuantity(*text)) : std::nullopt;
}

MpsParameters ReadMps(const Node& node) {
  MpsParameters mps;
  node.ForEachField(kMpsKeys, [&](std::string_view name, const Node& field) {
    if (name == "defaultActiveThreadPercentage") {
      const auto percent = field.Number(1, 100);
      mps.threads = percent ? std::optional(static_cast<unsigned>(*percent)) : std::nullopt;
    } else if (name == "defaultPinnedDeviceMemoryLimit") {
      mps.memory = ReadMemory(field);
    } else {
      field.ForAnyField([&](std::string_view device, const Node& limit) {
        if (const auto memory = ReadMemory(limit); memory) {
          mps.memory_of[std::string(device)] = *memory;
        }
      });
    }
  });
  return mps;
}

// The settings of a strategy that is not the chosen one are an error: they would have no effect.
Parameters ReadSharing(const Node& node, DeviceType type) {
  std::optional<Strategy> strategy;
  std::optional<TimeSlice> interval;
  std::optional<MpsParameters> mps;
  node.ForEachField(kSharingKeys, [&](std::string_view name, const Node& field) {
    if (name == "strategy") {
      strategy = field.OneOf<Strategy>(kStrategies);
    } else if (name == "mpsConfig") {
      mps = ReadMps(field);
    } else if (type == DeviceType::kMig) {
      field.KeyError("a MIG device's time has no intervals: remove it");
    } else {
      interval = TimeSlice::kDefault;
      field.ForEachField(kTimeKeys, [&](std::string_view, const Node& value) {
        interval = value.OneOf<TimeSlice>(kIntervals).value_or(TimeSlice::kDefault);
      });
    }
  });
  if (!strategy) {
    node.Error("strategy is missing: set TimeSlicing or MPS");
    return {};
  }
  if (*strategy == Strategy::kTime) {
    if (mps) {
      node.Error("mpsConfig belongs to strategy MPS, and strategy is TimeSlicing: remove one");
    }
    return {.time_slice = interval.value_or(TimeSlice::kDefault)};
  }
  if (interval) {
    node.Error(
        "timeSlicingConfig belongs to strategy TimeSlicing, and strategy is MPS: remove one");
  }
  return {.mps = mps.value_or(MpsParameters())};
}

}  // namespace

StatusOr<Parameters> ParseParameters(const boost::json::value& parameters, DeviceType type,
                                     std::string_view where) {
  const std::string text = boost::json::serialize(parameters);
  ASSIGN_OR_RETURN(const doc::Located document,
                   doc::ParseLocated(text, doc::Format::kJson, where,
                                     doc::Limits{.bytes = kMaxBytes, .depth = 8}));
  const std::string_view kind = type == DeviceType::kGpu ? "GpuConfig" : "MigDeviceConfig";
  config::Problems problems(where);
  Parameters read;
  Node(document, problems).ForEachField(kKeys, [&](std::string_view name, const Node& field) {
    if (name == "sharing") {
      read = ReadSharing(field, type);
      return;
    }
    const std::string_view expected = name == "kind" ? kind : kParametersVersion;
    if (const auto value = field.String(); value && *value != expected) {
      field.Error("{} is not for this device: set {}", field.Shown(), expected);
    }
  });
  const boost::json::object* object = document.root.if_object();
  if (object != nullptr && !(object->contains("kind") && object->contains("apiVersion"))) {
    Node(document, problems)
        .Error("apiVersion and kind are missing: set {} and {}", kParametersVersion, kind);
  }
  if (problems.empty()) {
    return read;
  }
  std::string all;
  for (const std::string& problem : problems.Texts()) {
    all += fmt::format("{}{}: {}", all.empty() ? "" : "\n", where, problem);
  }
  return InvalidArgument("{}", all);
}

}  // namespace kgpu::dra
