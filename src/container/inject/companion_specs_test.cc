#include "src/container/inject/companion_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/container/cdi/spec_text.h"
#include "testing/golden.h"
#include "testing/temp_dir.h"

namespace kgpu::inject {
namespace {

using device::Companion;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CompanionSpecsTest : public ::testing::Test {
 protected:
  CompanionSpecs Build() const {
    const auto root = host::OpenDriverRoot(dir_.path(), driver_root_, "");
    return BuildCompanionSpecs(snapshot_, *root);
  }
  cdi::Spec SpecOf(std::string_view kind) const {
    const CompanionSpecs set = Build();
    const auto found = std::ranges::find(set.specs, kind, &cdi::Spec::kind);
    return found == set.specs.end() ? cdi::Spec() : *found;
  }
  void AddChannels(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      snapshot_.companions.push_back({Companion::kImexChannel, i,
                                      fmt::format("/dev/nvidia-caps-imex-channels/channel{}", i),
                                      508, i});
    }
  }

  TempDir dir_;
  std::string driver_root_;
  device::Snapshot snapshot_;
};

TEST_F(CompanionSpecsTest, EveryKindIsThereAndEmptyWithoutANode) {
  const CompanionSpecs set = Build();
  std::vector<std::string> kinds;
  for (const cdi::Spec& spec : set.specs) {
    kinds.push_back(spec.kind);
  }
  EXPECT_EQ(kinds, CompanionKinds());
  EXPECT_THAT(kinds, ElementsAre("kgpu.dev/imex-channel", "nvidia.com/imex-channel", "kgpu.dev/gds",
                                 "nvidia.com/gds", "kgpu.dev/gdrcopy", "nvidia.com/gdrcopy",
                                 "kgpu.dev/mofed", "nvidia.com/mofed"));
  EXPECT_THAT(set.specs, Each(Field(&cdi::Spec::devices, IsEmpty())));
}

TEST_F(CompanionSpecsTest, GoldenText) {
  AddChannels(2);
  snapshot_.companions.push_back({Companion::kGds, 0, "/dev/nvidia-fs0", 507, 0});
  snapshot_.companions.push_back({Companion::kGds, 1, "/dev/nvidia-fs1", 507, 1});
  snapshot_.companions.push_back({Companion::kGdrcopy, 0, "/dev/gdrdrv", 506, 0});
  snapshot_.companions.push_back({Companion::kMofed, 0, "/dev/infiniband/rdma_cm", 10, 58});
  snapshot_.companions.push_back({Companion::kMofed, 0, "/dev/infiniband/uverbs0", 231, 192});
  dir_.MakeDir("run/udev/data");
  dir_.Symlink("alternatives/cufile.json", "etc/cufile.json");
  dir_.WriteFile("etc/alternatives/cufile.json", "{}");
  std::string text;
  for (const cdi::Spec& spec : Build().specs) {
    if (spec.kind.starts_with("kgpu.dev/")) {
      text += cdi::PrintSpec(spec, doc::Format::kYaml);
      text += "---\n";
    }
  }
  ExpectGolden("src/container/inject/testdata/companions.yaml", text);
}

TEST_F(CompanionSpecsTest, NvidiasKindsHoldTheSame) {
  AddChannels(3);
  EXPECT_EQ(SpecOf("kgpu.dev/imex-channel").devices, SpecOf("nvidia.com/imex-channel").devices);
  EXPECT_THAT(SpecOf("nvidia.com/imex-channel").devices, SizeIs(4));
}

TEST_F(CompanionSpecsTest, SettingsOfADriverContainerAreNamedAsTheHostNamesThem) {
  driver_root_ = "/run/nvidia/driver";
  snapshot_.companions.push_back({Companion::kGds, 0, "/dev/nvidia-fs0", 507, 0});
  dir_.WriteFile("run/nvidia/driver/etc/cufile.json", "{}");
  EXPECT_THAT(SpecOf("kgpu.dev/gds").edits.mounts,
              ElementsAre(Field(&cdi::Mount::host_path, "/run/nvidia/driver/etc/cufile.json")));
}

TEST_F(CompanionSpecsTest, MoreChannelsThanEnginesReadAreLeftOutWithANote) {
  AddChannels(4100);
  const CompanionSpecs set = Build();
  EXPECT_THAT(set.specs.front().devices, SizeIs(4097));
  EXPECT_THAT(set.notes, ElementsAre(HasSubstr("from 4096 on are skipped")));
  EXPECT_LT(cdi::PrintSpec(set.specs.front(), doc::Format::kJson).size(), cdi::kSpecLimit);
}

TEST_F(CompanionSpecsTest, AChannelThatIsThereTwiceCountsOnce) {
  AddChannels(1);
  snapshot_.companions.push_back(
      {Companion::kImexChannel, 0, "/dev/nvidia-caps-imex-channels/channel00", 508, 0});
  EXPECT_THAT(SpecOf("kgpu.dev/imex-channel").devices, SizeIs(2));
}

}  // namespace
}  // namespace kgpu::inject
