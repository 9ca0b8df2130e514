#include "src/node/choice/config_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "src/node/choice/config_folders.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::choice {
namespace {

constexpr size_t kLimit = size_t{1} << 20;
// Editors and the kubelet's ConfigMap volumes change a file in several steps.
constexpr std::chrono::milliseconds kConfigSettle{20};
// While the file's folder cannot be watched.
constexpr std::chrono::milliseconds kPoll{2000};
// A first start waits this long for labels: pods must not be promised resources that the node's own
// configuration takes back. GPUs are served after it, with the default.
constexpr std::chrono::seconds kLabelPatience{10};
constexpr std::string_view kDefaultWhy = "default";
constexpr std::string_view kNoLabelsWhy = "default, until the labels of the node are known";

StatusOr<std::string> ReadText(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  auto text = sys::ReadAll(fd.get(), kLimit);
  return text.ok() ? text : Annotate(text.status(), "read {}", path);
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// The same text of the same file.
bool IsSameText(const choice::Choice& a, const choice::Choice& b) {
  return a.name == b.name && a.file == b.file && a.text == b.text;
}

}  // namespace

ConfigSource::ConfigSource(EventLoop& loop, ConfigSourceOptions options,
                           std::function<void()> changed)
    : loop_(loop),
      options_(std::move(options)),
      changed_(std::move(changed)),
      folders_(ConfigFoldersBelow(FolderOf(options_.file))) {
  Recall();
  Read();
  if (!options_.file.empty()) {
    Watch();
  }
}

void ConfigSource::Watch() {
  auto watch = sys::FolderWatch::Create(loop_, FolderOf(options_.file), [this] { ReloadSoon(); });
  if (watch.ok()) {
    watch_ = *std::move(watch);
    return;
  }
  retry_.Arm(kPoll, [this] {
    Reload();
    Watch();
  });
}

// Only of folders that exist: that one comes, its parent's watch shows.
void ConfigSource::WatchFolders() {
  for (const auto& [folder, watch] : {std::pair(&folders_.policy, &policy_watch_),
                                      std::pair(&folders_.configs, &configs_watch_)}) {
    if (*watch != nullptr || access(folder->path.c_str(), F_OK) != 0) {
      continue;
    }
    auto made = sys::FolderWatch::Create(loop_, folder->path, [this] { ReloadSoon(); });
    if (made.ok()) {
      *watch = *std::move(made);
    } else {
      KGPU_LOG(kWarning, "configurations not watched", {"reason", Message(made.status())},
               {"effect", "changes count after SIGHUP"});
    }
  }
}

void ConfigSource::ReloadSoon() {
  settle_.Arm(kConfigSettle, [this] { Reload(); });
}

void ConfigSource::Reload() {
  if (Read()) {
    changed_();
  }
}

// Not at once: the caller may be one of those that a new configuration replaces.
void ConfigSource::SetLabels(const choice::Labels& labels) {
  if (labels_ != labels) {
    labels_ = labels;
    ReloadSoon();
  }
}

bool ConfigSource::Read() {
  const bool is_label_known = std::exchange(had_labels_, has_labels()) != has_labels();
  const choice::Report before = report_;
  const ConfigPtr config_before = config_;
  if (!options_.file.empty()) {
    WatchFolders();
    ReadFolder(folders_.policy);
    ReadFolder(folders_.configs);
  }
  report_.is_chosen_by_node =
      choice::IsUsed(folders_) || (labels_ && choice::NamesConfig(*labels_));
  if (Wait()) {
    return report_ != before;
  }
  const StatusOr<choice::Choice> choice = Choose();
  if (!choice.ok()) {
    Reject(choice.status());
  } else if (applied_ && IsSameText(*choice, *applied_)) {
    // As before; an unreadable file in between may have left a problem.
    report_.state = choice::State::kApplied;
    report_.problem.clear();
    report_.why = choice->why;
  } else if (StatusOr<choice::ReadConfig> read = Parse(*choice); read.ok()) {
    Apply(*choice, *std::move(read));
  } else {
    Reject(read.status());
  }
  Save();
  // They may be large, and are read again anyway.
  folders_.policy.files.clear();
  folders_.configs.files.clear();
  return report_ != before || config_ != config_before || is_label_known;
}

// Whether the labels, which may choose the first configuration of this boot, are worth waiting for.
bool ConfigSource::Wait() {
  if (labels_ || config_ || is_patience_over_ || !choice::IsUsed(folders_)) {
    return false;
  }
  report_.state = choice::State::kWaiting;
  report_.problem = "the labels of the node choose the configuration, and are not known yet";
  if (!patience_.is_armed()) {
    patience_.Arm(kLabelPatience, [this] {
      is_patience_over_ = true;
      if (!labels_) {
        KGPU_LOG(kWarning, "labels of the node not known",
                 {"effect", "the default configuration is used until they are"});
      }
      Reload();
    });
  }
  return true;
}

StatusOr<choice::Choice> ConfigSource::Choose() {
  choice::Choice choice{.why = std::string(kDefaultWhy)};
  if (labels_) {
    ASSIGN_OR_RETURN(choice, choice::Choose(folders_, *labels_));
  } else if (choice::IsUsed(folders_)) {
    choice.why = kNoLabelsWhy;
  }
  if (!choice.name.empty()) {
    return choice;
  }
  ASSIGN_OR_RETURN(choice::Choice usual, ReadDefault());
  usual.why = choice.why;
  return usual;
}

StatusOr<choice::Choice> ConfigSource::ReadDefault() const {
  if (options_.file.empty()) {
    return choice::Choice();
  }
  StatusOr<std::string> text = ReadText(options_.file);
  if (text.status().code() == StatusCode::kNotFound && !options_.must_exist) {
    return choice::Choice();
  }
  RETURN_IF_ERROR(text.status());
  return choice::Choice{.file = options_.file, .text = *std::move(text)};
}

StatusOr<choice::ReadConfig> ConfigSource::Parse(const choice::Choice& choice) const {
  if (!choice.name.empty()) {
    return choice::ReadAnyConfig(choice.text, choice.file);
  }
  // For a person's own file, kgpu config convert is the better way.
  ASSIGN_OR_RETURN(config::NodeConfig config, config::ParseNodeConfig(choice.text, options_.file));
  return choice::ReadConfig{.config = std::move(config)};
}

void ConfigSource::Apply(const choice::Choice& choice, choice::ReadConfig read) {
  const bool is_first = !config_;
  const bool is_chosen = report_.is_chosen_by_node;
  applied_ = choice;
  report_ = {.is_running = true,
             .name = choice.name,
             .from = choice.from,
             .file = choice.file,
             .why = choice.why,
             .notes = std::move(read.notes),
             .is_chosen_by_node = is_chosen};
  if (config_ && *config_ == read.config) {
    return;
  }
  config_ = std::make_shared<const config::NodeConfig>(std::move(read.config));
  if (!choice.file.empty() || !is_first) {
    KGPU_LOG(kInfo, is_first ? "configuration loaded" : "configuration changed",
             {"file", choice.file.empty() ? "built in" : choice.file}, {"why", choice.why},
             {"pools", config_->pools.size()});
  }
  for (const std::string& note : report_.notes) {
    KGPU_LOG(kWarning, "configuration converted", {"note", note});
  }
}

void ConfigSource::Reject(const Status& status) {
  const bool is_unknown = status.code() == StatusCode::kNotFound && report_.is_chosen_by_node;
  report_.state = is_unknown ? choice::State::kUnknown : choice::State::kInvalid;
  std::string problem(Message(status));
  if (problem != report_.problem) {
    KGPU_LOG(kError, "configuration rejected", {"reason", problem},
             {"effect", config_ ? "the previous one stays in use" : "no device is allocated"});
    report_.problem = std::move(problem);
  }
}

// What ran before the agent was restarted runs on, whatever the files say now.
void ConfigSource::StopWatching() {
  for (const auto* watch : {&watch_, &policy_watch_, &configs_watch_}) {
    if (*watch) {
      (*watch)->StopWatching();
    }
  }
}

void ConfigSource::Recall() {
  const auto text = options_.saved.empty() ? NotFound("none") : ReadText(options_.saved);
  if (!text.ok()) {
    return;
  }
  StatusOr<SavedChoice> saved = ParseSavedChoice(*text);
  if (!saved.ok()) {
    return;
  }
  saved_ = *text;
  labels_ = std::move(saved->labels);
  report_ = std::move(saved->running);
  config_ = std::make_shared<const config::NodeConfig>(std::move(saved->config));
  KGPU_LOG(kInfo, "configuration of the earlier start recalled", {"file", report_.file},
           {"why", report_.why});
}

void ConfigSource::Save() {
  if (options_.saved.empty() || (saved_.empty() && !report_.is_chosen_by_node)) {
    return;
  }
  if (!report_.is_chosen_by_node) {
    saved_.clear();
    (void)unlink(options_.saved.c_str());
    return;
  }
  if (!config_) {
    return;
  }
  std::string text = PrintSavedChoice({.labels = labels_, .running = report_, .config = *config_});
  if (text == saved_) {
    return;
  }
  const Status written =
      sys::WriteFileAtomically(options_.saved, text, 0600, sys::Durability::kMemory);
  if (!written.ok()) {
    KGPU_LOG(kWarning, "a restarted agent has to wait for the labels of the node",
             {"reason", Message(written)});
    return;
  }
  saved_ = std::move(text);
}

}  // namespace kgpu::choice
