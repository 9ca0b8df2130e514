// The node's configuration, re-read whenever its file changes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "src/node/config/node_config.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/sys/folder_watch.h"

namespace kgpu::agent {

using ConfigPtr = std::shared_ptr<const config::NodeConfig>;

// Lives on the loop's thread. An invalid new file is reported, and the old configuration stays.
class ConfigSource {
 public:
  // `path` empty: always the defaults. `must_exist`: whether a missing file means "not known yet"
  // (it was named explicitly) or the defaults. Calls `changed` on the loop after config() or
  // problem() has changed. `loop` must outlive the source.
  ConfigSource(EventLoop& loop, std::string path, bool must_exist, std::function<void()> changed);
  ~ConfigSource();
  ConfigSource(const ConfigSource&) = delete;
  ConfigSource& operator=(const ConfigSource&) = delete;

  // Null until there has been a valid configuration: allocate no device until then.
  const ConfigPtr& config() const { return config_; }
  // Why the file differs from config(), with the fix; empty if it does not.
  const std::string& problem() const { return problem_; }
  // The file that was read, or named explicitly; empty while the defaults are used.
  std::string path() const { return is_there_ || must_exist_ ? path_ : std::string(); }

  // Reads the file now (SIGHUP).
  void Reload();

 private:
  void Watch();
  // Whether something changed.
  bool Read();

  EventLoop& loop_;
  const std::string path_;
  const bool must_exist_;
  std::function<void()> changed_;
  ConfigPtr config_;
  std::string problem_;
  bool is_there_ = false;
  std::string text_;  // of the file when last read
  std::unique_ptr<sys::FolderWatch> watch_;
  TimerId settle_ = TimerId::kNone;
  TimerId retry_ = TimerId::kNone;
};

}  // namespace kgpu::agent
