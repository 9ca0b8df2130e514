// kgpu config: files good and bad, foreign files, and which device of a host goes where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <string_view>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kHead = "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n";

class ConfigTest : public ::testing::Test {
 protected:
  // A file with the keys behind apiVersion and kind; its path.
  std::string Write(std::string_view name, std::string_view body) const {
    dir_.WriteFile(name, fmt::format("{}{}", kHead, body));
    return dir_.At(name);
  }

  TempDir dir_;
};

TEST_F(ConfigTest, CheckKnowsSelectorsByTheirName) {
  dir_.WriteFile("selectors.yaml", "- {config: mig, nodeSelector: {matchLabels: {pool: mig}}}\n");
  Result result = RunProgram({"kgpu", "config", "check", dir_.At("selectors.yaml")});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("selectors.yaml: OK: 1 selector\n"));
  dir_.WriteFile("selectors.yaml", "- {config: mig, nodeSelectors: {}}\n");
  result = RunProgram({"kgpu", "config", "check", dir_.At("selectors.yaml")});
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(result.out + result.err,
              HasSubstr("selectors.yaml:1:17: [0].nodeSelectors: unknown key, did you mean"));
}

TEST_F(ConfigTest, CheckTellsOfEachFile) {
  const std::string good = Write("good.yaml", "pools: [{devices: {index: 0-3}}]\n");
  const std::string bad = Write("bad.yaml", "pool: []\nmigStrategy: some\n");
  Result result = RunProgram({"kgpu", "config", "check", good});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, good + ": OK: 1 pool\n");
  result = RunProgram({"kgpu", "config", "check", good, bad});
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("good.yaml: OK"),
                    HasSubstr("bad.yaml:3:1: pool: unknown key, did you mean \"pools\"?"),
                    HasSubstr("bad.yaml:4:14: migStrategy: \"some\" must be one of")));
  result = RunProgram({"kgpu", "config", "check", good, bad, "--output", "yaml"});
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(result.out, AllOf(HasSubstr("valid: false"), HasSubstr("summary: 1 pool"),
                                HasSubstr("bad.yaml:3:1: pool: unknown key")));
}

TEST_F(ConfigTest, AFileThatIsNotThereIsNamed) {
  const Result result = RunProgram({"kgpu", "config", "check", "/no/such.yaml"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("/no/such.yaml: no such file or folder"));
}

TEST_F(ConfigTest, WhatIsPrintedIsAGoodFile) {
  const std::string file = Write("a.yaml", "pools: [{share: {by: time, replicas: 4}}]\n");
  const Result printed = RunProgram({"kgpu", "config", "print", file, "-o", "json"});
  EXPECT_EQ(printed.code, 0);
  dir_.WriteFile("b.json", printed.out);
  const Result again = RunProgram({"kgpu", "config", "print", dir_.At("b.json"), "-o", "json"});
  EXPECT_EQ(again.out, printed.out);
  EXPECT_EQ(RunProgram({"kgpu", "config", "print", file, "-o", "table"}).code, 2);
}

TEST_F(ConfigTest, ForeignFilesAreConvertedWithNotes) {
  dir_.WriteFile("v1.yaml",
                 "version: v1\nflag: {}\nsharing:\n  timeSlicing:\n    resources:\n"
                 "    - {name: nvidia.com/gpu, replicas: 4}\n");
  const Result converted = RunProgram({"kgpu", "config", "convert", dir_.At("v1.yaml")});
  EXPECT_EQ(converted.code, 0);
  EXPECT_THAT(converted.out, HasSubstr("replicas: 4"));
  EXPECT_THAT(converted.err,
              AllOf(HasSubstr("v1.yaml:2:1: flag: unknown key: "),
                    HasSubstr("v1.yaml:6:7: sharing.timeSlicing.resources[0]: converted: ")));
  dir_.WriteFile("n.yaml", converted.out);
  EXPECT_EQ(RunProgram({"kgpu", "config", "check", dir_.At("n.yaml")}).code, 0);
  const Result twice = RunProgram({"kgpu", "config", "convert", dir_.At("n.yaml")});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("already a NodeConfig: check it with"));
}

TEST_F(ConfigTest, AConfigMapOfForeignConfigurationsIsConvertedByKey) {
  dir_.WriteFile("cm.yaml",
                 "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plugin}\ndata:\n"
                 "  plain: |\n    version: v1\n"
                 "  shared: |\n    version: v1\n    sharing:\n      timeSlicing:\n"
                 "        resources: [{name: nvidia.com/gpu, replicas: 4}]\n");
  const Result listed = RunProgram({"kgpu", "config", "convert", dir_.At("cm.yaml")});
  EXPECT_EQ(listed.code, 2);
  EXPECT_THAT(listed.err, HasSubstr("choose one with --key: plain, shared"));
  const Result shared =
      RunProgram({"kgpu", "config", "convert", dir_.At("cm.yaml"), "--key", "shared"});
  EXPECT_EQ(shared.code, 0) << shared.err;
  EXPECT_THAT(shared.out, HasSubstr("replicas: 4"));
}

TEST_F(ConfigTest, MpsOfGkeIsConverted) {
  dir_.WriteFile(
      "c.json",
      R"({"GPUSharingConfig": {"GPUSharingStrategy": "mps", "MaxSharedClientsPerGPU": 2}})");
  const Result result = RunProgram({"kgpu", "config", "convert", dir_.At("c.json")});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("    by: mps\n    replicas: 2\n"));
  EXPECT_THAT(result.err, HasSubstr("GPUSharingStrategy: converted"));
}

TEST_F(ConfigTest, AssignShowsWhichDeviceGoesWhere) {
  if (!CanMakeDevices()) {
    GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
  }
  SimHost host("8xA100-SXM4-80GB");
  host.Inject("mig", {"3", "--enable"});
  host.Inject("mig", {"3", "--create", "1g.10gb"});
  const std::string file = Write("a.yaml",
                                 "exclude: [{index: 7}]\nmigStrategy: mixed\npools:\n"
                                 "- {resource: x/shared, devices: {index: 0-1}, "
                                 "share: {by: time, replicas: 4}}\n- {devices: all}\n");
  const Result result = host.Kgpu({"config", "assign", file, "-o", "json"});
  EXPECT_EQ(result.code, 0) << result.err;
  const auto value = doc::Parse(result.out, doc::Format::kJson, "kgpu config assign");
  ASSERT_OK(value);
  const auto at = [&value](const char* pointer) {
    return doc::PrintLine(value->at_pointer(pointer));
  };
  EXPECT_EQ(at("/resources/0/name"), "\"nvidia.com/gpu\"");
  EXPECT_EQ(at("/resources/0/slots"), "4");
  EXPECT_EQ(at("/resources/1/name"), "\"nvidia.com/mig-1g.10gb\"");
  EXPECT_EQ(at("/resources/1/devices/0/index"), "\"3:0\"");
  EXPECT_EQ(at("/resources/2/name"), "\"x/shared\"");
  EXPECT_EQ(at("/resources/2/slots"), "8");
  EXPECT_EQ(at("/unassigned/0/index"), "\"7\"");

  const std::string odd = Write("b.yaml", "pools: [{devices: {model: T4}}]\n");
  const Result table = host.Kgpu({"config", "assign", odd});
  EXPECT_EQ(table.code, 7);
  EXPECT_THAT(table.out, HasSubstr("pools[0] (model=T4) matches no device: this host has 8 ×"));
}

}  // namespace
}  // namespace kgpu::e2e
