#include "src/node/injection/injector.h"

#include <utility>

#include "src/container/inject/build_specs.h"
#include "src/container/inject/companion_specs.h"
#include "src/container/inject/host_parts.h"
#include "src/container/inject/index_file.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/report/print.h"

namespace kgpu::injection {
namespace {

cdi::PublisherOptions OptionsFor(const std::string& folder) {
  cdi::PublisherOptions options;
  options.folder = folder;
  options.fleeting_kinds = inject::CompanionKinds();
  // /run is empty after a boot: waiting for a disk would only keep the loop from its work.
  if (folder.starts_with("/run/") || folder.starts_with("/var/run/")) {
    options.durability = sys::Durability::kMemory;
  }
  return options;
}

bool InjectsAlike(const device::Gpu& a, const device::Gpu& b) {
  if (a.uuid != b.uuid || a.index != b.index || a.minor != b.minor || a.pci != b.pci ||
      a.mig_mode != b.mig_mode || a.mig_devices.size() != b.mig_devices.size()) {
    return false;
  }
  for (size_t i = 0; i < a.mig_devices.size(); ++i) {
    device::MigDevice one = a.mig_devices[i];
    one.health = b.mig_devices[i].health;
    if (one != b.mig_devices[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool InjectsAlike(const device::Snapshot& a, const device::Snapshot& b) {
  if (a.driver != b.driver || a.companions != b.companions || a.gpus.size() != b.gpus.size()) {
    return false;
  }
  for (size_t i = 0; i < a.gpus.size(); ++i) {
    if (!InjectsAlike(a.gpus[i], b.gpus[i])) {
      return false;
    }
  }
  return true;
}

StatusOr<std::unique_ptr<Injector>> Injector::Create(const host::DriverRoot& root,
                                                     const Clock& clock, std::string cdi_folder) {
  ASSIGN_OR_RETURN(sys::Root engine, sys::Root::Open(root.engine_root));
  return std::unique_ptr<Injector>(
      new Injector(root, clock, std::move(engine), std::move(cdi_folder)));
}

Injector::Injector(const host::DriverRoot& root, const Clock& clock, sys::Root engine,
                   std::string cdi_folder)
    : root_(root),
      engine_(std::move(engine)),
      cdi_folder_(std::move(cdi_folder)),
      publisher_(root.host, engine_, clock, OptionsFor(cdi_folder_)) {
}

Injection Injector::Update(const device::Snapshot& snapshot, inject::CapabilitySet capabilities) {
  Injection injection;
  injection.cdi_kind = std::string(inject::kOwnKind);
  inject::CompanionSpecs companions = inject::BuildCompanionSpecs(snapshot, root_);
  inject::HostPlan host;
  if (!snapshot.gpus.empty()) {
    auto parts = inject::FindHostParts(root_, snapshot);
    if (!parts.ok()) {
      injection.plan_status = parts.status();
      injection.cdi = parts.status();
      // The parts that do not depend on the driver's files are still valid.
      companions.notes.emplace_back(Message(parts.status()));
      (void)Publish(companions.specs, std::move(companions.notes));
      return injection;
    }
    host = inject::PlanHost(snapshot, *parts);
  }
  // A silent driver says nothing about the GPUs: containers that have them may be started again.
  const bool is_known =
      !snapshot.gpus.empty() || snapshot.driver.state == device::DriverState::kReady;
  inject::InjectionPlan plan = inject::PlanFor(host, capabilities);
  std::vector<cdi::Spec> specs = {inject::ToSpec(plan, inject::kOwnKind),
                                  inject::ToSpec(plan, inject::kNvidiaKind)};
  specs.insert(specs.end(), companions.specs.begin(), companions.specs.end());
  std::vector<std::string> notes = is_known ? WriteIndex(host.index) : std::vector<std::string>();
  notes.insert(notes.end(), plan.notes.begin(), plan.notes.end());
  notes.insert(notes.end(), companions.notes.begin(), companions.notes.end());
  injection.cdi = Publish(specs, std::move(notes));
  injection.plan = std::make_shared<const inject::InjectionPlan>(std::move(plan));
  return injection;
}

std::vector<std::string> Injector::WriteIndex(const inject::InjectionIndex& index) const {
  const StatusOr<bool> is_new = inject::WriteIndex(root_.host, index);
  if (!is_new.ok()) {
    return {
        fmt::format("kgpu-runtime still uses its previous devices: {}", Message(is_new.status()))};
  }
  if (*is_new) {
    KGPU_LOG(kInfo, "injection index written", {"file", root_.host.At(inject::kInjectionIndexPath)},
             {"devices", index.devices.size()});
  }
  return {};
}

Status Injector::Publish(const std::vector<cdi::Spec>& specs, std::vector<std::string> notes) {
  auto report = publisher_.Publish(specs);
  if (!report.ok()) {
    notes.emplace_back(Message(report.status()));
    LogChanges(notes);
    return report.status();
  }
  for (const std::string& path : report->written) {
    KGPU_LOG(kInfo, "CDI spec written", {"file", root_.host.At(path)});
  }
  for (const std::string& path : report->removed) {
    KGPU_LOG(kInfo, "CDI spec removed", {"file", root_.host.At(path)});
  }
  notes.insert(notes.end(), report->notes.begin(), report->notes.end());
  for (const report::Finding& finding : report->findings) {
    notes.push_back(report::LineOf(finding));
  }
  LogChanges(notes);
  return OkStatus();
}

void Injector::LogChanges(const std::vector<std::string>& notes) {
  if (notes == notes_) {
    return;
  }
  for (const std::string& note : notes) {
    KGPU_LOG(kWarning, "injection", {"note", note});
  }
  notes_ = notes;
}

}  // namespace kgpu::injection
