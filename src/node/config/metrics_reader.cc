#include "src/node/config/metrics_reader.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/node/config/doors_reader.h"
#include "src/node/config/labels_reader.h"
#include "src/node/config/words.h"

namespace kgpu::config {
namespace {

constexpr std::array<std::string_view, 7> kMetricsKeys = {
    "names", "every", "exclude", "dcgmLabels", "listen", "tls", "auth"};

// A round over the GPUs takes some milliseconds.
constexpr std::chrono::seconds kLeastSampleTime{1};
constexpr size_t kMaxExcludes = 256;
constexpr size_t kMaxPattern = 128;

void ReadNames(const Node& node, std::vector<NameSet>& out) {
  std::vector<NameSet> names;
  node.ForOneOrMany([&names](const Node& item) {
    const auto name = item.OneOf<NameSet>(kNameSetWords);
    if (!name) {
      return;
    }
    if (std::ranges::find(names, *name) != names.end()) {
      item.Error("{} is given twice: keep one", item.Shown());
    }
    names.push_back(*name);
  });
  // An empty list is how no series of GPUs are served.
  out = std::move(names);
}

void ReadSampleTime(const Node& node, Problems& problems, MetricsConfig& metrics) {
  const auto every = ReadDuration(node, problems);
  if (!every) {
    return;
  }
  if (*every != std::chrono::milliseconds(0) && *every < kLeastSampleTime) {
    node.Error("{} is too often: 1s is the least, 0 is never", node.Shown());
    return;
  }
  metrics.every = *every;
}

void ReadDcgmLabels(const Node& node, std::vector<DcgmLabel>& out) {
  std::vector<DcgmLabel> labels;
  node.ForOneOrMany([&labels](const Node& item) {
    if (const auto label = item.OneOf<DcgmLabel>(kDcgmLabelWords)) {
      labels.push_back(*label);
    }
  });
  out = std::move(labels);
}

bool IsPattern(std::string_view text) {
  return !text.empty() && text.size() <= kMaxPattern && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '*';
  });
}

void ReadExclude(const Node& node, std::vector<std::string>& out) {
  if (node.is_list() && node.size() > kMaxExcludes) {
    node.Error("{} names are more than the {} allowed", node.size(), kMaxExcludes);
    return;
  }
  std::vector<std::string> patterns;
  node.ForOneOrMany([&patterns](const Node& item) {
    auto text = item.String();
    if (!text) {
      return;
    }
    if (!IsPattern(*text)) {
      item.Error("{} is no name of a series: letters, digits, _ and * for any of them",
                 item.Shown());
      return;
    }
    patterns.push_back(*std::move(text));
  });
  out = std::move(patterns);
}

}  // namespace

void ReadMetrics(const Node& node, Problems& problems, MetricsConfig& metrics) {
  node.ForEachField(kMetricsKeys, [&](std::string_view name, const Node& field) {
    if (name == "names") {
      ReadNames(field, metrics.names);
    } else if (name == "every") {
      ReadSampleTime(field, problems, metrics);
    } else if (name == "exclude") {
      ReadExclude(field, metrics.exclude);
    } else if (name == "dcgmLabels") {
      ReadDcgmLabels(field, metrics.dcgm_labels);
    } else if (name == "listen") {
      ReadListen(field, metrics.listen);
    } else if (name == "tls") {
      ReadTls(field, metrics.tls);
    } else {
      ReadAuth(field, metrics.auth);
    }
  });
}

}  // namespace kgpu::config
