#include "src/cli/node/node_levels.h"

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver_install/journal.h"

namespace kgpu::cli {

StatusOr<bringup::Levels> DriverLevels(const sys::Root& host, const std::string& install) {
  ASSIGN_OR_RETURN(const auto journal, driver_install::ReadJournal(host));
  if (!journal) {
    return bringup::Levels{};
  }
  bringup::Levels levels;
  levels.names.push_back(fmt::format("{}", journal->began));
  levels.top = fmt::format("driver {} with the {} modules", Printable(journal->plan.version, 40),
                           driver::ToString(journal->plan.kind));
  levels.is_whole = journal->phase == driver_install::Phase::kInstalled;
  levels.by_hand = fmt::format(
      "run {} to install the requested driver or to see how to fix it, then run kgpu node up",
      Printable(install));
  return levels;
}

}  // namespace kgpu::cli
