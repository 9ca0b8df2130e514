#include "src/node/choice/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "src/node/choice/selectors.h"
#include "src/node/config/foreign.h"
#include "src/node/config/gke_config.h"
#include "src/node/config/nvidia_config.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::choice {
namespace {

constexpr std::string_view kSuffix = ".yaml";
constexpr size_t kMaxNamesShown = 20;

std::string LabelOf(const Labels& labels, std::string_view key) {
  const auto found = labels.find(std::string(key));
  return found == labels.end() ? std::string() : found->second;
}

std::optional<Choice> FindIn(const Folder& folder, const std::string& name) {
  for (const std::string& key : {name + std::string(kSuffix), name}) {
    const auto found = folder.files.find(key);
    if (found != folder.files.end() && key != kSelectorsKey) {
      return Choice{.name = name,
                    .from = folder.name,
                    .file = fmt::format("{}/{}", folder.path, key),
                    .text = found->second};
    }
  }
  return std::nullopt;
}

// The names there are, for an error.
Status Unknown(const Folders& folders, const std::string& name, std::string_view why) {
  std::set<std::string> names;
  for (const Folder* folder : {&folders.configs, &folders.policy}) {
    for (std::string& known : NamesIn(*folder)) {
      names.insert(std::move(known));
    }
  }
  const std::string both = fmt::format("{} and {}", folders.configs.name, folders.policy.name);
  const std::string add = fmt::format("add {}{} to {}", name, kSuffix, folders.configs.name);
  if (names.empty()) {
    return NotFound("{}: the ConfigMaps {} are empty: {}", why, both, add);
  }
  const auto nearest = Nearest(name, {names.begin(), names.end()});
  std::vector<std::string> shown(names.begin(), names.end());
  if (shown.size() > kMaxNamesShown) {
    shown.resize(kMaxNamesShown);
    shown.emplace_back("…");
  }
  return NotFound("{}: the ConfigMaps {} have no \"{}\", only {}: {}", why, both, name,
                  Join(shown, ", "),
                  nearest ? fmt::format("did you mean \"{}\"?", *nearest)
                          : fmt::format("use one of these, or {}", add));
}

// `first` is asked before `second`.
StatusOr<Choice> Find(const Folders& folders, const Folder& first, const Folder& second,
                      const std::string& name, std::string why) {
  for (const Folder* folder : {&first, &second}) {
    if (auto choice = FindIn(*folder, name)) {
      choice->why = std::move(why);
      return *std::move(choice);
    }
  }
  // What cannot be read may have it.
  for (const Folder* folder : {&first, &second}) {
    if (!folder->problem.empty()) {
      return InvalidArgument("{}: {}", why, folder->problem);
    }
  }
  return Unknown(folders, name, why);
}

bool MayHaveConfigs(const Folder& folder) {
  return !NamesIn(folder).empty() || !folder.problem.empty();
}

// Nothing: no selector of `folder` matches.
StatusOr<std::optional<Choice>> FindBySelector(const Folders& folders, const Folder& folder,
                                               const Folder& other, const Labels& labels) {
  if (!folder.problem.empty()) {
    return InvalidArgument("{}", folder.problem);
  }
  const auto text = folder.files.find(std::string(kSelectorsKey));
  if (text == folder.files.end()) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(const std::vector<Rule> rules,
                   ParseSelectors(text->second, fmt::format("{}/{}", folder.path, kSelectorsKey)));
  for (size_t i = 0; i < rules.size(); ++i) {
    if (Matches(rules[i].nodes, labels)) {
      ASSIGN_OR_RETURN(Choice choice, Find(folders, folder, other, rules[i].config,
                                           fmt::format("selector {} of {}", i + 1, folder.name)));
      return choice;
    }
  }
  return std::nullopt;
}

}  // namespace

bool IsUsed(const Folders& folders) {
  return std::ranges::any_of(
      std::array{&folders.policy, &folders.configs},
      [](const Folder* folder) { return !folder->files.empty() || !folder->problem.empty(); });
}

bool NamesConfig(const Labels& labels) {
  return !LabelOf(labels, kConfigLabel).empty();
}

StatusOr<Choice> Choose(const Folders& folders, const Labels& labels) {
  for (const std::string_view label : {kConfigLabel, kNvidiaLabel}) {
    const std::string name = LabelOf(labels, label);
    // NVIDIA's label is for NVIDIA's plugin unless an admin has configurations here, too: those of
    // the controller are for other nodes, and must not stop one with a label of earlier days.
    if (!name.empty() && (label == kConfigLabel || MayHaveConfigs(folders.configs))) {
      return Find(folders, folders.configs, folders.policy, name,
                  fmt::format("label {}={}", label, name));
    }
  }
  for (const auto& [folder, other] : {std::pair(&folders.policy, &folders.configs),
                                      std::pair(&folders.configs, &folders.policy)}) {
    ASSIGN_OR_RETURN(std::optional<Choice> choice,
                     FindBySelector(folders, *folder, *other, labels));
    if (choice) {
      return *std::move(choice);
    }
  }
  return Choice{.why = "default"};
}

std::vector<std::string> NamesIn(const Folder& folder) {
  std::set<std::string> names;
  for (const auto& [key, text] : folder.files) {
    if (key != kSelectorsKey) {
      names.insert(key.ends_with(kSuffix) ? key.substr(0, key.size() - kSuffix.size()) : key);
    }
  }
  return {names.begin(), names.end()};
}

StatusOr<ReadConfig> ReadAnyConfig(std::string_view text, std::string_view file) {
  ReadConfig read;
  const auto dialect = config::DetectDialect(text, file);
  // The NodeConfig parser explains what is wrong with a text that is none of them.
  if (!dialect.ok() || *dialect == config::Dialect::kNodeConfig) {
    ASSIGN_OR_RETURN(read.config, config::ParseNodeConfig(text, file));
    return read;
  }
  ASSIGN_OR_RETURN(config::Converted converted, *dialect == config::Dialect::kGke
                                                    ? config::ConvertGkeConfig(text, file)
                                                    : config::ConvertNvidiaConfig(text, file));
  read.config = std::move(converted.config);
  for (config::Note& note : converted.notes) {
    if (note.fate == config::Fate::kNotTranslated || note.fate == config::Fate::kUnknown) {
      read.notes.push_back(std::move(note.text));
    }
  }
  return read;
}

}  // namespace kgpu::choice
