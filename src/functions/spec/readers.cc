#include "src/functions/spec/readers.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/functions/runtimes/runtimes.h"
#include "src/node/config/labels_reader.h"
#include "src/platform/base/bytes.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

using config::Node;
using config::Problems;
using config::Set;
using config::Word;

constexpr std::array<std::string_view, 3> kGpuKeys = {"count", "model", "memory"};
constexpr std::array<std::string_view, 2> kReplicaKeys = {"min", "max"};
constexpr std::array kNetworkWords = {
    Word<NetworkAccess>{"default", NetworkAccess::kDefault},
    Word<NetworkAccess>{"none", NetworkAccess::kNone},
};
constexpr std::array<std::string_view, 1> kScalingKeys = {"by"};
constexpr std::array kScalerWords = {
    Word<ScaledBy>{"kgpu", ScaledBy::kKgpu},
    Word<ScaledBy>{"hpa", ScaledBy::kHpa},
    Word<ScaledBy>{"keda", ScaledBy::kKeda},
};
constexpr std::array kTruthWords = {Word<bool>{"true", true}, Word<bool>{"false", false}};

// A number of JSON, as text.
std::optional<std::string> ReadNumberText(const Node& node) {
  const auto number = node.Number(0, INT64_MAX);
  return number ? std::optional(fmt::format("{}", *number)) : std::nullopt;
}

// Empty means unset; `parse` has the unit's rules.
void ReadAmount(const Node& node, StatusOr<int64_t> (*parse)(std::string_view),
                std::optional<int64_t>& out) {
  const auto text = node.is_number() ? ReadNumberText(node) : node.String();
  if (text && !text->empty()) {
    out = node.Accept(parse(*text));
  }
}

void ReadSize(const Node& node, Range range, std::optional<int64_t>& out) {
  ReadAmount(node, &ParseMemoryBytes, out);
  if (out && (*out < range.low || *out > range.high)) {
    node.Error("{} must be at most {}", node.Shown(),
               FormatQuantity(Bytes{static_cast<uint64_t>(range.high)}));
    out.reset();
  }
}

std::optional<int64_t> CountOf(const Node& node, const std::string& text, Range range) {
  const auto number = ParseUint(text);
  if (!number || *number < static_cast<uint64_t>(range.low) ||
      *number > static_cast<uint64_t>(range.high)) {
    node.Error("{} must be an integer from {} to {}", node.Shown(), range.low, range.high);
    return std::nullopt;
  }
  return static_cast<int64_t>(*number);
}

std::vector<std::string> ReadModels(const Node& node) {
  std::vector<std::string> models;
  node.ForOneOrMany([&models](const Node& item) {
    const auto model = item.CheckedString(&CheckModel);
    if (model && std::ranges::find(models, *model) != models.end()) {
      item.Error("{} is a duplicate: remove one", item.Shown());
    } else if (model) {
      models.push_back(*model);
    }
  });
  if (node.size() > kMaxEntries) {
    node.Error("{} entries exceed the limit of {}", node.size(), kMaxEntries);
  }
  return models;
}

// Without a count, a map requests one GPU.
GpuRequest ReadGpuMap(const Node& node) {
  GpuRequest request{.count = 1};
  node.ForEachField(kGpuKeys, [&request](std::string_view name, const Node& field) {
    if (name == "count") {
      Set(request.count, ReadCount(field, {1, kGpuRange.high}));
    } else if (name == "model") {
      request.models = ReadModels(field);
    } else {
      ReadAmount(field, &ParseMemoryBytes, request.memory);
    }
  });
  return request;
}

}  // namespace

std::optional<std::string> ReadScalar(const Node& node) {
  if (node.is_number()) {
    return ReadNumberText(node);
  }
  if (node.is_bool()) {
    return node.Bool().value_or(false) ? "true" : "false";
  }
  return node.String();
}

void ReadText(const Node& node, CheckValue check, std::string& out) {
  auto text = node.String();
  if (!text || text->empty()) {
    return;
  }
  if (const Status status = check(*text); !status.ok()) {
    node.Error("{}", Message(status));
    return;
  }
  out = *std::move(text);
}

void ReadRuntime(const Node& node, std::string& out) {
  ReadText(node, &CheckRuntimeName, out);
  if (const Runtime* runtime = FindRuntime(out); runtime != nullptr) {
    out = std::string(runtime->name);
  }
}

void ReadTexts(const Node& node, CheckValue check, std::vector<std::string>& out) {
  if (node.size() > kMaxEntries) {
    node.Error("{} entries exceed the limit of {}", node.size(), kMaxEntries);
    return;
  }
  node.ForEachItem([&](const Node& item) {
    auto text = item.CheckedString(check);
    if (!text) {
      return;
    }
    if (std::ranges::find(out, *text) != out.end()) {
      item.Error("{} is a duplicate: remove one", item.Shown());
      return;
    }
    out.push_back(*std::move(text));
  });
}

void ReadTextMap(const Node& node, CheckValue check_key, CheckValue check_value,
                 std::map<std::string, std::string>& out) {
  if (node.size() > kMaxEntries) {
    node.Error("{} entries exceed the limit of {}", node.size(), kMaxEntries);
    return;
  }
  node.ForAnyField([&](std::string_view name, const Node& field) {
    if (const Status status = check_key(name); !status.ok()) {
      field.KeyError("{}", Message(status));
    }
    auto text = ReadScalar(field);
    if (!text) {
      return;
    }
    if (const Status status = check_value(*text); !status.ok()) {
      field.Error("{}", Message(status));
    }
    out.insert_or_assign(std::string(name), *std::move(text));
  });
}

std::optional<int64_t> ReadCount(const Node& node, Range range) {
  if (node.is_string()) {
    const auto text = node.String();
    return text ? CountOf(node, *text, range) : std::nullopt;
  }
  const auto number =
      node.Number(static_cast<uint64_t>(range.low), static_cast<uint64_t>(range.high));
  return number ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
}

std::optional<bool> ReadTruth(const Node& node) {
  return node.is_string() ? node.OneOf<bool>(kTruthWords) : node.Bool();
}

std::optional<std::chrono::milliseconds> ReadTime(const Node& node, Problems& problems,
                                                  Range range) {
  const auto time = config::ReadDuration(node, problems);
  if (time && (time->count() < range.low || time->count() > range.high)) {
    node.Error("{} must be between {} and {}", node.Shown(),
               FormatDuration(std::chrono::milliseconds(range.low)),
               FormatDuration(std::chrono::milliseconds(range.high)));
    return std::nullopt;
  }
  return time;
}

GivenGpus ReadGpus(const Node& node) {
  GivenGpus given{.position = node.position(), .path = node.path(), .shown = node.Shown()};
  if (node.is_map()) {
    given.request = ReadGpuMap(node);
    given.is_map = true;
  } else if (node.is_string()) {
    const auto text = node.String();
    if (text && !text->empty()) {
      const auto count = CountOf(node, *text, kGpuRange);
      given.request = count ? std::optional(GpuRequest{.count = *count}) : std::nullopt;
    }
  } else if (const auto count = ReadCount(node, kGpuRange)) {
    given.request = GpuRequest{.count = *count};
  }
  return given;
}

GivenGpus MergeGpus(GivenGpus first, const GivenGpus& second, std::string_view first_name,
                    Problems& problems) {
  if (!second.request) {
    return first;
  }
  if (!first.request) {
    return second;
  }
  const bool differs = first.request->count != second.request->count ||
                       (first.is_map && second.is_map && *first.request != *second.request);
  if (differs) {
    problems.Add(second.position,
                 fmt::format("{}: {} must equal {}, since a GPU is not shared: remove one",
                             second.path, second.shown, first_name));
  }
  if (second.is_map && !first.is_map) {
    return second;
  }
  return first;
}

GivenResources ReadResources(const Node& node, const ResourceKeys& keys) {
  GivenResources given;
  node.ForEachField(keys, [&](std::string_view name, const Node& field) {
    if (name == keys[0]) {
      ReadAmount(field, &ParseMemoryBytes, given.amounts.memory);
    } else if (name == keys[1]) {
      ReadAmount(field, &ParseCpuMillis, given.amounts.cpu_millis);
    } else {
      given.gpus = ReadGpus(field);
    }
  });
  return given;
}

GivenReplicas ReadReplicas(const Node& node) {
  GivenReplicas given;
  node.ForEachField(kReplicaKeys, [&given](std::string_view name, const Node& field) {
    if (name == "min") {
      given.min = ReadCount(field, kMinReplicasRange);
    } else {
      given.max = ReadCount(field, kMaxReplicasRange);
    }
  });
  return given;
}

void ApplyReplicas(const GivenReplicas& given, Scaling& scaling) {
  scaling.min_replicas = given.min.value_or(scaling.min_replicas);
  scaling.max_replicas = given.max.value_or(std::max(scaling.max_replicas, scaling.min_replicas));
}

std::span<const OwnField> OwnFields() {
  static constexpr std::array<OwnField, 12> kFields = {{
      {"concurrency",
       [](const Node& node, Problems&, Function& function) {
         Set(function.calls.concurrency, ReadCount(node, kConcurrencyRange));
       }},
      {"processes",
       [](const Node& node, Problems&, Function& function) {
         Set(function.calls.processes, ReadCount(node, kProcessesRange));
       }},
      {"timeout",
       [](const Node& node, Problems& problems, Function& function) {
         Set(function.calls.timeout, ReadTime(node, problems, kTimeoutMillisRange));
       }},
      {"maxInput",
       [](const Node& node, Problems&, Function& function) {
         ReadSize(node, kInputRange, function.calls.max_input);
       }},
      {"maxOutput",
       [](const Node& node, Problems&, Function& function) {
         ReadSize(node, kOutputRange, function.calls.max_output);
       }},
      {"idle",
       [](const Node& node, Problems& problems, Function& function) {
         Set(function.scaling.idle, ReadTime(node, problems, kIdleMillisRange));
       }},
      {"scaling",
       [](const Node& node, Problems&, Function& function) {
         node.ForEachField(kScalingKeys, [&function](std::string_view, const Node& field) {
           Set(function.scaling.by, field.OneOf<ScaledBy>(kScalerWords));
         });
       }},
      {"async", [](const Node& node, Problems&,
                   Function& function) { Set(function.calls.is_async, ReadTruth(node)); }},
      {"retries",
       [](const Node& node, Problems&, Function& function) {
         Set(function.calls.retries, ReadCount(node, kRetriesRange));
       }},
      {"pids", [](const Node& node, Problems&,
                  Function& function) { Set(function.pids, ReadCount(node, kPidsRange)); }},
      {"readOnlyRoot",
       [](const Node& node, Problems&, Function& function) {
         Set(function.has_read_only_root, ReadTruth(node));
       }},
      {"network",
       [](const Node& node, Problems&, Function& function) {
         Set(function.network, node.OneOf<NetworkAccess>(kNetworkWords));
       }},
  }};
  return kFields;
}

}  // namespace kgpu::functions
