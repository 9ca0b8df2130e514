// kgpu doctor require: what it prints, how it exits, and where it knows the host from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <vector>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Result Require(const std::string& expression, const std::vector<std::string>& flags = {}) {
  std::vector<std::string> argv = {"kgpu", "require", expression};
  argv.insert(argv.end(), flags.begin(), flags.end());
  return RunProgram(argv);
}

TEST(RequireTest, ThreeOutcomesAreThreeExitCodes) {
  Result result = Require("cuda>=12.4", {"--driver", "550.54.15"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "satisfied\n");
  result = Require("cuda>=12.4", {"--driver", "535.104.05", "--cuda", "12.2"});
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(result.out, StartsWith("unsatisfied\n"
                                     "image requires cuda>=12.4; driver 535.104.05 supports up to "
                                     "12.2; use driver 550.54.14 or newer"));
  EXPECT_THAT(result.err, IsEmpty());
  result = Require("cuda>>12.4", {"--driver", "535.104.05"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.out, StartsWith("malformed\nbyte 5: \">>\" must be "));
}

TEST(RequireTest, GpusAreDescribedByFlags) {
  const std::vector<std::string> flags = {"--arch", "8.6", "--brand", "GeForceRTX"};
  EXPECT_EQ(Require("arch>=8.0,brand=geforcertx", flags).code, 0);
  EXPECT_THAT(Require("brand=tesla", flags).out,
              HasSubstr("the GPU has compute capability 8.6 and brand geforcertx"));
}

TEST(RequireTest, FlagsThatAreNoVersionsAreNamed) {
  const Result result = Require("cuda>=12", {"--cuda", "twelve"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("--cuda: \"twelve\" must be a version"));
}

TEST(RequireTest, ProgramsGetTheSameAsJson) {
  const Result result =
      Require("cuda>=13", {"--driver", "535.104.05", "--arch", "7.0", "--output", "json"});
  EXPECT_EQ(result.code, 7);
  const auto tree = doc::Parse(result.out, doc::Format::kJson, "out");
  ASSERT_OK(tree);
  EXPECT_EQ(tree->at("outcome").as_string(), "unsatisfied");
  EXPECT_THAT(std::string(tree->at("reason").as_string()), HasSubstr("CUDA 13 does not support"));
  EXPECT_EQ(tree->at("notes").as_array().size(), 1U);
  EXPECT_EQ(tree->at("host").at("gpus").at(0).at("computeCapability").as_string(), "7.0");
}

TEST(RequireTest, WithoutAnIndexAndFlagsTheFixIsNamed) {
  const TempDir dir;
  const Result result = Require("cuda>=12.4", {"--host-root", dir.path()});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("kgpu cdi generate"), HasSubstr("--driver"),
                                HasSubstr(dir.At("run/kgpu/injection.json"))));
}

TEST(RequireTest, TheHostIsKnownFromItsIndex) {
  if (!CanMakeDevices()) {
    GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
  }
  const SimHost host("4xT4");
  ASSERT_EQ(host.Kgpu({"cdi", "generate"}).code, 0);
  const std::vector<std::string> flags = {"--host-root", host.path()};
  EXPECT_EQ(Require("cuda>=12.2,arch=7.5,driver>=535,driver<536", flags).code, 0);
  EXPECT_THAT(Require("arch>=8.0", flags).out, HasSubstr("GPU 0 has compute capability 7.5"));
}

}  // namespace
}  // namespace kgpu::e2e
