// A restart of the host: asked for, never done here, and known to be done by the kernel's boot id.
#include "src/host/change/boot_unit.h"
#include "src/host/change/folders.h"
#include "src/host/inspect/enrolled_keys.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/systemctl.h"
#include "src/platform/sys/unit_text.h"
#include "src/setup/driver_install/actions.h"

namespace kgpu::driver_install {
namespace {

constexpr std::string_view kUnit = "kgpu-driver-resume.service";

// The unit of `kgpu node up`, which continues with the driver as its first stage.
constexpr std::string_view kNodeUnit = "/etc/systemd/system/kgpu-node-up.service";

std::string UnitText(const std::vector<std::string>& command) {
  return sys::Print(
      {.remark =
           "Written by kgpu; removed when the driver is installed or its installation undone.",
       .description = "Continue installing the NVIDIA driver",
       .after = "",
       .condition = std::string(kJournalFile),
       .unless = std::string(kNodeUnit),
       .command = command});
}

// If a unit can continue on this host.
Status PutResumeUnit(Work& work) {
  if (work.options().resume_command.empty() || !sys::HasSystemd(work.host())) {
    return OkStatus();
  }
  work.outcome().resumes_itself = true;
  return change::PutBootUnit(work.host(), work.deps().disk, kUnit,
                             UnitText(work.options().resume_command));
}

}  // namespace

std::string BootId(const sys::Root& host) {
  const auto text = host.ReadFile("/proc/sys/kernel/random/boot_id");
  return text.ok() ? std::string(Trim(*text)) : "";
}

Status LookBeforeReboot(Work& work) {
  work.record().boot_id = BootId(work.host());
  if (work.record().boot_id.empty()) {
    return FailedPrecondition("{}: unreadable, so a reboot cannot be detected",
                              work.host().At("/proc/sys/kernel/random/boot_id"));
  }
  LookBeforeUnit(work);
  return OkStatus();
}

void LookBeforeUnit(Work& work) {
  work.record().folders = change::MissingFolders(work.host(), change::BootUnitLink(kUnit));
}

std::optional<bool> IsAnswered(const sys::Root& host, const driver::AskPerson& ask) {
  return ask.key.empty() ? std::nullopt : host::IsKeyEnrolled(host, ask.key);
}

StatusOr<Next> DoAsk(Work& work, const driver::AskPerson& ask) {
  const std::optional<bool> is_answered = IsAnswered(work.host(), ask);
  if (is_answered.value_or(false)) {
    return Next::kGoOn;
  }
  const Options& options = work.options();
  if (options.trusts_key && !options.is_unattended && !ask.key.empty()) {
    work.Note(fmt::format("{} is not in the firmware's lists, but trusted because of --trust-key",
                          ask.key));
    return Next::kGoOn;
  }
  work.outcome().text = ask.text;
  if (is_answered.has_value()) {  // else only the user can continue
    RETURN_IF_ERROR(PutResumeUnit(work));
    work.outcome().text +=
        " If the kernel trusts the key by other means: kgpu driver install --trust-key";
  }
  return Next::kPerson;
}

Status UndoUnit(Work& work) {
  RETURN_IF_ERROR(RemoveResumeUnit(work.deps()));
  return change::RemoveFolders(work.deps().disk, work.record().folders);
}

StatusOr<Next> DoReboot(Work& work, const driver::Reboot& reboot) {
  if (BootId(work.host()) != work.record().boot_id) {
    return Next::kGoOn;
  }
  RETURN_IF_ERROR(PutResumeUnit(work));
  work.outcome().text = fmt::format("restart the host: {}", reboot.reason);
  return Next::kReboot;
}

Status RemoveResumeUnit(const Dependencies& deps) {
  return change::RemoveBootUnit(deps.disk, kUnit);
}

}  // namespace kgpu::driver_install
