#include "src/cli/driver/driver_container.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "src/cli/base/options.h"
#include "src/cli/driver/driver_host.h"
#include "src/host/facts/kernel_facts.h"
#include "src/host/facts/os_release.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/report/print.h"
#include "src/setup/driver/common_steps.h"
#include "src/setup/driver/view.h"
#include "src/setup/driver_install/container_headers.h"
#include "src/setup/driver_install/container_install.h"

namespace kgpu::cli {
namespace {

using driver_install::ContainerOutcome;
using driver_install::ContainerResult;
using driver_install::Journal;
using driver_install::Phase;

// The container's own root, in which the driver is installed before it is copied.
class Inner {
 public:
  Inner(DriverOptions request, DriverHost& own, const sys::Root& host)
      : request_(std::move(request)), own_(own), host_(host) {}

  // Errors: FailedPrecondition (something blocks the plan, or a step failed).
  Status Install();
  // What Install would do; changes nothing. Errors: as PlanFor, and Install's as far as planned.
  StatusOr<DriverPlan> Preview() const;

 private:
  StatusOr<DriverPlan> Plan(bool has_headers) const;
  StatusOr<driver_install::Outcome> Begin();
  Status CheckSame(const Journal& journal) const;
  driver_install::Dependencies Dependencies();
  void TakeSecureBoot(driver::HostFacts& facts) const;

  DriverOptions request_;
  DriverHost& own_;
  const sys::Root& host_;
  // Units and modules are the host's, and no part of this root.
  driver_install::Options options_{
      .keeps = false, .forces = false, .is_running_system = false, .resume_command = {}};
};

// All is looked at once it is in its place: here nothing is loaded yet.
driver_install::Dependencies Inner::Dependencies() {
  driver_install::Dependencies deps = own_.deps();
  deps.verify = [](const driver::Verify&) { return driver::Verified{}; };
  return deps;
}

// The first branch whose installer can load nothing.
constexpr unsigned kFirstThatLoadsNothing = 550;

// Others load the modules to see whether they go: into the host's kernel, before it knows of their
// firmware and parameters.
Status CheckFile(const driver::DriverFile& file) {
  const bool is_run =
      file.kind == driver::FileKind::kDriverRun || file.kind == driver::FileKind::kCudaRun;
  const bool loads_nothing =
      file.kind == driver::FileKind::kDriverRun &&
      ParseUint(file.version.substr(0, file.version.find('.'))).value_or(0) >=
          kFirstThatLoadsNothing;
  return !is_run || loads_nothing ? OkStatus()
                                  : FailedPrecondition(
                                        "--source: {}: --container needs packages or the driver's "
                                        "own installer of branch {} or later: this installer loads "
                                        "the modules into the host's kernel while it builds them",
                                        file.path, kFirstThatLoadsNothing);
}

// A container has its own root, and so no journal; one that is started again may have one.
Status Inner::CheckSame(const Journal& journal) const {
  ASSIGN_OR_RETURN(const driver::Request request, DriverRequestOf(request_));
  const bool is_same =
      journal.plan.kernel == request_.kernel &&
      (request.version.empty() || driver::IsVersion(journal.plan.version, request.version) ||
       driver::IsVersion(request.version, journal.plan.version));
  return is_same ? OkStatus()
                 : FailedPrecondition(
                       "{}: driver {} for kernel {} is installed here, but another one was "
                       "requested: start with a fresh container",
                       own_.root().host.path(), journal.plan.version, journal.plan.kernel);
}

// Engines hide /sys/firmware from containers; what the host trusts is seen below its own root only.
void Inner::TakeSecureBoot(driver::HostFacts& facts) const {
  std::vector<std::string> skipped;
  host::Sight sight(host_, skipped);
  const host::KernelFacts seen = host::ReadKernelFacts(sight, own_.runner());
  facts.host.kernel.secure_boot = seen.secure_boot;
  facts.host.kernel.is_signature_enforced = seen.is_signature_enforced;
}

// `has_headers`: of the kernel, the host's.
StatusOr<DriverPlan> Inner::Plan(bool has_headers) const {
  DriverOptions request = request_;
  request.has_headers = has_headers;
  ASSIGN_OR_RETURN(driver::HostFacts facts, DriverFactsOf(request, own_.root(), own_.runner()));
  if (facts.file) {
    RETURN_IF_ERROR(CheckFile(*facts.file));
  }
  TakeSecureBoot(facts);
  ASSIGN_OR_RETURN(DriverPlan made, PlanFor(std::move(facts), request, own_.root(), own_.runner()));
  if (driver::HasFabric(made.facts)) {
    return FailedPrecondition(
        "GPUs connected by NVSwitches need a running fabric manager, and an init container ends: "
        "install on the host (kgpu driver install)");
  }
  return made;
}

// With a root other than / none of the host's folders are visible.
StatusOr<DriverPlan> Inner::Preview() const {
  const sys::Root& root = own_.root().host;
  const bool has_headers =
      root.path() == "/" && driver_install::CanLinkHeaders(host_, root, request_.kernel);
  ASSIGN_OR_RETURN(DriverPlan made, Plan(has_headers));
  made.plan.notes.push_back(
      fmt::format("from the container's own root: its files are then copied to {} on the host, and "
                  "its modules are loaded from there",
                  driver_install::kDriverFolder));
  return made;
}

StatusOr<driver_install::Outcome> Inner::Begin() {
  const sys::Root& root = own_.root().host;
  change::HostDisk disk(root, sys::Durability::kMemory);
  bool has_headers = false;
  if (root.path() == "/") {
    ASSIGN_OR_RETURN(has_headers, driver_install::LinkHeaders(host_, root, disk, request_.kernel));
  }
  ASSIGN_OR_RETURN(const DriverPlan made, Plan(has_headers));
  if (report::HasError(made.findings)) {
    return FailedPrecondition("in the container:\n{}", Trim(report::FindingsText(made.findings)));
  }
  return driver_install::CarryOut(made.plan, options_, Dependencies());
}

Status Inner::Install() {
  const driver_install::Dependencies deps = Dependencies();
  ASSIGN_OR_RETURN(const UniqueFd lock, driver_install::LockHost(deps));
  ASSIGN_OR_RETURN(auto journal, driver_install::ReadJournal(own_.root().host));
  if (journal && journal->phase == Phase::kGoingBack) {
    RETURN_IF_ERROR(driver_install::Resume(options_, deps).status());
    journal.reset();
  }
  if (journal) {
    RETURN_IF_ERROR(CheckSame(*journal));
  }
  const auto outcome = journal ? driver_install::Resume(options_, deps) : Begin();
  own_.progress().Clear();
  RETURN_IF_ERROR(outcome.status());
  if (outcome->result == driver_install::Result::kDone) {
    return OkStatus();
  }
  return FailedPrecondition(
      "a container cannot wait for a manual step: {}\n"
      "use modules signed with a key that the firmware trusts (--source precompiled, or the "
      "packages of Ubuntu or SUSE), or install on the host",
      outcome->text);
}

// Everything that decides what is built, as a text to compare.
std::string ConfigText(const DriverOptions& request, const sys::Root& container) {
  std::string text = fmt::format("cuda={} version={} branch={} module={} source={} gpu={}",
                                 request.cuda, request.version, request.branch, request.module_kind,
                                 request.source, request.gpu);
  if (const auto file = container.Stat(request.source);
      driver::IsFile(request.source) && file.ok()) {
    fmt::format_to(std::back_inserter(text), " bytes={} changed={}", file->st_size,
                   file->st_mtim.tv_sec);
  }
  const std::string release = host::ReadOsRelease(container).value_or("");
  for (const std::string_view line : Split(release, '\n')) {
    if (line.starts_with("ID=") || line.starts_with("VERSION_ID=")) {
      fmt::format_to(std::back_inserter(text), " {}", line);
    }
  }
  return text;
}

std::string_view ToString(ContainerResult result) {
  switch (result) {
    case ContainerResult::kHostHasOwn:
      return "host-has-own";
    case ContainerResult::kWasThere:
      return "was-there";
    case ContainerResult::kInstalled:
      return "installed";
    case ContainerResult::kWaits:
      return "waits";
  }
  return "";
}

std::string TextOf(const ContainerOutcome& outcome, const std::string& folder) {
  if (outcome.result == ContainerResult::kHostHasOwn) {
    return fmt::format("the host has its own driver, {}: nothing to do\n", outcome.version);
  }
  if (outcome.result == ContainerResult::kWaits) {
    return fmt::format("{}\n", outcome.text);
  }
  std::string text;
  for (const std::string& passed : outcome.passed) {
    fmt::format_to(std::back_inserter(text), "{}\n", passed);
  }
  fmt::format_to(std::back_inserter(text), "driver {} {} {}\n", outcome.version,
                 outcome.result == ContainerResult::kWasThere ? "was built before and is in"
                                                              : "is installed in",
                 folder);
  return text;
}

Status ReportContainer(const ContainerOutcome& outcome, const std::string& folder,
                       OutputFormat format) {
  if (format != OutputFormat::kTable) {
    const boost::json::object json{{"result", std::string(ToString(outcome.result))},
                                   {"version", outcome.version},
                                   {"folder", folder},
                                   {"waitsFor", outcome.text},
                                   {"passed", doc::Texts(outcome.passed)},
                                   {"notes", doc::Texts(outcome.notes)}};
    return PrintOut(Render(json, format));
  }
  PrintNotes(outcome.notes, "note: ");
  return PrintOut(TextOf(outcome, folder));
}

// Whether a kernel runs this root: else it is a folder that somebody made, and its /proc plain
// files, if any.
bool HasKernel(const sys::Root& host) {
  struct statfs info = {};
  return statfs(host.At("/proc").c_str(), &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

// Verifies the driver as the host will have it: its files in the folder, all else the host's.
driver::Verified VerifyFolder(const driver::Verify& request, const sys::Root& host,
                              sys::ProgramRunner& runner) {
  const std::string folder(driver_install::kDriverFolder);
  const auto root = HasKernel(host) ? host::OpenDriverRoot(host.path(), folder, "")
                                    : host::OpenDriverRoot(host.At(folder), "", "");
  if (root.ok()) {
    return driver::VerifyDriver(request, {}, *root, runner);
  }
  driver::Verified seen;
  seen.failed.emplace_back(Message(root.status()));
  return seen;
}

Status CheckContainerFlags(const DriverOptions& request, const ContainerOptions& options) {
  if (request.host_root.empty() || request.host_root == options.container_root) {
    return InvalidArgument(
        "--host-root: missing with --container: set it to the folder where the host's files are "
        "mounted, e.g. /host");
  }
  if (!options.container_root.starts_with('/')) {
    return InvalidArgument("--container-root: \"{}\" is not an absolute path",
                           Printable(options.container_root, 60));
  }
  if (!options.driver_dir.starts_with('/')) {
    return InvalidArgument("--driver-dir: \"{}\" must be an absolute path on the host",
                           Printable(options.driver_dir, 60));
  }
  if (request.has_display || !request.toolkit_image.empty()) {
    return InvalidArgument("--container: cannot be combined with --display or --driver-toolkit");
  }
  return request.kernel.empty() ? OkStatus()
                                : InvalidArgument(
                                      "--kernel: cannot be combined with --container, which loads "
                                      "the modules into the running kernel");
}

}  // namespace

void AddContainerFlags(CLI::App& command, ContainerOptions& options) {
  const std::string group = "In a container";
  CLI::Option* container = command
                               .add_flag("--container", options.is_container,
                                         "Install in this container, copy the driver to the host "
                                         "below --host-root and load it there")
                               ->group(group);
  AddValue(command, "--driver-dir", options.driver_dir, "DIR",
           "Path on the host where other programs expect the driver; becomes a link to "
           "/var/lib/kgpu/driver-root")
      ->group(group)
      ->needs(container);
  AddValue(command, "--container-root", options.container_root, "DIR",
           "Folder to install the driver in before it is copied")
      ->group(group)
      ->needs(container);
}

StatusOr<ExitCode> RunInContainer(const DriverOptions& request, const ContainerOptions& options,
                                  OutputFormat format) {
  RETURN_IF_ERROR(CheckContainerFlags(request, options));
  ASSIGN_OR_RETURN(const std::unique_ptr<DriverHost> host, DriverHost::Open(request));
  const sys::Root& root = host->root().host;
  ASSIGN_OR_RETURN(const std::string release, root.ReadFile("/proc/sys/kernel/osrelease"));
  DriverOptions inside = request;
  inside.host_root = options.container_root;
  inside.kernel = Trim(release);
  if (const auto container = sys::Root::Open(options.container_root); !container.ok()) {
    return Annotate(container.status(), "--container-root");
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<DriverHost> own, DriverHost::Open(inside));

  driver_install::Dependencies deps = host->deps();
  deps.verify = [&](const driver::Verify& what) {
    return VerifyFolder(what, root, host->runner());
  };
  Inner inner(inside, *own, root);
  driver_install::HostTrees trees(root);
  const driver_install::ContainerRequest whole{.kernel = inside.kernel,
                                               .config = ConfigText(request, own->root().host),
                                               .driver_dir = options.driver_dir};
  const auto install = [&inner] { return inner.Install(); };
  const driver_install::ContainerDependencies all{.host = deps,
                                                  .container = own->root().host,
                                                  .trees = trees,
                                                  .install = install,
                                                  .is_running_system = HasKernel(root)};
  if (options.is_dry_run) {
    ASSIGN_OR_RETURN(const auto found, driver_install::LookFromContainer(whole, all));
    if (found) {
      return OkOr(ReportContainer(*found, options.driver_dir, format));
    }
    ASSIGN_OR_RETURN(const DriverPlan made, inner.Preview());
    return PrintDriverPlan(made, format);
  }
  ASSIGN_OR_RETURN(const UniqueFd lock, driver_install::LockHost(deps));
  const auto outcome = driver_install::InstallFromContainer(whole, all);
  host->progress().Clear();
  RETURN_IF_ERROR(outcome.status());
  RETURN_IF_ERROR(ReportContainer(*outcome, options.driver_dir, format));
  return outcome->result == ContainerResult::kWaits ? ExitCode::kWaits : ExitCode::kOk;
}

}  // namespace kgpu::cli
