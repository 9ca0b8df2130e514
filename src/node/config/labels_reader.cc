#include "src/node/config/labels_reader.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/node/config/words.h"
#include "src/platform/base/duration.h"

namespace kgpu::config {
namespace {

constexpr std::array<std::string_view, 10> kLabelsKeys = {
    "features",    "gpus",         "to",        "file",      "rules",
    "ruleObjects", "featureFiles", "nfdWorker", "nfdMaster", "every"};
constexpr std::array<std::string_view, 2> kGateKeys = {"condition", "taint"};

// Looking at the host takes some milliseconds.
constexpr std::chrono::seconds kLeastLabelsTime{1};
constexpr size_t kMaxRuleFolders = 16;

// An absolute path on the host; "" switches the source off.
void SetPath(const Node& node, std::string& path) {
  auto text = node.String();
  if (!text) {
    return;
  }
  if (!text->empty() && !text->starts_with('/')) {
    node.Error("{} must be an absolute path", node.Shown());
    return;
  }
  path = *std::move(text);
}

void ReadFolders(const Node& node, std::vector<std::string>& out) {
  std::vector<std::string> folders;
  node.ForOneOrMany([&folders](const Node& item) {
    std::string folder;
    SetPath(item, folder);
    if (!folder.empty()) {
      folders.push_back(std::move(folder));
    }
  });
  if (folders.size() > kMaxRuleFolders) {
    node.Error("{} folders exceed the limit of {}", folders.size(), kMaxRuleFolders);
    return;
  }
  out = std::move(folders);
}

void ReadLabelsTime(const Node& node, Problems& problems, LabelsConfig& labels) {
  const auto every = ReadDuration(node, problems);
  if (every && *every < kLeastLabelsTime) {
    node.Error("{} is too short: the minimum is 1s", node.Shown());
  } else {
    Set(labels.every, every);
  }
}

}  // namespace

std::optional<std::chrono::milliseconds> ReadDuration(const Node& node, Problems& problems) {
  if (node.Shown() == "0") {  // 0 is the same time in every unit
    return std::chrono::milliseconds(0);
  }
  const auto text = node.String();
  if (!text) {
    return std::nullopt;
  }
  const auto duration = ParseDuration(node.path(), *text);
  if (!duration.ok()) {
    problems.Add(node.position(), Message(duration.status()));
    return std::nullopt;
  }
  return *duration;
}

void ReadLabels(const Node& node, Problems& problems, LabelsConfig& labels) {
  node.ForEachField(kLabelsKeys, [&](std::string_view name, const Node& field) {
    if (name == "features") {
      Set(labels.features, field.Bool());
    } else if (name == "gpus") {
      Set(labels.gpus, field.Bool());
    } else if (name == "to") {
      // An empty list is how labels are only shown by "kgpu labels".
      labels.outputs = field.EachOneOf<LabelOutput>(kLabelOutputWords);
    } else if (name == "file") {
      SetPath(field, labels.file);
    } else if (name == "rules") {
      ReadFolders(field, labels.rules);
    } else if (name == "ruleObjects") {
      Set(labels.rule_objects, field.Bool());
    } else if (name == "featureFiles") {
      SetPath(field, labels.feature_files);
    } else if (name == "nfdWorker") {
      SetPath(field, labels.nfd_worker);
    } else if (name == "nfdMaster") {
      SetPath(field, labels.nfd_master);
    } else {
      ReadLabelsTime(field, problems, labels);
    }
  });
}

void ReadGate(const Node& node, GateConfig& gate) {
  node.ForEachField(kGateKeys, [&gate](std::string_view name, const Node& field) {
    Set(name == "condition" ? gate.condition : gate.taint, field.Bool());
  });
}

}  // namespace kgpu::config
