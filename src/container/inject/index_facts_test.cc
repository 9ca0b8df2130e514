#include "src/container/inject/index_facts.h"

#include <gtest/gtest.h>

namespace kgpu::inject {
namespace {

TEST(IndexFactsTest, RequirementsAreHeldAgainstTheVisibleDevices) {
  InjectionIndex index;
  index.driver_version = "535.104.05";
  index.cuda_version = "12.2";
  index.devices.resize(2);
  index.devices[0].names = {"0", "GPU-x"};
  index.devices[0].compute_capability = "9.0";
  index.devices[1].names = {"1:0", "MIG-x"};
  index.devices[1].is_mig = true;
  index.devices[1].compute_capability = "8.0";
  index.devices[1].brand = "nvidia";
  const cuda::HostFacts facts = FactsFor(index, {&index.devices[1]});
  EXPECT_EQ(cuda::CheckRequirement("cuda>=12.2,driver<536,brand=nvidia", facts).outcome,
            cuda::Outcome::kSatisfied);
  EXPECT_EQ(cuda::CheckRequirement("arch>=9.0", facts).reason,
            "image requires arch>=9.0; MIG device 1:0 has compute capability 8.0 and brand nvidia; "
            "use another GPU, or another image");
}

}  // namespace
}  // namespace kgpu::inject
