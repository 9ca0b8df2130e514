#include "src/node/config/metrics_reader.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/node/config/endpoints_reader.h"
#include "src/node/config/labels_reader.h"
#include "src/node/config/words.h"
#include "src/platform/base/ascii.h"

namespace kgpu::config {
namespace {

constexpr std::array<std::string_view, 7> kMetricsKeys = {
    "names", "every", "exclude", "dcgmLabels", "listen", "tls", "auth"};

// A round over the GPUs takes some milliseconds.
constexpr std::chrono::seconds kLeastSampleTime{1};
constexpr size_t kMaxExcludes = 256;
constexpr size_t kMaxPattern = 128;

void ReadSampleTime(const Node& node, Problems& problems, MetricsConfig& metrics) {
  const auto every = ReadDuration(node, problems);
  if (!every) {
    return;
  }
  if (*every != std::chrono::milliseconds(0) && *every < kLeastSampleTime) {
    node.Error("{} is too short: the minimum is 1s; 0 disables it", node.Shown());
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
    return IsAlphanumeric(c) || c == '_' || c == '*';
  });
}

void ReadExclude(const Node& node, std::vector<std::string>& out) {
  if (node.is_list() && node.size() > kMaxExcludes) {
    node.Error("{} names exceed the limit of {}", node.size(), kMaxExcludes);
    return;
  }
  std::vector<std::string> patterns;
  node.ForOneOrMany([&patterns](const Node& item) {
    auto text = item.String();
    if (!text) {
      return;
    }
    if (!IsPattern(*text)) {
      item.Error("{} must be the name of a series: letters, digits, _ and the wildcard *",
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
      // An empty list is how no series of GPUs are served.
      metrics.names = field.EachOneOf<NameSet>(kNameSetWords);
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
