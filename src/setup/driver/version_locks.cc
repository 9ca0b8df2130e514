// The driver's packages stay on their branch by dnf's locks, and an admin's own locks stay theirs.
#include <fnmatch.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "src/platform/base/strings.h"
#include "src/setup/driver/dnf_steps.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {
namespace {

// An entry of dnf 5's file of locks: of packages of that name only versions from `least` to before
// `end` are available, or those that another entry of the name allows.
std::string LockEntry(std::string_view name, const std::string& least, const std::string& end) {
  std::string text = fmt::format("\n[[packages]]\nname = \"{}\"\ncomment = \"by kgpu\"\n", name);
  const auto add = [&text](std::string_view comparator, const std::string& version) {
    if (!version.empty()) {
      fmt::format_to(std::back_inserter(text),
                     "[[packages.conditions]]\nkey = \"evr\"\ncomparator = \"{}\"\nvalue = "
                     "\"{}\"\n",
                     comparator, version);
    }
  };
  add(">=", least);
  add("<", end);
  return text;
}

// As a file, whose text the undo restores: dnf 5 itself resolves patterns to the present packages,
// and removes none of these when it gets the pattern again. The driver's packages have the epoch 3;
// packages that only have NVIDIA's name have none and stay free. Source: dnf5-versionlock(8),
// "Configuration".
void AddLockFile(Planning& planning) {
  const Choice& choice = planning.choice;
  std::string locks =
      LockEntry("*nvidia*", fmt::format("3:{}", choice.version), fmt::format("3:{}", choice.end()));
  locks += LockEntry("*nvidia*", "", "3:0");
  if (HasNvLink5(planning.facts) && planning.facts.arch == "x86_64") {
    locks += LockEntry("libnvsdm*", choice.version, choice.end());
    locks += LockEntry("libnvsdm*", fmt::format("3:{}", choice.version),
                       fmt::format("3:{}", choice.end()));
  }
  const std::string& here = planning.facts.version_locks;
  if (here.find(locks) != std::string::npos) {
    return;
  }
  AddStep(planning.plan, "branch", "pin this branch", pages::kVersionLock,
          WriteFile{"/etc/dnf/versionlock.toml",
                    fmt::format("{}{}", here.empty() ? "version = \"1.0\"\n" : here, locks), 0644});
}

bool Matches(const std::string& entry, const std::string& pattern) {
  return fnmatch(pattern.c_str(), entry.c_str(), 0) == 0;
}

// dnf 4 adds nothing for a pattern that an entry of its list already matches, and its delete
// removes that entry, whoever added it.
void LeaveTheirs(Planning& planning, std::vector<std::string>& patterns) {
  for (const std::string& entry : planning.facts.locked_versions) {
    const auto is_held = [&entry](const std::string& pattern) { return Matches(entry, pattern); };
    if (std::erase_if(patterns, is_held) > 0) {
      planning.plan.notes.push_back(fmt::format(
          "already locked versions stay locked: {} (dnf versionlock list)", Printable(entry)));
    }
  }
}

}  // namespace

void AddVersionLock(Planning& planning) {
  if (HasDnf5(planning.facts)) {
    AddLockFile(planning);
    return;
  }
  std::vector<std::string> patterns = {fmt::format("*nvidia*{}*", planning.choice.version)};
  if (HasNvLink5(planning.facts) && planning.facts.arch == "x86_64") {
    patterns.push_back(fmt::format("libnvsdm*{}*", planning.choice.version));
  }
  LeaveTheirs(planning, patterns);
  if (patterns.empty()) {
    return;
  }
  AddStep(planning.plan, "lock-tool", "install the version lock plugin", pages::kVersionLock,
          InstallPackages{{"python3-dnf-plugin-versionlock"}});
  const std::string dnf = Dnf(planning.facts);
  AddCommand(planning.plan, "branch", "pin this branch", pages::kVersionLock,
             Concat({dnf, "versionlock", "add"}, patterns),
             Concat({dnf, "versionlock", "delete"}, patterns));
}

}  // namespace kgpu::driver
