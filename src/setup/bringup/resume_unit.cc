#include "src/setup/bringup/resume_unit.h"

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/unit_text.h"
#include "src/setup/bringup/record.h"

namespace kgpu::bringup {
namespace {

constexpr std::string_view kWantedBy =
    "/etc/systemd/system/multi-user.target.wants/kgpu-node-up.service";
constexpr std::string_view kTarget = "../kgpu-node-up.service";

}  // namespace

std::string ResumeUnitText(const std::vector<std::string>& command) {
  return sys::Print({.remark = "Written by kgpu node up, which removes it when it is done.",
                     .description = "kgpu: go on with bringing this GPU node up",
                     .after = "kgpu-driver-resume.service",
                     .condition = std::string(kRecordFile),
                     .command = command});
}

// systemd reads both at the next boot: it need not be told.
Status PutResumeUnit(engine::Disk& disk, const sys::Root& host,
                     const std::vector<std::string>& command) {
  for (const char* folder : {"/etc", "/etc/systemd", "/etc/systemd/system",
                             "/etc/systemd/system/multi-user.target.wants"}) {
    RETURN_IF_ERROR(disk.MakeFolder(folder));
  }
  RETURN_IF_ERROR(disk.Write(std::string(kResumeUnit), ResumeUnitText(command), 0644));
  return host.LinkStat(kWantedBy).ok() ? OkStatus()
                                       : disk.Link(std::string(kWantedBy), std::string(kTarget));
}

Status RemoveResumeUnit(engine::Disk& disk) {
  RETURN_IF_ERROR(disk.Remove(std::string(kWantedBy)));
  RETURN_IF_ERROR(disk.Remove(std::string(kResumeUnit)));
  return disk.Tidy(std::string(kResumeUnit));
}

}  // namespace kgpu::bringup
