#include "src/container/inject/book_facts.h"

#include <gtest/gtest.h>

namespace kgpu::inject {
namespace {

TEST(BookFactsTest, RequirementsAreHeldAgainstTheVisibleDevices) {
  Book book;
  book.driver_version = "535.104.05";
  book.cuda_version = "12.2";
  book.devices.resize(2);
  book.devices[0].names = {"0", "GPU-x"};
  book.devices[0].compute_capability = "9.0";
  book.devices[1].names = {"1:0", "MIG-x"};
  book.devices[1].is_mig = true;
  book.devices[1].compute_capability = "8.0";
  book.devices[1].brand = "nvidia";
  const cuda::HostFacts facts = FactsFor(book, {&book.devices[1]});
  EXPECT_EQ(cuda::CheckRequirement("cuda>=12.2,driver<536,brand=nvidia", facts).outcome,
            cuda::Outcome::kSatisfied);
  EXPECT_EQ(cuda::CheckRequirement("arch>=9.0", facts).reason,
            "image needs arch>=9.0; MIG device 1:0 has compute capability 8.0 and brand nvidia; "
            "use another GPU, or another image");
}

}  // namespace
}  // namespace kgpu::inject
