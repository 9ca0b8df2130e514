#include "src/node/dra/allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "testing/status_matchers.h"

namespace kgpu::dra {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

json::value Claim(std::string_view results, std::string_view configs = "") {
  return json::parse(fmt::format(
      R"({{"metadata":{{"namespace":"ml","name":"c","uid":"u1"}},
          "status":{{"allocation":{{"devices":{{"results":[{}],"config":[{}]}}}}}}}})",
      results, configs));
}

std::string Result(std::string_view request, std::string_view device = "gpu-0") {
  return fmt::format(R"({{"request":"{}","driver":"gpu.nvidia.com","pool":"n1","device":"{}"}})",
                     request, device);
}

std::string Config(std::string_view source, std::string_view requests, std::string_view sharing,
                   std::string_view kind = "GpuConfig") {
  return fmt::format(R"({{"source":"{}","requests":[{}],"opaque":{{"driver":"gpu.nvidia.com",
      "parameters":{{"apiVersion":"resource.nvidia.com/v1beta1","kind":"{}",
      "sharing":{}}}}}}})",
                     source, requests, kind, sharing);
}

constexpr std::string_view kMps = R"({"strategy":"MPS"})";
constexpr std::string_view kShort =
    R"({"strategy":"TimeSlicing","timeSlicingConfig":{"interval":"Short"}})";

TEST(ReadAllocationTest, ReadsWhatIsOurs) {
  const auto read = ReadAllocation(
      Claim(R"({"request":"r/a","driver":"gpu.nvidia.com","pool":"n1","device":"gpu-0-20gi",
                "shareID":"s1","consumedCapacity":{"memory":"20Gi"}},
               {"request":"nic","driver":"nic.example.com","pool":"n1","device":"eth0"},
               {"request":"m","driver":"gpu.nvidia.com","pool":"n1","device":"gpu-1",
                "adminAccess":true})"),
      "u1");
  ASSERT_OK(read);
  ASSERT_THAT(read->devices, SizeIs(2));
  EXPECT_EQ(read->devices[0].request, "r");
  EXPECT_EQ(read->devices[0].share_id, "s1");
  EXPECT_EQ(read->devices[0].consumed.at("memory"), "20Gi");
  EXPECT_FALSE(read->devices[0].is_admin);
  EXPECT_TRUE(read->devices[1].is_admin);
}

TEST(ReadAllocationTest, NothingIsPreparedForAClaimThatHasEnded) {
  EXPECT_EQ(ReadAllocation(Claim(Result("r")), "u2").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(ReadAllocation(json::parse(R"({"metadata":{"name":"c","uid":"u1"},"status":{}})"), "u1")
                .status()
                .code(),
            StatusCode::kNotFound);
  const auto none = ReadAllocation(Claim(""), "u1");
  ASSERT_OK(none);
  EXPECT_THAT(none->devices, IsEmpty());
}

// kubelet_acceptance DX-6 and DX-7.
TEST(ReadAllocationTest, TheLastParametersThatApplyCount) {
  const auto first = [](const std::string& configs) {
    const auto read = ReadAllocation(Claim(Result("r/a"), configs), "u1");
    EXPECT_OK(read);
    return read.ok() ? read->devices.at(0).parameters : Parameters();
  };
  const Parameters of_short{.time_slice = TimeSlice::kShort};
  const Parameters of_mps{.mps = MpsParameters()};
  EXPECT_EQ(first(""), Parameters());
  EXPECT_EQ(first(Config("FromClass", "", kMps)), of_mps);
  EXPECT_EQ(first(Config("FromClass", "", kMps) + "," + Config("FromClaim", "", kShort)), of_short);
  EXPECT_EQ(first(Config("FromClass", "", kMps) + "," + Config("FromClaim", R"("other")", kShort)),
            of_mps);
  EXPECT_EQ(first(Config("FromClaim", R"("r")", kShort)), of_short);
  EXPECT_EQ(first(Config("FromClaim", R"("r/a")", kShort)), of_short);
  EXPECT_EQ(first(Config("FromClaim", R"("r/b")", kShort)), Parameters());
}

// kubelet_acceptance DX-27.
TEST(ReadAllocationTest, UnknownParametersFailTheClaim) {
  const auto problem = [](std::string_view sharing, std::string_view device = "gpu-0",
                          std::string_view kind = "GpuConfig") {
    return std::string(Message(
        ReadAllocation(Claim(Result("r", device), Config("FromClaim", "", sharing, kind)), "u1")
            .status()));
  };
  EXPECT_THAT(problem(R"({"strategy":"MPS","mpsConfg":{}})"),
              AllOf(HasSubstr("the parameters of the claim"), HasSubstr("mpsConfg"),
                    HasSubstr("mpsConfig")));
  EXPECT_THAT(problem(R"({"strategy":"Exclusive"})"), HasSubstr("TimeSlicing"));
  EXPECT_THAT(problem(R"({"strategy":"TimeSlicing","mpsConfig":{}})"), HasSubstr("remove one"));
  EXPECT_THAT(problem(R"({})"), HasSubstr("strategy is missing"));
  EXPECT_THAT(problem(kMps, "gpu-0-mig-1g10gb-19-6"), HasSubstr("MigDeviceConfig"));
  EXPECT_THAT(problem(kShort, "gpu-0-mig-1g10gb-19-6", "MigDeviceConfig"),
              HasSubstr("timeSlicingConfig"));
  EXPECT_EQ(problem(kMps, "gpu-0-mig-1g10gb-19-6", "MigDeviceConfig"), "");
}

TEST(ReadAllocationTest, ReadsLimitsOfMps) {
  const auto read =
      ReadAllocation(Claim(Result("r"), Config("FromClaim", "", R"({"strategy":"MPS","mpsConfig":{
          "defaultActiveThreadPercentage":50,"defaultPinnedDeviceMemoryLimit":"10Gi",
          "defaultPerDevicePinnedMemoryLimit":{"0":"5Gi"}}})")),
                     "u1");
  ASSERT_OK(read);
  const MpsParameters expected{
      .threads = 50, .memory = GibiBytes(10), .memory_of = {{"0", GibiBytes(5)}}};
  EXPECT_EQ(read->devices[0].parameters.mps, expected);
}

}  // namespace
}  // namespace kgpu::dra
