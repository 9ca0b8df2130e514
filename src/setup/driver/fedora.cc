// Fedora: packages of NVIDIA's repository, without streams.
#include "src/setup/driver/dnf_steps.h"
#include "src/setup/driver/nvidia_repository.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {

Status AddFedoraSteps(Planning& planning) {
  if (planning.choice.source != SourceKind::kNvidia) {
    return Unimplemented("--source {} is not served on {}: take nvidia",
                         ToString(planning.choice.source), planning.facts.distribution.name);
  }
  planning.traits.page = pages::kFedora;
  planning.traits.has_fabric_manager = HasFabric(planning.facts);
  AddDnfRepository(planning, pages::kFedora);
  AddDnfHeaders(planning, pages::kFedora);
  AddMigration(planning);
  AddVersionLock(planning);  // after it: what is locked out can not be fetched to be kept, either
  AddStep(planning.plan, "packages", "install the driver", pages::kFedora,
          InstallPackages{DnfPackages(planning)});
  return OkStatus();
}

}  // namespace kgpu::driver
