#include "src/container/shim/visible_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::shim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = DeviceList::Kind;

TEST(VisibleDevicesTest, NothingIsAskedByEmptyAndVoid) {
  for (const char* text : {"", " ", ",", "void", "0,void", "all, void ,"}) {
    EXPECT_EQ(ParseVisibleDevices(text).value(), DeviceList()) << text;
  }
}

TEST(VisibleDevicesTest, NoneAsksForTheDriverAlone) {
  EXPECT_EQ(ParseVisibleDevices("none").value().kind, Kind::kDriverOnly);
  EXPECT_THAT(ParseVisibleDevices("none,0").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("be combined with devices")));
}

TEST(VisibleDevicesTest, NamesOfEverySortMayBeMixed) {
  const DeviceList list = ParseVisibleDevices(
                              " 0,GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77 ,1:2, "
                              "MIG-4d806f22-346a-5a1d-ba01-86b505cdf485,"
                              "kgpu.dev/gpu=3,nvidia.com/gds=all,")
                              .value();
  EXPECT_EQ(list.kind, Kind::kDevices);
  EXPECT_FALSE(list.all);
  EXPECT_THAT(list.names, ElementsAre("0", "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77", "1:2",
                                      "MIG-4d806f22-346a-5a1d-ba01-86b505cdf485"));
  EXPECT_THAT(list.cdi,
              ElementsAre(CdiName{"kgpu.dev/gpu", "3"}, CdiName{"nvidia.com/gds", "all"}));
}

TEST(VisibleDevicesTest, AllMayStandBesideNames) {
  const DeviceList list = ParseVisibleDevices("0,all").value();
  EXPECT_TRUE(list.all);
  EXPECT_EQ(list.kind, Kind::kDevices);
}

TEST(VisibleDevicesTest, WhatIsNoNameIsRefusedAndShownSafely) {
  for (const char* text : {"../../dev/sda", "0 1", "GPU-\x1b[2J", "0;1", "=0", "gpu=0",
                           "a/b=", "..", "kgpu.dev/gpu=../0"}) {
    const Status status = ParseVisibleDevices(text).status();
    EXPECT_THAT(status, StatusIs(StatusCode::kInvalidArgument, HasSubstr("\""))) << text;
    EXPECT_EQ(Message(status).find('\x1b'), std::string_view::npos);
  }
}

TEST(VisibleDevicesTest, AbsurdListsAreRefusedByTheirSize) {
  std::string many;
  for (int i = 0; i < 10'000; ++i) {
    many += "0,";
  }
  EXPECT_THAT(
      ParseVisibleDevices(many).status(),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("10000 devices requested, limit 1024")));
  EXPECT_THAT(ParseVisibleDevices(std::string(kLongestList + 1, ',')).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("65537 bytes")));
  EXPECT_THAT(ParseVisibleDevices(std::string(kLongestName + 1, '1')).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("257 characters")));
  EXPECT_OK(ParseVisibleDevices(std::string(kLongestList, ',')).status());
}

TEST(VisibleDevicesTest, ListsOfCdiNamesHoldNothingElse) {
  EXPECT_THAT(ParseCdiNames("a.b/c=d, kgpu.dev/gpu=0:1").value(),
              ElementsAre(CdiName{"a.b/c", "d"}, CdiName{"kgpu.dev/gpu", "0:1"}));
  EXPECT_THAT(ParseCdiNames("").value(), IsEmpty());
  EXPECT_THAT(ParseCdiNames("0").status(), StatusIs(StatusCode::kInvalidArgument));
}

TEST(VisibleDevicesTest, ImexChannelsAreNumbersBelowTheirBound) {
  EXPECT_THAT(ParseImexChannels("0, 1048575").value(), ElementsAre("0", "1048575"));
  for (const char* text : {"1048576", "-1", "a", "0x1"}) {
    EXPECT_THAT(ParseImexChannels(text).status(), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

}  // namespace
}  // namespace kgpu::shim
