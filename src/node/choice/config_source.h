// The node's configuration: the agent's own file, or the one of the mounted ConfigMaps that the
// node's labels choose. Read again whenever a file or a label changes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/node/choice/choice.h"
#include "src/node/choice/report.h"
#include "src/node/choice/saved_choice.h"
#include "src/node/config/node_config.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"
#include "src/platform/sys/folder_watch.h"

namespace kgpu::choice {

using ConfigPtr = std::shared_ptr<const config::NodeConfig>;

struct ConfigSourceOptions {
  // The default configuration; the ConfigMaps are mounted beside it, as configs/ and policy/.
  // Empty: always the built-in one.
  std::string file{};
  // Whether a missing file means "not known yet" (it was named explicitly) or the built-in one.
  bool must_exist = false;
  // Where the choice survives a restart of the agent; empty: nowhere.
  std::string saved{};
};

// Lives on the loop's thread. What is invalid or unknown is reported, and the old configuration
// stays.
class ConfigSource {
 public:
  // Calls `changed` on the loop after config() or report() has changed. `loop` must outlive the
  // source.
  ConfigSource(EventLoop& loop, ConfigSourceOptions options, std::function<void()> changed);
  ConfigSource(const ConfigSource&) = delete;
  ConfigSource& operator=(const ConfigSource&) = delete;

  // Null until there has been a valid configuration: allocate no device until then. At the first
  // start of a boot, that is until the labels are known, or for 10 s, if a ConfigMap has a
  // configuration.
  const ConfigPtr& config() const { return config_; }
  const choice::Report& report() const { return report_; }
  // What is wrong with the configuration that should run, with the fix; empty: nothing.
  const std::string& problem() const { return report_.problem; }
  // The file of config(), else the one that should be; empty while the built-in configuration runs.
  const std::string& path() const { return config_ ? report_.file : options_.file; }

  // The node's labels, which choose among the ConfigMaps' configurations.
  void SetLabels(const choice::Labels& labels);
  // Whether they are known, from an earlier start of this boot at least.
  bool has_labels() const { return labels_.has_value(); }
  // Reads everything now (SIGHUP).
  void Reload();
  // For the end: see sys::Inotify::RemoveWatches.
  void StopWatching();

 private:
  void Watch();
  void WatchFolders();
  void ReloadSoon();
  void Recall();
  void Save();
  // Whether something changed.
  bool Read();
  bool Wait();
  StatusOr<choice::Choice> Choose();
  StatusOr<choice::Choice> ReadDefault() const;
  StatusOr<choice::ReadConfig> Parse(const choice::Choice& choice) const;
  void Apply(const choice::Choice& choice, choice::ReadConfig read);
  void Reject(const Status& status);

  EventLoop& loop_;
  const ConfigSourceOptions options_;
  std::function<void()> changed_;
  choice::Folders folders_;
  std::optional<choice::Labels> labels_;
  bool had_labels_ = false;  // when last read
  bool is_patience_over_ = false;
  ConfigPtr config_;
  std::optional<choice::Choice> applied_;  // that config_ is made of; nothing: recalled
  choice::Report report_;
  std::string saved_;  // as last written
  std::unique_ptr<sys::FolderWatch> watch_;
  std::unique_ptr<sys::FolderWatch> policy_watch_;
  std::unique_ptr<sys::FolderWatch> configs_watch_;
  Timer settle_{loop_};
  Timer retry_{loop_};
  Timer patience_{loop_};
};

}  // namespace kgpu::choice
