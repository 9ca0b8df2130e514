#include "src/host/features/test_host.h"

namespace kgpu::features {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(SystemTest, FindsOsReleaseInEitherPlace) {
  for (const char* place : {"etc/os-release", "usr/lib/os-release"}) {
    const Reading reading = TestHost(fmt::format("{} <<<\nID=rhcos\n>>>", place)).Read("system");
    EXPECT_THAT(reading.features.attributes.at("system.osrelease"),
                ElementsAre(Pair("ID", "rhcos")))
        << place;
    EXPECT_THAT(reading.problems, IsEmpty());
  }
}

TEST(SystemTest, SaysThatOsReleaseIsMissing) {
  const Reading reading = TestHost("[etc]").Read("system");
  ASSERT_THAT(reading.problems, SizeIs(1));
  EXPECT_THAT(reading.problems[0].text, HasSubstr("mount the host's files"));
}

TEST(SystemTest, ReadsDmiButNoSerialNumbers) {
  const Reading reading = TestHost(
                              "[sys/devices/virtual/dmi/id]\nsys_vendor = Example Inc.\n"
                              "product_name = Server 9\nproduct_serial = S1\nproduct_uuid = U1\n"
                              "board_name =")
                              .Read("system");
  EXPECT_THAT(reading.features.attributes.at("system.dmiid"),
              ElementsAre(Pair("board_name", ""), Pair("product_name", "Server 9"),
                          Pair("sys_vendor", "Example Inc.")));
}

TEST(SystemTest, HasNoDmiOnAHostWithoutIt) {
  EXPECT_FALSE(TestHost("[sys]").Read("system").features.attributes.contains("system.dmiid"));
}

TEST(SystemTest, TellsTheNodesName) {
  FeatureOptions options;
  options.node_name = "worker-3";
  EXPECT_THAT(TestHost("").Read("system", options).features.attributes.at("system.name"),
              ElementsAre(Pair("nodename", "worker-3")));
}

}  // namespace
}  // namespace kgpu::features
