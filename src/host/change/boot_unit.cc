#include "src/host/change/boot_unit.h"

#include <fmt/format.h>

#include "src/host/change/folders.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::change {
namespace {

std::string BootUnitPath(std::string_view name) {
  return fmt::format("/etc/systemd/system/{}", name);
}

}  // namespace

std::string BootUnitLink(std::string_view name) {
  return BootUnitPath(fmt::format("multi-user.target.wants/{}", name));
}

Status PutBootUnit(const sys::Root& host, Disk& disk, std::string_view name,
                   std::string_view text) {
  const std::string link = BootUnitLink(name);
  RETURN_IF_ERROR(MakeFoldersAbove(disk, link));
  RETURN_IF_ERROR(disk.Write(BootUnitPath(name), text, 0644));
  return host.LinkStat(link).ok() ? OkStatus() : disk.Link(link, fmt::format("../{}", name));
}

Status RemoveBootUnit(Disk& disk, std::string_view name) {
  RETURN_IF_ERROR(disk.Remove(BootUnitLink(name)));
  RETURN_IF_ERROR(disk.Remove(BootUnitPath(name)));
  return disk.Tidy(BootUnitPath(name));
}

}  // namespace kgpu::change
