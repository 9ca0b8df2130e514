// Reads the values that config.yaml and requests have in common. Private to the module.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/spec/checks.h"
#include "src/functions/spec/function.h"
#include "src/node/config/tree_reader.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/located.h"

namespace kgpu::functions {

using CheckValue = Status (*)(std::string_view text);

// How both are parsed: plain YAML scalars stay texts, so that a variable may be 007 or true, as
// Go's readers allow.
inline constexpr doc::Limits kDocumentLimits = {
    .bytes = size_t{1} << 20, .depth = 16, .values = 100'000, .keeps_scalars = true};

// A text; also a number or a truth value of JSON, as text.
std::optional<std::string> ReadScalar(const config::Node& node);
// An empty text, which OpenFx's files have for "not set", leaves `out` unchanged.
void ReadText(const config::Node& node, CheckValue check, std::string& out);
// A runtime by name or alias; `out` gets the name.
void ReadRuntime(const config::Node& node, std::string& out);
// A list of texts; refuses duplicates.
void ReadTexts(const config::Node& node, CheckValue check, std::vector<std::string>& out);
void ReadTextMap(const config::Node& node, CheckValue check_key, CheckValue check_value,
                 std::map<std::string, std::string>& out);
// An integer, also as a text.
std::optional<int64_t> ReadCount(const config::Node& node, Range range);
std::optional<bool> ReadTruth(const config::Node& node);
std::optional<std::chrono::milliseconds> ReadTime(const config::Node& node,
                                                  config::Problems& problems, Range range);

// The GPUs that one field requests, and the field. Nothing: not given, or given as "".
struct GivenGpus {
  std::optional<GpuRequest> request{};
  bool is_map = false;
  doc::Position position{};
  std::string path{};
  std::string shown{};
};
// A count, or a map of count, model and memory.
GivenGpus ReadGpus(const config::Node& node);
// What both fields request together; reports a difference at `second`. A map wins over a count.
GivenGpus MergeGpus(GivenGpus first, const GivenGpus& second, std::string_view first_name,
                    config::Problems& problems);

struct GivenResources {
  Resources amounts{};
  GivenGpus gpus{};
};
// `keys`: the names of memory, CPU and GPU.
using ResourceKeys = std::array<std::string_view, 3>;
GivenResources ReadResources(const config::Node& node, const ResourceKeys& keys);

// Reads `replicas`; what is absent stays unset.
struct GivenReplicas {
  std::optional<int64_t> min{};
  std::optional<int64_t> max{};
};
GivenReplicas ReadReplicas(const config::Node& node);
// A maximum that nobody set is at least the minimum.
void ApplyReplicas(const GivenReplicas& given, Scaling& scaling);

// Fields with the same names in config.yaml and in "Kgpu".
struct OwnField {
  std::string_view name;
  void (*read)(const config::Node& node, config::Problems& problems, Function& function);
};
std::span<const OwnField> OwnFields();

}  // namespace kgpu::functions
