// Amazon Linux: packages of NVIDIA's repository.
#include <fmt/format.h>

#include "src/setup/driver/dnf_steps.h"
#include "src/setup/driver/nvidia_repository.h"
#include "src/setup/driver/pages.h"

namespace kgpu::driver {

Status AddAmazonSteps(Planning& planning) {
  if (planning.choice.source != SourceKind::kNvidia || planning.facts.distribution.major < 2023) {
    return Unimplemented("--source {} is not served on {}: take NVIDIA's installer, FILE.run",
                         ToString(planning.choice.source), planning.facts.distribution.name);
  }
  planning.traits.page = pages::kAmazon;
  planning.traits.has_fabric_manager = HasFabric(planning.facts);
  AddDnfRepository(planning, pages::kAmazon);
  AddDnfHeaders(planning, pages::kAmazon);
  AddModuleStream(planning,
                  fmt::format("{}-{}", planning.choice.branch(),
                              planning.choice.kind == ModuleKind::kOpen ? "open" : "dkms"),
                  pages::kAmazon);
  AddMigration(planning);
  AddStep(planning.plan, "packages", "install the driver", pages::kAmazon,
          InstallPackages{DnfPackages(planning)});
  return OkStatus();
}

}  // namespace kgpu::driver
