// The node's configuration, read again whenever its file changes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "src/node/config/node_config.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/sys/folder_watch.h"

namespace kgpu::agent {

using ConfigPtr = std::shared_ptr<const config::NodeConfig>;

// Lives on the loop's thread. A bad new file leaves the old configuration whole and is reported.
class ConfigSource {
 public:
  // `path` empty: the defaults, for ever. `must_exist`: whether a file that is not there means "not
  // known yet" (it was asked for by name) or the defaults. `changed` is called on the loop after
  // config() or problem() has changed. `loop` outlives the source.
  ConfigSource(EventLoop& loop, std::string path, bool must_exist, std::function<void()> changed);
  ~ConfigSource();
  ConfigSource(const ConfigSource&) = delete;
  ConfigSource& operator=(const ConfigSource&) = delete;

  // Null while no good configuration has been seen: hand out no device then.
  const ConfigPtr& config() const { return config_; }
  // Why the file is not what config() says, with the fix; empty when it is.
  const std::string& problem() const { return problem_; }
  // The file that was read, or was asked for by name; empty while the defaults stand.
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
  std::string text_;  // of the file at the last reading
  std::unique_ptr<sys::FolderWatch> watch_;
  TimerId settle_ = TimerId::kNone;
  TimerId retry_ = TimerId::kNone;
};

}  // namespace kgpu::agent
