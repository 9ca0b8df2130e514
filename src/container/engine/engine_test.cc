#include "src/container/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

TEST(EngineTest, FindsVersionsInWhatProgramsPrint) {
  EXPECT_THAT(FindVersion("Docker version 20.10.24+dfsg1, build 297e128"),
              Optional(Version{20, 10, 24}));
  EXPECT_THAT(FindVersion("containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1"),
              Optional(Version{1, 6, 20}));
  EXPECT_THAT(FindVersion("containerd github.com/containerd/containerd/v2 v2.0.0 207ad71"),
              Optional(Version{2, 0, 0}));
  EXPECT_THAT(FindVersion("crio version 1.30\n"), Optional(Version{1, 30, 0}));
  EXPECT_EQ(FindVersion("docker: command not found"), std::nullopt);
  EXPECT_EQ(FindVersion("1"), std::nullopt);
  EXPECT_EQ(FindVersion("99999999999.1"), std::nullopt);
}

TEST(EngineTest, KnowsWhichVersionsReadCdi) {
  EXPECT_EQ(CdiSupportOf(Kind::kDocker, Version{24, 0, 9}), CdiSupport::kAbsent);
  EXPECT_EQ(CdiSupportOf(Kind::kDocker, Version{25, 0, 0}), CdiSupport::kOptIn);
  EXPECT_EQ(CdiSupportOf(Kind::kDocker, Version{28, 1, 1}), CdiSupport::kOptIn);
  EXPECT_EQ(CdiSupportOf(Kind::kDocker, Version{28, 2, 0}), CdiSupport::kDefault);
  EXPECT_EQ(CdiSupportOf(Kind::kContainerd, Version{1, 6, 20}), CdiSupport::kAbsent);
  EXPECT_EQ(CdiSupportOf(Kind::kContainerd, Version{1, 7, 0}), CdiSupport::kOptIn);
  EXPECT_EQ(CdiSupportOf(Kind::kContainerd, Version{2, 0, 0}), CdiSupport::kDefault);
  EXPECT_EQ(CdiSupportOf(Kind::kCrio, Version{1, 22, 0}), CdiSupport::kAbsent);
  EXPECT_EQ(CdiSupportOf(Kind::kCrio, Version{1, 23, 0}), CdiSupport::kAlways);
  EXPECT_EQ(CdiSupportOf(Kind::kPodman, Version{4, 0, 3}), CdiSupport::kAbsent);
  EXPECT_EQ(CdiSupportOf(Kind::kPodman, Version{4, 1, 0}), CdiSupport::kAlways);
  EXPECT_EQ(CdiSupportOf(Kind::kPodman, std::nullopt), CdiSupport::kUnknown);
}

TEST(EngineTest, NamesOfKindsReadBack) {
  for (const Kind kind : kAllKinds) {
    EXPECT_THAT(ParseKind(ToString(kind)), IsOkAndHolds(kind));
  }
  EXPECT_THAT(ParseKind("cri-o"), IsOkAndHolds(Kind::kCrio));
  EXPECT_THAT(ParseKind("k3s"), IsOkAndHolds(Kind::kContainerd));
  EXPECT_THAT(ParseKind("rke2"), IsOkAndHolds(Kind::kContainerd));
  EXPECT_EQ(DistributionOf("rke2"), "rke2");
  EXPECT_EQ(DistributionOf("containerd"), "");
  EXPECT_THAT(ParseKind("lxc"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"lxc\"")));
}

}  // namespace
}  // namespace kgpu::engine
