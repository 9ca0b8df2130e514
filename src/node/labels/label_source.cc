#include "src/node/labels/label_source.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/host/features/cpuid.h"
#include "src/host/features/read.h"
#include "src/node/labels/feature_files.h"

namespace kgpu::labels {
namespace {

constexpr size_t kMaxRuleFiles = 256;

bool IsRuleFile(std::string_view name) {
  return !name.starts_with('.') && (name.ends_with(".yaml") || name.ends_with(".yml") ||
                                    name.ends_with(".json") || name.ends_with(".conf"));
}

// The features of the host, and what their labels are.
NodeClaims ReadHost(const sys::Root& host, const features::FeatureOptions& options,
                    features::FeatureSet& features, std::vector<std::string>& problems) {
  NodeClaims claims;
  const auto cpuid = features::OpenCpuid(host);
  if (!cpuid.ok()) {
    problems.emplace_back(Message(cpuid.status()));
    return claims;
  }
  features::Reading reading = features::ReadFeatures(host, options, **cpuid);
  claims.labels = features::FeatureLabels(reading.features, options, &reading.problems);
  for (const features::Problem& problem : reading.problems) {
    problems.push_back(fmt::format("{}: {}", problem.source, problem.text));
  }
  features = std::move(reading.features);
  return claims;
}

}  // namespace

LabelSource::LabelSource(const sys::Root& host, config::LabelsConfig config, std::string node_name)
    : host_(host),
      config_(std::move(config)),
      node_name_(std::move(node_name)),
      rules_root_(&host),
      rule_paths_(config_.rules) {
}

void LabelSource::UseRules(const sys::Root& root, std::vector<std::string> paths) {
  rules_root_ = &root;
  rule_paths_ = std::move(paths);
}

bool LabelSource::AddStamp(const sys::Root& root, const std::string& path, Stamps& stamps) {
  const auto stat = path.empty() ? NotFound("no path") : root.Stat(path);
  if (!stat.ok() || !S_ISREG(stat->st_mode)) {
    return false;
  }
  stamps[path] = {.inode = stat->st_ino,
                  .size = stat->st_size,
                  .modified_ns = stat->st_mtim.tv_sec * 1'000'000'000 + stat->st_mtim.tv_nsec};
  return true;
}

LabelSource::Stamps LabelSource::StampFiles() const {
  Stamps stamps;
  AddStamp(host_, config_.nfd_worker, stamps);
  AddStamp(host_, config_.nfd_master, stamps);
  for (const std::string& path : rule_paths_) {
    if (AddStamp(*rules_root_, path, stamps)) {
      continue;
    }
    const auto names = rules_root_->ListDir(path);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      if (IsRuleFile(name) && stamps.size() < kMaxRuleFiles) {
        AddStamp(*rules_root_, fmt::format("{}/{}", path, name), stamps);
      }
    }
  }
  return stamps;
}

// The default folders need not exist; a folder that somebody named must.
std::vector<std::string> LabelSource::MissingRules() const {
  static const std::vector<std::string> kDefaults = config::LabelsConfig().rules;
  std::vector<std::string> problems;
  for (const std::string& path : rule_paths_) {
    if (std::ranges::find(kDefaults, path) == kDefaults.end() && !rules_root_->Exists(path)) {
      problems.push_back(fmt::format(
          "{}: no such file or folder: create it, or correct labels.rules", rules_root_->At(path)));
    }
  }
  return problems;
}

// One file that is wrong leaves all of them as they were: what it says of the other is not known.
void LabelSource::LoadNfdConfigs() {
  LabelsSettings settings;
  using Read = StatusOr<ConvertedSettings> (*)(std::string_view, std::string_view, LabelsSettings);
  const std::array<std::pair<const std::string&, Read>, 2> files = {
      {{config_.nfd_worker, &ReadNfdWorkerConfig}, {config_.nfd_master, &ReadNfdMasterConfig}}};
  for (const auto& [path, read] : files) {
    if (!stamps_.contains(path)) {
      continue;
    }
    const auto text = host_.ReadFile(path);
    auto converted = text.ok() ? read(*text, path, settings) : text.status();
    if (!converted.ok()) {
      load_problems_.emplace_back(Message(converted.status()));
      return;
    }
    std::ranges::move(converted->problems, std::back_inserter(load_problems_));
    settings = std::move(converted->settings);
    for (const config::Note& note : converted->notes) {
      if (note.fate == config::Fate::kUnknown || note.fate == config::Fate::kNotTranslated) {
        load_problems_.push_back(note.text);
      }
    }
  }
  settings_ = std::move(settings);
  settings_.features.node_name = node_name_;
}

void LabelSource::LoadRules(const std::string& path) {
  const auto text = rules_root_->ReadFile(path, kMaxRuleBytes);
  RuleFile read;
  if (text.ok()) {
    read = ReadRuleFile(*text, path);
  } else {
    read.has_unreadable = true;
    read.problems.emplace_back(Message(text.status()));
  }
  // A file that is being edited takes nothing off the node.
  const bool keeps_previous = read.has_unreadable && good_rules_.contains(path);
  for (const std::string& problem : read.problems) {
    load_problems_.push_back(
        fmt::format("{}{}", problem, keeps_previous ? " (its previous rules stay in use)" : ""));
  }
  if (!keeps_previous) {
    good_rules_[path] = std::move(read.sets);
  }
  if (const auto good = good_rules_.find(path); good != good_rules_.end()) {
    std::ranges::copy(good->second, std::back_inserter(rules_));
  }
}

void LabelSource::Load() {
  rules_.clear();
  load_problems_.clear();
  std::erase_if(good_rules_, [this](const auto& file) { return !stamps_.contains(file.first); });
  LoadNfdConfigs();
  if (settings_.runs_file_rules) {
    rules_ = settings_.rules;
    for (const auto& [path, stamp] : stamps_) {
      if (path != config_.nfd_worker && path != config_.nfd_master) {
        LoadRules(path);
      }
    }
  }
}

FileFeatures LabelSource::ReadFiles(WallTime now) const {
  if (config_.feature_files.empty() || !settings_.reads_feature_files) {
    return {};
  }
  // Ours is another view of what is known here already.
  const auto [folder, own_file] = SplitFilePath(config_.file);
  FileFeatures files = ReadFeatureFiles(host_, config_.feature_files, now, own_file);
  if (!settings_.labels_feature_files) {
    files.labels.clear();
  }
  return files;
}

LabelLook LabelSource::Look(const LookOptions& options) {
  if (Stamps stamps = StampFiles(); !is_loaded_ || stamps_ != stamps) {
    is_loaded_ = true;
    stamps_ = std::move(stamps);
    Load();
  }
  static const ClusterLabels kNothing;
  const ClusterLabels& cluster = options.cluster ? *options.cluster : kNothing;
  LabelLook look;
  look.tag = options.tag;
  std::vector<std::string> problems = load_problems_;
  std::ranges::move(MissingRules(), std::back_inserter(problems));
  std::vector<NodeClaims> own;
  if (config_.features) {
    features::FeatureOptions wanted = settings_.features;
    // A kernel has some 10,000 options: they are worth a megabyte only to those who look at them.
    wanted.has_whole_kernel_config =
        options.wants_all_features || !rules_.empty() || !cluster.rules.empty();
    own.push_back(ReadHost(host_, wanted, look.features, problems));
  }
  own.push_back({.labels = options.gpus.labels});
  const FileFeatures files = ReadFiles(options.now);
  look.labels = Assemble({.features = look.features,
                          .own = own,
                          .file_rules = rules_,
                          .files = files,
                          .foreign = cluster.features,
                          .object_rules = cluster.rules,
                          .own_allow = settings_.own_allow,
                          .filters = settings_.filters},
                         options.wants_verdicts ? &look.verdicts : nullptr);
  // Our annotations about GPUs are not features of NFD's, and so have none of its limits.
  look.labels.claims.annotations.insert(options.gpus.annotations.begin(),
                                        options.gpus.annotations.end());
  look.labels.problems.insert(look.labels.problems.begin(), problems.begin(), problems.end());
  look.unpublished = settings_.unpublished;
  look.publishes = settings_.publishes;
  look.next_expiry = files.next_expiry;
  return look;
}

}  // namespace kgpu::labels
