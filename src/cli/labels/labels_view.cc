#include "src/cli/labels/labels_view.h"

#include <boost/json.hpp>

#include <string_view>

#include <fmt/format.h>

#include "src/node/labels/node_feature.h"
#include "src/node/report/table.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::cli {

namespace json = boost::json;

std::string LabelLines(const labels::NodeClaims& claims) {
  std::string lines;
  for (const auto& [key, value] : claims.labels) {
    lines += fmt::format("{}={}\n", key, value);
  }
  return lines;
}

json::value LabelsJson(const labels::LabelLook& look) {
  const labels::NodeClaims& claims = look.labels.claims;
  json::array taints;
  for (const labels::Taint& taint : claims.taints) {
    taints.push_back({{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  }
  return json::object{{"labels", doc::TextMap(claims.labels)},
                      {"annotations", doc::TextMap(claims.annotations)},
                      {"extendedResources", doc::TextMap(claims.extended_resources)},
                      {"taints", std::move(taints)},
                      {"problems", doc::Texts(look.labels.problems)},
                      {"leftOut", doc::Texts(look.labels.left_out)}};
}

json::value FeaturesJson(const features::FeatureSet& features) {
  labels::NodeFeature object;
  object.features = features;
  return labels::PrintNodeFeature(object).at("spec").at("features");
}

std::string LabelsTable(const labels::NodeClaims& claims) {
  report::Table table({"KIND", "KEY", "VALUE"});
  const auto add = [&table](std::string_view kind,
                            const std::map<std::string, std::string>& pairs) {
    for (const auto& [key, value] : pairs) {
      table.AddRow({std::string(kind), key, value});
    }
  };
  add("label", claims.labels);
  add("annotation", claims.annotations);
  add("resource", claims.extended_resources);
  for (const labels::Taint& taint : claims.taints) {
    table.AddRow({"taint", taint.key, fmt::format("{}:{}", taint.value, taint.effect)});
  }
  return table.Render();
}

}  // namespace kgpu::cli
