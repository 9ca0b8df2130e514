#include "src/functions/watchdog/memory_kills.h"

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/base/strings.h"

namespace kgpu::watchdog {

uint64_t ParseMemoryKills(std::string_view text) {
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() == 2 && words[0] == "oom_kill") {
      return ParseUint(words[1]).value_or(0);
    }
  }
  return 0;
}

uint64_t MemoryKills(const sys::Root& root) {
  for (const char* path :
       {"sys/fs/cgroup/memory.events", "sys/fs/cgroup/memory/memory.oom_control"}) {
    if (const StatusOr<std::string> text = root.ReadFile(path); text.ok()) {
      return ParseMemoryKills(*text);
    }
  }
  return 0;
}

}  // namespace kgpu::watchdog
