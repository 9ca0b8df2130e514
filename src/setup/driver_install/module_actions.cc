// Modules of the kernel that are loaded and unloaded.
#include <algorithm>
#include <iterator>
#include <set>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/setup/driver_install/actions.h"

namespace kgpu::driver_install {
namespace {

// The kernel writes "_" where people may write "-".
std::string KernelName(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

StatusOr<std::set<std::string>> Loaded(const sys::Root& host) {
  ASSIGN_OR_RETURN(const std::string text, host.ReadFile("/proc/modules"));
  std::set<std::string> names;
  for (const std::string_view line : Split(text, '\n')) {
    names.emplace(line.substr(0, line.find(' ')));
  }
  return names;
}

// Those of `names` that are in the kernel, or are not.
Status NoteModules(Work& work, const std::vector<std::string>& names, bool are_loaded) {
  ASSIGN_OR_RETURN(const std::set<std::string> loaded, Loaded(work.host()));
  std::ranges::copy_if(
      names, std::back_inserter(work.record().modules),
      [&](const std::string& name) { return loaded.contains(KernelName(name)) == are_loaded; });
  return OkStatus();
}

// A module of another version than the one on the disk is in the kernel: one that was in use, or
// the old one where the new one's files could not go.
void NoteOtherVersion(Work& work) {
  const auto loaded = work.host().ReadFile("/sys/module/nvidia/version");
  const std::string on_disk = work.AnswerOfTool("modinfo", {"-F", "version", "nvidia"});
  if (loaded.ok() && !on_disk.empty() && Trim(*loaded) != on_disk) {
    work.Note(fmt::format("module nvidia {} is loaded, but {} is installed: restart the host",
                          Printable(Trim(*loaded), 40), Printable(on_disk, 40)));
  }
}

}  // namespace

Status LookBeforeLoad(Work& work, const driver::LoadModules& load) {
  return NoteModules(work, load.names, false);
}

Status DoLoad(Work& work, const driver::LoadModules& load) {
  for (const std::string& name : load.names) {
    RETURN_IF_ERROR(work.RunTool("modprobe", {name}));
  }
  return OkStatus();
}

Status UndoLoad(Work& work) {
  ASSIGN_OR_RETURN(const std::set<std::string> loaded, Loaded(work.host()));
  const std::vector<std::string>& names = work.record().modules;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!loaded.contains(KernelName(*name))) {
      continue;
    }
    if (const Status gone = work.RunTool("rmmod", {KernelName(*name)}); !gone.ok()) {
      work.Note(
          fmt::format("module {} stays loaded until the host reboots: {}", *name, Message(gone)));
    }
  }
  return OkStatus();
}

Status LookBeforeUnload(Work& work, const driver::UnloadModules& unload) {
  return NoteModules(work, unload.names, true);
}

Status DoUnload(Work& work) {
  ASSIGN_OR_RETURN(const std::set<std::string> loaded, Loaded(work.host()));
  for (const std::string& name : work.record().modules) {
    if (loaded.contains(KernelName(name))) {
      RETURN_IF_ERROR(work.RunTool("rmmod", {KernelName(name)}));
    }
  }
  return OkStatus();
}

Status UndoUnload(Work& work) {
  const std::vector<std::string>& names = work.record().modules;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (const Status back = work.RunTool("modprobe", {*name}); !back.ok()) {
      work.Note(fmt::format("module {} was loaded before and cannot be loaded again: {}", *name,
                            Message(back)));
    }
  }
  if (std::ranges::find(names, "nvidia") != names.end()) {
    NoteOtherVersion(work);
  }
  return OkStatus();
}

}  // namespace kgpu::driver_install
