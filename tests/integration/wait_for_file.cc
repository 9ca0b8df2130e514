#include "tests/integration/wait_for_file.h"

#include <memory>

#include "src/platform/base/event_loop.h"
#include "src/platform/sys/folder_watch.h"

namespace kgpu::integration {
namespace {

constexpr std::chrono::milliseconds kTick{50};

}  // namespace

bool WaitInFolder(const std::string& folder, const std::function<bool()>& condition,
                  std::chrono::milliseconds limit) {
  const std::unique_ptr<EpollLoop> loop = EpollLoop::Create().value();
  bool is_met = false;
  const auto look = [&] {
    if (!is_met && condition()) {
      is_met = true;
      loop->Quit();
    }
  };
  const auto watch = sys::FolderWatch::Create(*loop, folder, look);
  const std::function<void()> tick = [&] {
    look();
    loop->After(kTick, tick);
  };
  loop->After(limit, [&] { loop->Quit(); });
  loop->Post(tick);
  loop->Run();
  return is_met;
}

}  // namespace kgpu::integration
