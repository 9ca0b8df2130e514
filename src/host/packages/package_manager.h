// Packages of a host, put on and taken off by the package manager it has.
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

// How the name of a changed file of the configuration ends that rpm puts aside. dpkg leaves it.
inline constexpr std::string_view kPutAside = ".rpmsave";

// What an installation would change, as the manager's own trial of it tells.
struct Foreseen {
  // Packages that would come, be replaced or go: by their names without versions.
  std::set<std::string> names;
  // Those of them that were removed before and left their configuration, which is somebody's.
  std::set<std::string> configured;
  bool operator==(const Foreseen&) const = default;

  // Whether a package of Installed() is one of them. Keys that packages are signed with are: no
  // trial tells of them.
  bool Has(std::string_view key, std::string_view version) const;
};

// One host's packages. Owned by who makes it; the root and the runner given to the maker outlive
// it. Thread: one at a time; a call blocks until the package manager is done, which with a module
// to build is many minutes.
class PackageManager {
 public:
  virtual ~PackageManager() = default;

  // Everything installed, wholly or half: name to version. A name tells what Remove takes: packages
  // of another architecture than the host's have it behind a colon, kernels of rpm their version
  // behind a minus, so that a name stays what it is when another comes beside it.
  // Errors: as of sys::ProgramRunner, FailedPrecondition (the list cannot be had).
  virtual StatusOr<std::map<std::string, std::string>> Installed() = 0;
  // Those of them that are not whole, as a script of theirs failed or a run was cut off. Only dpkg
  // tells such. Errors: as Installed.
  virtual StatusOr<std::set<std::string>> Unfinished() = 0;

  // What Install of the same names would change; what others bring meanwhile is not among it. Only
  // what a killed run left half-done is finished for it. Errors: as Install.
  virtual StatusOr<Foreseen> Foresee(const std::vector<std::string>& names) = 0;

  // Installs all of `names` (names, "name=version" of a name and a version
  // of Installed(), too, paths of the host, URLs) and what they need;
  // those that are there stay as they are, but for one whose version is named. What a killed run
  // left half-done is finished first; what cannot be and is not asked for stays as it was. When it
  // goes wrong, what came is taken off again; what could not be, the error names. Errors:
  // FailedPrecondition (the manager's own reason), Unavailable (another one has its lock),
  // DeadlineExceeded, InvalidArgument (a name that the manager would take for an option).
  virtual Status Install(const std::vector<std::string>& names) = 0;

  // Removes exactly these, with their configuration; those that are not there are passed over.
  // Errors: as Install; FailedPrecondition also when others would go with them, naming them:
  // nothing is removed then.
  virtual Status Remove(const std::vector<std::string>& names) = 0;

  // What else would go, or come, if these were removed; what is not there goes with nothing.
  // Changes nothing. Errors: as Install.
  virtual StatusOr<std::vector<std::string>> GoWith(const std::vector<std::string>& names) = 0;
  // Files of their configuration that somebody changed and that TakeOff puts aside, beside where
  // they stood, with kPutAside behind their names. Errors: as Install.
  virtual StatusOr<std::vector<std::string>> ChangedConfigs(
      const std::vector<std::string>& names) = 0;
  // As Remove, but their configuration stays, for when they come back.
  virtual Status TakeOff(const std::vector<std::string>& names) = 0;
  // Fetches the packages that these were installed from, in the versions they have, into `folder`,
  // which is there and empty. Errors: FailedPrecondition (one is not installed, or not available in
  // that version any more), as Install.
  virtual Status Keep(const std::vector<std::string>& names, const std::string& folder) = 0;
  // Installs what Keep brought into `folder`, all in one call, also in the place of newer versions.
  // Errors: as Install; what came stays when it goes wrong.
  virtual Status PutBack(const std::string& folder) = 0;
};

// The package manager of the host below `host`: apt, dnf, yum or zypper. Errors: NotFound (it has
// none of them).
StatusOr<std::unique_ptr<PackageManager>> FindPackageManager(const sys::Root& host,
                                                             sys::ProgramRunner& runner);

}  // namespace kgpu::packages
