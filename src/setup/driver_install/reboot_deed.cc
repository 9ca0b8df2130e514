// A restart of the host: asked for, never done here, and known to be done by the kernel's boot id.
#include "src/container/engine/find.h"
#include "src/host/inspect/enrolled_keys.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/unit_text.h"
#include "src/setup/driver_install/deeds.h"

namespace kgpu::driver_install {
namespace {

constexpr std::string_view kUnit = "/etc/systemd/system/kgpu-driver-resume.service";
constexpr std::string_view kWanted =
    "/etc/systemd/system/multi-user.target.wants/kgpu-driver-resume.service";
constexpr std::string_view kWantedTarget = "../kgpu-driver-resume.service";

// The unit of `kgpu node up`, which goes on with the driver as its first stage.
constexpr std::string_view kNodeUnit = "/etc/systemd/system/kgpu-node-up.service";

std::string UnitText(const std::vector<std::string>& command) {
  return sys::Print(
      {.remark = "Written by kgpu; goes away by itself when the driver is installed or taken back.",
       .description = "Go on with installing NVIDIA's driver",
       .after = "",
       .condition = std::string(kJournalFile),
       .unless = std::string(kNodeUnit),
       .command = command});
}

// Where one can go on.
Status PutResumeUnit(Work& work) {
  if (work.options().resume_command.empty() || !engine::HasSystemd(work.host())) {
    return OkStatus();
  }
  work.outcome().resumes_itself = true;
  engine::Disk& disk = work.hands().disk;
  for (const std::string& folder : work.record().folders) {
    RETURN_IF_ERROR(disk.MakeFolder(folder));
  }
  RETURN_IF_ERROR(disk.Write(std::string(kUnit), UnitText(work.options().resume_command), 0644));
  if (work.host().LinkStat(kWanted).ok()) {
    return OkStatus();
  }
  return disk.Link(std::string(kWanted), std::string(kWantedTarget));
}

}  // namespace

std::string BootId(const sys::Root& host) {
  const auto text = host.ReadFile("/proc/sys/kernel/random/boot_id");
  return text.ok() ? std::string(Trim(*text)) : "";
}

Status LookBeforeReboot(Work& work) {
  work.record().boot_id = BootId(work.host());
  if (work.record().boot_id.empty()) {
    return FailedPrecondition(
        "{}: can not be read, and without it a restart of the host is not seen",
        work.host().At("/proc/sys/kernel/random/boot_id"));
  }
  LookBeforeUnit(work);
  return OkStatus();
}

void LookBeforeUnit(Work& work) {
  work.record().folders = MissingFolders(work.host(), std::string(kWanted));
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
    work.Note(
        fmt::format("{} is in no list that the firmware shows, and trusted all the same as "
                    "--trust-key says",
                    ask.key));
    return Next::kGoOn;
  }
  work.outcome().text = ask.text;
  if (is_answered.has_value()) {  // else nobody could go on but the person
    RETURN_IF_ERROR(PutResumeUnit(work));
    work.outcome().text +=
        " Where the kernel trusts the key otherwise: kgpu driver install "
        "--trust-key";
  }
  return Next::kPerson;
}

Status UndoUnit(Work& work) {
  RETURN_IF_ERROR(RemoveResumeUnit(work.hands()));
  const auto& folders = work.record().folders;
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    RETURN_IF_ERROR(work.hands().disk.RemoveFolder(*folder));
  }
  return OkStatus();
}

StatusOr<Next> DoReboot(Work& work, const driver::Reboot& reboot) {
  if (BootId(work.host()) != work.record().boot_id) {
    return Next::kGoOn;
  }
  RETURN_IF_ERROR(PutResumeUnit(work));
  work.outcome().text = fmt::format("restart the host: {}", reboot.reason);
  return Next::kReboot;
}

Status RemoveResumeUnit(const Hands& hands) {
  RETURN_IF_ERROR(hands.disk.Remove(std::string(kWanted)));
  RETURN_IF_ERROR(hands.disk.Remove(std::string(kUnit)));
  return hands.disk.Tidy(std::string(kUnit));
}

}  // namespace kgpu::driver_install
