// The output of a function's handlers, as conmon writes it for every container.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/provider/container_command.h"
#include "src/functions/replicas/log_lines.h"
#include "src/functions/service/function_provider.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/inotify.h"

namespace kgpu::functions {

// "2026-01-31T12:00:00.123456789+01:00 stdout F text": F ends a line, after P it is continued by
// the next one of its stream. Lines that read otherwise are skipped: the last one may still be
// being written.
std::vector<LogLine> ParseLogLines(std::string_view text);

// The lines of all replicas of a function, in the order of time; at most 16 MiB, the newest.
std::string ReadLogs(const ProviderFolders& folders, const std::string& function,
                     const LogRequest& request);

// The last lines that the handler of a replica has printed, at most `lines` and 2 KiB, without the
// watchdog's own: why it did not start, for people. May be empty.
std::string LastLines(const ProviderFolders& folders, const std::string& function,
                      const std::string& replica, size_t lines);

// Keeps the logs of the replicas that ended last.
void PruneLogs(const ProviderFolders& folders, const std::string& function);
void RemoveLogs(const ProviderFolders& folders, const std::string& function);

// Passes on the lines that are written from now on. Lives on the loop's thread; destroying it ends
// it.
class LogFollower final : public LogReader {
 public:
  // `write` gives false when nobody reads any more; then `ended` is called, once, and may destroy
  // this. Errors: those of watching a folder.
  static StatusOr<std::unique_ptr<LogReader>> Start(EventLoop& loop, const ProviderFolders& folders,
                                                    const std::string& function,
                                                    std::function<bool(std::string_view)> write,
                                                    std::function<void()> ended);

  // Of how many logs it remembers the position.
  size_t positions() const { return positions_.size(); }

 private:
  struct Position {
    uint64_t inode = 0;
    size_t offset = 0;
  };
  LogFollower(std::string folder, std::function<bool(std::string_view)> write,
              std::function<void()> ended);
  void GoToEnd();
  void OnChange();
  std::string TakeNew();

  const std::string folder_;
  const std::function<bool(std::string_view)> write_;
  std::function<void()> ended_;
  std::map<std::string, Position> positions_;
  std::unique_ptr<sys::Inotify> watch_;
};

}  // namespace kgpu::functions
