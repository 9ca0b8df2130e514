#include "src/node/config/usage_reader.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/strings.h"

namespace kgpu::config {
namespace {

constexpr std::array<std::string_view, 2> kUsageKeys = {"enabled", "retention"};
constexpr uint64_t kMostDays = 400;

// Whole days, "35d": a time that is longer than those of ParseDuration.
void ReadRetention(const Node& node, std::chrono::days& out) {
  const auto text = node.String();
  if (!text) {
    return;
  }
  const auto days = text->ends_with('d') ? ParseUint(text->substr(0, text->size() - 1))
                                         : std::optional<uint64_t>();
  if (!days || *days == 0 || *days > kMostDays) {
    node.Error("{} must be 1d to {}d, in whole days", node.Shown(), kMostDays);
    return;
  }
  out = std::chrono::days(*days);
}

}  // namespace

void ReadUsage(const Node& node, UsageConfig& usage) {
  node.ForEachField(kUsageKeys, [&usage](std::string_view name, const Node& field) {
    if (name == "retention") {
      ReadRetention(field, usage.retention);
    } else if (const auto enabled = field.Bool()) {
      usage.enabled = *enabled;
    }
  });
}

}  // namespace kgpu::config
