#include "src/setup/driver_install/container_install.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "src/host/inspect/driver_files.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/fields.h"
#include "src/platform/doc/json_texts.h"
#include "src/setup/driver_install/container_modules.h"
#include "src/setup/driver_install/journal.h"

namespace kgpu::driver_install {
namespace {

constexpr int kFormat = 1;
// In the order of driver::ModuleKind.
constexpr std::array<std::string_view, 2> kKinds = {"open", "proprietary"};
// The license of the open modules; that of the others is "NVIDIA".
constexpr std::string_view kOpenLicense = "Dual MIT/GPL";

// Files that the driver does not need to run: sources, build tools, caches, texts. And files that
// are not the container's.
const std::vector<std::string>& LeftOut() {
  static const std::vector<std::string> paths = {"/boot",          "/dev",
                                                 "/mnt",           "/proc",
                                                 "/run",           "/sys",
                                                 "/tmp",           "/usr/bin/dkms",
                                                 "/usr/include",   "/usr/lib/gcc",
                                                 "/usr/sbin/dkms", "/usr/src",
                                                 "/usr/share/doc", "/usr/share/locale",
                                                 "/usr/share/man", "/var/cache",
                                                 "/var/lib/apt",   "/var/lib/dkms",
                                                 "/var/lib/kgpu",  "/var/log",
                                                 "/var/tmp"};
  return paths;
}

std::string StampPath(std::string_view folder) {
  return fmt::format("{}/{}", folder, kStampFile);
}

// Nothing if there is no readable stamp: then the folder is made again.
std::optional<Stamp> ReadStamp(const sys::Root& host, std::string_view folder) {
  const std::string path = StampPath(folder);
  const auto text = host.ReadFile(path);
  if (!text.ok()) {
    return std::nullopt;
  }
  StatusOr<Stamp> stamp = ParseStamp(*text, host.At(path));
  return stamp.ok() ? std::optional(*std::move(stamp)) : std::nullopt;
}

bool Fits(const Stamp& stamp, const ContainerRequest& request) {
  return stamp.config == request.config &&
         std::ranges::find(stamp.kernels, request.kernel) != stamp.kernels.end();
}

// One installation. Lives for one call.
class Installing {
 public:
  Installing(const ContainerRequest& request, const ContainerDependencies& deps)
      : request_(request), deps_(deps), host_(deps.host.host) {}

  StatusOr<ContainerOutcome> Run();
  StatusOr<std::optional<ContainerOutcome>> Look();

 private:
  StatusOr<bool> HasOwnDriver();
  Status CheckLoaded() const;
  StatusOr<Stamp> LookAtInstalled() const;
  Status KeepLastKernel(Stamp& stamp);
  Status RemoveStaging();
  std::optional<Stamp> FindWhole(const std::string& folder) const;
  StatusOr<Stamp> StageAgain();
  StatusOr<Stamp> Prepare(bool& is_there);
  StatusOr<bool> IsWayClear(const Stamp& stamp);
  Status Finish();

  const ContainerRequest& request_;
  const ContainerDependencies& deps_;
  const sys::Root& host_;
  const std::string folder_{kDriverFolder};
  const std::string staging_{kStagingFolder};
  ContainerOutcome outcome_;
};

StatusOr<bool> Installing::HasOwnDriver() {
  const std::vector<std::string> versions = host::FindDriverVersions(host_);
  ASSIGN_OR_RETURN(const auto journal, ReadJournal(host_));
  if (journal && journal->phase != Phase::kInstalled) {
    return FailedPrecondition(
        "{}: driver {} is {} on the host itself: there, resume it with kgpu driver install or undo "
        "it with kgpu driver rollback",
        host_.At(kJournalFile), journal->plan.version, ToString(journal->phase));
  }
  outcome_.version = journal ? journal->plan.version : Join(versions, ", ");
  return journal || !versions.empty();
}

// A driver that runs and is in none of our folders is somebody else's.
Status Installing::CheckLoaded() const {
  const std::string loaded = LoadedVersion(host_);
  const auto is_of = [&](const std::string& folder) {
    const std::optional<Stamp> stamp = ReadStamp(host_, folder);
    return stamp && stamp->version == loaded;
  };
  if (loaded.empty() || is_of(folder_) || is_of(staging_)) {
    return OkStatus();
  }
  return FailedPrecondition(
      "driver {} is loaded, and kgpu did not load it: stop its source (a driver container), or "
      "restart the host",
      loaded);
}

// The driver in the container's root, as the host will have it.
StatusOr<Stamp> Installing::LookAtInstalled() const {
  const std::vector<std::string> versions = host::FindDriverVersions(deps_.container);
  if (versions.size() != 1) {
    return FailedPrecondition("{}: must contain libraries of one driver, has {}",
                              deps_.container.path(),
                              versions.empty() ? "none" : Join(versions, ", "));
  }
  const auto modules = FindModules(deps_.container, request_.kernel);
  const auto module = modules.find("nvidia");
  if (module == modules.end()) {
    return FailedPrecondition(
        "{}: no module nvidia for kernel {}: the image's packages must include the headers of that "
        "kernel",
        deps_.container.At("lib/modules"), request_.kernel);
  }
  ASSIGN_OR_RETURN(const driver::ModuleInfo info,
                   AskModule(deps_, deps_.container, module->second));
  if (info.version != versions.front()) {
    return FailedPrecondition("{}: has driver {}, but the libraries have {}", module->second,
                              info.version, versions.front());
  }
  return Stamp{.kernels = {request_.kernel},
               .version = info.version,
               .kind = info.license == kOpenLicense ? driver::ModuleKind::kOpen
                                                    : driver::ModuleKind::kProprietary,
               .config = request_.config};
}

// A user who boots the previous kernel again finds its modules.
Status Installing::KeepLastKernel(Stamp& stamp) {
  const std::optional<Stamp> last = ReadStamp(host_, folder_);
  if (!last || last->version != stamp.version || last->kind != stamp.kind ||
      last->kernels.front() == request_.kernel) {
    return OkStatus();
  }
  const std::string& kernel = last->kernels.front();
  ASSIGN_OR_RETURN(const sys::Root from, sys::Root::Open(host_.At(folder_)));
  ASSIGN_OR_RETURN(const sys::Root to, sys::Root::Open(host_.At(staging_)));
  ASSIGN_OR_RETURN(const std::string modules, to.Resolve("/lib/modules"));
  const std::string place = fmt::format("{}/{}", modules, kernel);
  if (to.LinkStat(place).ok()) {
    return OkStatus();  // the image's own
  }
  ASSIGN_OR_RETURN(const std::string old, from.Resolve(fmt::format("/lib/modules/{}", kernel)));
  ASSIGN_OR_RETURN(const sys::Root tree, sys::Root::Open(from.At(old)));
  RETURN_IF_ERROR(deps_.trees.Copy(tree, {}, staging_ + place));
  stamp.kernels.push_back(kernel);
  return OkStatus();
}

// The stamp first: what is left of the folder by a power cut is not to be taken for a whole one.
Status Installing::RemoveStaging() {
  RETURN_IF_ERROR(deps_.trees.CheckUnmounted(staging_));
  if (host_.LinkStat(StampPath(staging_)).ok()) {
    RETURN_IF_ERROR(deps_.host.disk.Remove(StampPath(staging_)));
  }
  return deps_.trees.Remove(staging_);
}

// A whole copy in the staging folder.
StatusOr<Stamp> Installing::StageAgain() {
  RETURN_IF_ERROR(RemoveStaging());
  RETURN_IF_ERROR(deps_.install());
  ASSIGN_OR_RETURN(Stamp stamp, LookAtInstalled());
  Status copied = deps_.trees.Copy(deps_.container, LeftOut(), staging_);
  if (copied.ok()) {
    copied = KeepLastKernel(stamp);
  }
  if (copied.ok()) {
    copied = deps_.host.disk.Write(StampPath(staging_), PrintStamp(stamp), 0644);
  }
  if (!copied.ok()) {
    // A disk that is full is not to stay so by us. The first error is the one to report.
    [[maybe_unused]] const Status removed = RemoveStaging();
    return copied;
  }
  return stamp;
}

// The stamp of `folder` if it has the wanted driver with its modules and libraries: a user may have
// deleted some.
std::optional<Stamp> Installing::FindWhole(const std::string& folder) const {
  std::optional<Stamp> stamp = ReadStamp(host_, folder);
  if (!stamp || !Fits(*stamp, request_)) {
    return std::nullopt;
  }
  const auto tree = sys::Root::Open(host_.At(folder));
  const bool is_whole = tree.ok() && FindModules(*tree, request_.kernel).contains("nvidia") &&
                        host::FindDriverVersions(*tree) == std::vector{stamp->version};
  return is_whole ? stamp : std::nullopt;
}

// The driver to run: already in its place, or in the staging folder, where an earlier run may have
// left it because it could not move it to its place.
StatusOr<Stamp> Installing::Prepare(bool& is_there) {
  if (std::optional<Stamp> stamp = FindWhole(folder_)) {
    is_there = true;
    return *std::move(stamp);
  }
  is_there = false;
  RETURN_IF_ERROR(deps_.trees.CheckUnmounted(folder_));  // it is removed in the end
  if (std::optional<Stamp> stamp = FindWhole(staging_)) {
    return *std::move(stamp);
  }
  return StageAgain();
}

// Called before libraries of another version replace those that belong to the module.
StatusOr<bool> Installing::IsWayClear(const Stamp& stamp) {
  outcome_.version = stamp.version;
  if (!deps_.is_running_system) {
    return true;
  }
  ASSIGN_OR_RETURN(outcome_.text, UnloadOthers(deps_, stamp.version, stamp.kind, request_.kernel));
  if (!outcome_.text.empty()) {
    outcome_.result = ContainerResult::kWaits;
  }
  return outcome_.text.empty();
}

Status Installing::Finish() {
  RETURN_IF_ERROR(RemoveStaging());
  if (request_.driver_dir != folder_) {
    RETURN_IF_ERROR(deps_.trees.PointTo(request_.driver_dir, folder_));
  }
  if (deps_.is_running_system) {
    RETURN_IF_ERROR(LoadFrom(deps_, folder_, request_.kernel, outcome_.notes));
  }
  driver::Verified seen =
      deps_.host.verify({.version = outcome_.version, .kernel = request_.kernel});
  outcome_.passed = std::move(seen.passed);
  for (const std::string& skipped : seen.skipped) {
    outcome_.notes.push_back(fmt::format("not checked: {}", skipped));
  }
  return seen.failed.empty() ? OkStatus() : FailedPrecondition("{}", Join(seen.failed, "; "));
}

StatusOr<ContainerOutcome> Installing::Run() {
  ASSIGN_OR_RETURN(const bool has_own, HasOwnDriver());
  if (has_own) {
    outcome_.result = ContainerResult::kHostHasOwn;
    return std::move(outcome_);
  }
  RETURN_IF_ERROR(CheckLoaded());
  bool is_there = false;
  ASSIGN_OR_RETURN(const Stamp stamp, Prepare(is_there));
  outcome_.result = is_there ? ContainerResult::kWasThere : ContainerResult::kInstalled;
  ASSIGN_OR_RETURN(const bool is_clear, IsWayClear(stamp));
  if (!is_clear) {
    return std::move(outcome_);
  }
  if (!is_there) {
    RETURN_IF_ERROR(deps_.trees.Put(staging_, folder_));
  }
  RETURN_IF_ERROR(Finish());
  return std::move(outcome_);
}

StatusOr<std::optional<ContainerOutcome>> Installing::Look() {
  ASSIGN_OR_RETURN(const bool has_own, HasOwnDriver());
  if (has_own) {
    outcome_.result = ContainerResult::kHostHasOwn;
    return std::optional(std::move(outcome_));
  }
  RETURN_IF_ERROR(CheckLoaded());
  for (const std::string& folder : {folder_, staging_}) {
    if (const std::optional<Stamp> stamp = FindWhole(folder)) {
      outcome_.result = ContainerResult::kWasThere;
      outcome_.version = stamp->version;
      return std::optional(std::move(outcome_));
    }
  }
  return std::optional<ContainerOutcome>();
}

}  // namespace

std::string PrintStamp(const Stamp& stamp) {
  return doc::Print(boost::json::object{{"format", kFormat},
                                        {"kernels", doc::Texts(stamp.kernels)},
                                        {"version", doc::View(stamp.version)},
                                        {"kind", doc::View(driver::ToString(stamp.kind))},
                                        {"config", doc::View(stamp.config)}},
                    doc::Format::kJson);
}

StatusOr<Stamp> ParseStamp(std::string_view text, std::string_view file) {
  ASSIGN_OR_RETURN(const boost::json::value tree, doc::Parse(text, doc::Format::kJson, file));
  doc::Fields fields(tree, std::string(file));
  if (fields.Number("format") != kFormat) {
    fields.Fail("format", fmt::format("must be {}", kFormat));
  }
  Stamp stamp;
  stamp.kernels = fields.Texts("kernels");
  if (stamp.kernels.empty()) {
    fields.Fail("kernels", "must name one");
  }
  stamp.version = fields.Text("version");
  stamp.kind = static_cast<driver::ModuleKind>(fields.Word("kind", kKinds));
  stamp.config = fields.Text("config");
  RETURN_IF_ERROR(fields.status());
  return stamp;
}

StatusOr<ContainerOutcome> InstallFromContainer(const ContainerRequest& request,
                                                const ContainerDependencies& deps) {
  Installing installing(request, deps);
  return installing.Run();
}

StatusOr<std::optional<ContainerOutcome>> LookFromContainer(const ContainerRequest& request,
                                                            const ContainerDependencies& deps) {
  Installing installing(request, deps);
  return installing.Look();
}

}  // namespace kgpu::driver_install
