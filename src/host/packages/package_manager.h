// Installs and removes packages of a host through its package manager.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::packages {

// The suffix of changed configuration files that rpm puts aside. dpkg leaves them in place.
inline constexpr std::string_view kPutAside = ".rpmsave";

// What an installation would change, according to the manager's own dry run.
struct Foreseen {
  // Packages that would be installed, replaced or removed: names without versions.
  std::set<std::string> names;
  // Those that were removed earlier and left their configuration, which belongs to somebody.
  std::set<std::string> configured;
  bool operator==(const Foreseen&) const = default;

  // Whether a package of Installed() is among them. True for signing keys: no dry run lists
  // them.
  bool Has(std::string_view key, std::string_view version) const;
};

// One host's packages. The root and the runner given to FindPackageManager must outlive it. Thread:
// one at a time; a call blocks until the package manager is done, which takes many minutes if a
// module is built.
class PackageManager {
 public:
  virtual ~PackageManager() = default;

  // Everything that is installed, completely or half: name to version. The names are what Remove
  // takes: packages of a foreign architecture have that after a colon, rpm kernels their version
  // after a minus, so that a name stays the same if another package comes beside it. Errors: as
  // sys::ProgramRunner, FailedPrecondition (the list is unavailable).
  virtual StatusOr<std::map<std::string, std::string>> Installed() = 0;
  // Those that are not fully installed, because a script failed or a run was killed. Only dpkg
  // reports them. Errors: as Installed.
  virtual StatusOr<std::set<std::string>> Unfinished() = 0;

  // What Install of the same names would change, apart from what others change meanwhile. Changes
  // nothing, except that it finishes what a killed run left. Errors: as Install.
  virtual StatusOr<Foreseen> Foresee(const std::vector<std::string>& names) = 0;

  // Installs all of `names` (names, "name=version" with a name and version of Installed(), paths on
  // the host, URLs) with their dependencies; installed packages stay as they are unless their
  // version is named. First finishes what a killed run left half-done; leaves what cannot be
  // finished and is not requested. After a failure, removes what was installed; the error names
  // what could not be removed. Errors: FailedPrecondition (the manager's own reason), Unavailable
  // (another one holds its lock), DeadlineExceeded, InvalidArgument (a name that the manager would
  // take for an option).
  virtual Status Install(const std::vector<std::string>& names) = 0;

  // Removes exactly these, with their configuration; skips those that are not installed. Errors: as
  // Install; FailedPrecondition also if other packages depend on them: it names those, and removes
  // nothing.
  virtual Status Remove(const std::vector<std::string>& names) = 0;

  // What else would be removed, or installed, if these were removed; ignores packages that are not
  // installed. Changes nothing. Errors: as Install.
  virtual StatusOr<std::vector<std::string>> GoWith(const std::vector<std::string>& names) = 0;
  // Their changed configuration files, which TakeOff renames, in place, by appending kPutAside to
  // their names. Errors: as Install.
  virtual StatusOr<std::vector<std::string>> ChangedConfigs(
      const std::vector<std::string>& names) = 0;
  // As Remove, but keeps their configuration for a later reinstallation.
  virtual Status TakeOff(const std::vector<std::string>& names) = 0;
};

// The package manager of the host below `host`: apt, dnf, yum or zypper. Errors: NotFound (it has
// none of them).
StatusOr<std::unique_ptr<PackageManager>> FindPackageManager(const sys::Root& host,
                                                             sys::ProgramRunner& runner);

}  // namespace kgpu::packages
