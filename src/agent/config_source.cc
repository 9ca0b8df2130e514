#include "src/agent/config_source.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::agent {
namespace {

constexpr size_t kLimit = size_t{1} << 20;
// Editors and the kubelet's ConfigMap volumes change a file in several steps.
constexpr std::chrono::milliseconds kConfigSettle{20};
// While the file's folder cannot be watched.
constexpr std::chrono::milliseconds kPoll{2000};

StatusOr<std::string> ReadText(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  auto text = sys::ReadAll(fd.get(), kLimit);
  return text.ok() ? text : Annotate(text.status(), "read {}", path);
}

}  // namespace

ConfigSource::ConfigSource(EventLoop& loop, std::string path, bool must_exist,
                           std::function<void()> changed)
    : loop_(loop), path_(std::move(path)), must_exist_(must_exist), changed_(std::move(changed)) {
  Read();
  if (!path_.empty()) {
    Watch();
  }
}

ConfigSource::~ConfigSource() {
  loop_.CancelTimer(settle_);
  loop_.CancelTimer(retry_);
}

void ConfigSource::Watch() {
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  auto watch = sys::FolderWatch::Create(loop_, folder.empty() ? "." : folder, [this] {
    loop_.CancelTimer(settle_);
    settle_ = loop_.After(kConfigSettle, [this] { Reload(); });
  });
  if (watch.ok()) {
    watch_ = *std::move(watch);
    return;
  }
  retry_ = loop_.After(kPoll, [this] {
    Reload();
    Watch();
  });
}

void ConfigSource::Reload() {
  if (Read()) {
    changed_();
  }
}

bool ConfigSource::Read() {
  StatusOr<std::string> text = path_.empty() ? std::string() : ReadText(path_);
  is_there_ = text.ok() && !path_.empty();
  if (!text.ok() && text.status().code() == StatusCode::kNotFound && !must_exist_) {
    text = std::string();
  }
  if (text.ok() && *text == text_ && config_) {
    // As before; an unreadable file in between may have left a problem.
    return !std::exchange(problem_, std::string()).empty();
  }
  StatusOr<config::NodeConfig> parsed = text.ok() ? config::ParseNodeConfig(*text, path_)
                                                  : StatusOr<config::NodeConfig>(text.status());
  if (!parsed.ok()) {
    std::string problem(Message(parsed.status()));
    if (problem == problem_) {
      return false;
    }
    KGPU_LOG(kError, "configuration rejected", {"file", path_}, {"reason", problem},
             {"effect", config_ ? "the previous one stays in use" : "no device is allocated"});
    problem_ = std::move(problem);
    return true;
  }
  text_ = *std::move(text);
  problem_.clear();
  if (config_ && *config_ == *parsed) {
    return true;
  }
  const bool is_first = !config_;
  config_ = std::make_shared<const config::NodeConfig>(*std::move(parsed));
  if (is_there_) {
    KGPU_LOG(kInfo, is_first ? "configuration loaded" : "configuration changed", {"file", path_},
             {"pools", config_->pools.size()});
  }
  return true;
}

}  // namespace kgpu::agent
