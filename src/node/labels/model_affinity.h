// Which nodes have GPUs of a model, as rules of a pod's node affinity: by kgpu's labels of each
// model, and by GPU feature discovery's where those are absent. Pure functions.
// Source: docs/reference/node-labels.md has the labels.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::labels {

// Prefix of the labels of one model: "kgpu.dev/gpu.model.A100-SXM4-80GB.count".
inline constexpr char kModelLabelPrefix[] = "kgpu.dev/gpu.model.";
// GPU feature discovery's, of the model with most cards; the memory is in MiB.
inline constexpr char kProductLabel[] = "nvidia.com/gpu.product";
inline constexpr char kMemoryLabel[] = "nvidia.com/gpu.memory";

// `what`: "count", "memory".
std::string ModelLabel(std::string_view model, std::string_view what);
// The values of kProductLabel for `model`.
std::vector<std::string> ProductsOf(std::string_view model);

// A matchExpression. AtLeastRule: the label's number is `least` or more.
boost::json::object LabelRule(std::string_view key, std::string_view op,
                              const std::vector<std::string>& values = {});
boost::json::object AtLeastRule(std::string_view key, int64_t least);
// Keeps pods off nodes that have `model`.
boost::json::object WithoutModelRule(std::string_view model);

// Expressions of nodes with GPUs of `model` (empty: of any) and of `memory_mib` at least (0: any):
// a node has such GPUs if it fits all expressions of one of the lists.
std::vector<boost::json::array> ModelTerms(std::string_view model, int64_t memory_mib);

// Entries of "nodeSelectorTerms" and of the preferred terms; the weight falls with `position` in
// the list of models.
boost::json::object RequiredTerm(boost::json::array expressions);
boost::json::object PreferredTerm(boost::json::array expressions, size_t position);
// A pod's "affinity"; empty if both are.
boost::json::object NodeAffinity(boost::json::array required, boost::json::array preferred);

}  // namespace kgpu::labels
