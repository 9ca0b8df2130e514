#include "src/node/mig/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::mig {
namespace {

using ::testing::HasSubstr;

constexpr uint16_t kCard = 0x20b2;  // SXM4, 80 GB

class PlaceTest : public ::testing::Test {
 protected:
  PlaceTest() {
    gpu_.uuid = *device::GpuUuid::Parse("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2bf977");
    gpu_.mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
    gpu_.geometry = std::make_shared<const Geometry>(*Geometry::OfModel(kCard));
  }
  // A GPU instance; `slices`: of its compute instances.
  void Add(unsigned id, std::string_view profile, unsigned start,
           const std::vector<unsigned>& slices) {
    const auto index = gpu_.geometry->Find(profile);
    ASSERT_TRUE(index) << profile;
    probe::GpuInstanceReport& report = gpu_.instances.emplace_back();
    report.id = id;
    report.profile_id = gpu_.geometry->profiles()[*index].profile_id;
    report.start = start;
    for (const unsigned count : slices) {
      report.compute.push_back(
          {.id = static_cast<unsigned>(report.compute.size()), .slices = count});
    }
    if (!slices.empty()) {
      gpu_.devices.push_back({.uuid = fmt::format("MIG-{}", id), .gpu_instance = id});
    }
  }
  std::string With(const ClaimPlace& place) const {
    const auto target = WithPlace(gpu_, place);
    return target.ok() ? StateText(*target) : std::string(Message(target.status()));
  }
  std::string Without(const ClaimPlace& place) const {
    const auto target = WithoutPlace(gpu_, place);
    return target.ok() ? StateText(*target) : std::string(Message(target.status()));
  }

  HostGpu gpu_;
};

TEST_F(PlaceTest, OthersStayAsTheyAre) {
  Add(1, "3g.40gb", 0, {2, 1});
  EXPECT_EQ(With({.profile = "1g.10gb", .start = 6}), "MIG on, 3g.40gb (2c+1c) at 0, 1g.10gb at 6");
  Add(9, "1g.10gb", 6, {1});
  EXPECT_EQ(With({.profile = "1g.10gb", .start = 6}), "MIG on, 3g.40gb (2c+1c) at 0, 1g.10gb at 6");
  EXPECT_EQ(Without({.profile = "1g.10gb", .start = 6}), "MIG on, 3g.40gb (2c+1c) at 0");
}

TEST_F(PlaceTest, MigIsTurnedOn) {
  gpu_.mode = device::MigMode{};
  EXPECT_EQ(With({.profile = "1g.10gb", .start = 6}), "MIG on, 1g.10gb at 6");
}

// Its maker was killed after the GPU instance.
TEST_F(PlaceTest, AHalfMadeInstanceIsMadeAgain) {
  Add(3, "1g.10gb", 6, {});
  EXPECT_EQ(With({.profile = "1g.10gb", .start = 6}), "MIG on, 1g.10gb at 6");
  EXPECT_EQ(Without({.profile = "1g.10gb", .start = 6, .gpu_instance = 8}), "MIG on, no instances");
}

TEST_F(PlaceTest, AnotherInstanceAtThePlaceStays) {
  Add(4, "1g.10gb", 6, {1});
  EXPECT_EQ(Without({.profile = "1g.10gb", .start = 6, .gpu_instance = 3}), "MIG on, 1g.10gb at 6");
  EXPECT_EQ(Without({.profile = "1g.10gb", .start = 5}), "MIG on, 1g.10gb at 6");
  EXPECT_EQ(Without({.profile = "1g.10gb", .start = 6, .gpu_instance = 4}), "MIG on, no instances");
}

TEST_F(PlaceTest, SaysWhatIsInTheWay) {
  Add(1, "3g.40gb", 4, {3});
  EXPECT_THAT(With({.profile = "1g.10gb", .start = 5}),
              HasSubstr("1g.10gb at memory slice 5 overlaps another instance"));
  EXPECT_THAT(With({.profile = "9g.99gb", .start = 0}), HasSubstr("no MIG profile 9g.99gb"));
  EXPECT_THAT(Message(WithoutMig(gpu_).status()), HasSubstr("has MIG devices"));
  gpu_.instances.clear();
  EXPECT_EQ(StateText(*WithoutMig(gpu_)), "MIG off, no instances");
}

TEST_F(PlaceTest, FindsTheDevice) {
  Add(5, "1g.10gb", 6, {1});
  const auto made = DeviceAt(gpu_, {.profile = "1g.10gb", .start = 6});
  ASSERT_OK(made);
  EXPECT_EQ(*made, (MadeDevice{.uuid = "MIG-5", .gpu_instance = 5}));
  EXPECT_EQ(DeviceAt(gpu_, {.profile = "1g.10gb", .start = 4}).status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace kgpu::mig
