// The whole way from a host to the text of its CDI file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "src/container/cdi/check.h"
#include "src/container/cdi/spec_text.h"
#include "src/container/inject/build_specs.h"
#include "src/container/inject/test_snapshot.h"
#include "testing/golden.h"
#include "testing/status_matchers.h"
#include "testing/test_host.h"

namespace kgpu::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CdiGoldenTest : public ::testing::Test {
 protected:
  void AddNodes(unsigned gpus) {
    if (!host_.AddNodes(gpus)) {
      GTEST_SKIP() << "making device nodes is not permitted here";
    }
  }

  SpecSet Build(const device::Snapshot& snapshot,
                CapabilitySet capabilities = kDefaultCapabilities) {
    auto root = host::OpenDriverRoot(host_.path(), "", "");
    EXPECT_OK(root);
    SpecOptions options;
    options.capabilities = capabilities;
    auto set = BuildSpecs(snapshot, *root, options);
    EXPECT_OK(set);
    return *std::move(set);
  }

  void Expect(const SpecSet& set, std::string_view name) {
    EXPECT_THAT(set.notes, IsEmpty());
    const auto engine = sys::Root::Open(host_.path());
    ASSERT_OK(engine);
    EXPECT_THAT(cdi::CheckSpec(set.specs.at(0), *engine), IsEmpty());
    ExpectGolden(fmt::format("src/container/inject/testdata/{}.yaml", name),
                 cdi::PrintSpec(set.specs.at(0), doc::Format::kYaml));
  }

  TestHost host_;
};

TEST_F(CdiGoldenTest, EightGpusOnDebian) {
  host_.InstallDebian();
  ASSERT_NO_FATAL_FAILURE(AddNodes(8));
  if (!IsSkipped()) {
    Expect(Build(TestSnapshot(8)), "8xA100-debian");
  }
}

TEST_F(CdiGoldenTest, MigDevicesOnDebian) {
  host_.InstallDebian();
  ASSERT_NO_FATAL_FAILURE(AddNodes(8));
  if (IsSkipped()) {
    return;
  }
  device::Snapshot snapshot = TestSnapshot(8);
  for (unsigned i = 0; i < 8; ++i) {
    AddTestMig(snapshot, i, 2);
    for (unsigned cap = 10 * i + 1; cap <= 10 * i + 4; ++cap) {
      ASSERT_TRUE(host_.AddCapNode(cap));
    }
  }
  Expect(Build(snapshot), "8xA100-mig-debian");
}

TEST_F(CdiGoldenTest, EverythingOnRhel) {
  host_.InstallRhel();
  ASSERT_NO_FATAL_FAILURE(AddNodes(1));
  if (!IsSkipped()) {
    Expect(Build(TestSnapshot(1), kAllCapabilities), "1xA100-rhel-all");
  }
}

TEST_F(CdiGoldenTest, UbuntuOnAarch64) {
  host_.InstallUbuntuAarch64();
  ASSERT_NO_FATAL_FAILURE(AddNodes(1));
  if (!IsSkipped()) {
    Expect(Build(TestSnapshot(1)), "1xGH200-ubuntu-aarch64");
  }
}

TEST_F(CdiGoldenTest, NoGpus) {
  device::Snapshot snapshot = TestSnapshot(0);
  snapshot.driver.reason = "No NVIDIA kernel module is loaded.";
  const SpecSet set = Build(snapshot);
  EXPECT_THAT(set.notes, ElementsAre(HasSubstr("No NVIDIA kernel module")));
  ExpectGolden("src/container/inject/testdata/none.yaml",
               cdi::PrintSpec(set.specs.at(0), doc::Format::kYaml));
}

}  // namespace
}  // namespace kgpu::inject
