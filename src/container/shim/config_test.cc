#include "src/container/shim/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::shim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ShimConfigTest, WithoutAFileTheEnvironmentIsNotTrusted) {
  const TempDir dir;
  const Config config = ReadConfig(sys::Root::Open(dir.path()).value()).value();
  EXPECT_EQ(config, Config());
  EXPECT_FALSE(config.accept_env);
  EXPECT_FALSE(config.accept_annotations);
  EXPECT_TRUE(config.accept_mounts);
  EXPECT_THAT(config.runtimes, ElementsAre("runc", "crun"));
}

TEST(ShimConfigTest, WhatIsPrintedReadsBack) {
  Config config;
  config.runtimes = {"/opt/bin/crun"};
  config.accept_env = true;
  config.accept_annotations = true;
  config.accept_mounts = false;
  config.default_capabilities = inject::kAllCapabilities;
  config.cuda_compat = "/usr/local/cuda/compat";
  config.audit_log = "";
  const std::string text = PrintConfig(config);
  EXPECT_EQ(ParseConfig(text, "x").value(), config);
  EXPECT_EQ(text.back(), '\n');
}

TEST(ShimConfigTest, ReadsTheFileBelowTheRoot) {
  const TempDir dir;
  dir.WriteFile("etc/kgpu/runtime.json", R"({"acceptEnv": true})");
  EXPECT_TRUE(ReadConfig(sys::Root::Open(dir.path()).value()).value().accept_env);
}

TEST(ShimConfigTest, WhatIsWrongIsNamedWithFileFieldAndFix) {
  struct Case {
    std::string text;
    std::string error;
  };
  const std::vector<Case> cases = {
      {R"({"acceptEnvs": true})", "x.json: acceptEnvs: unknown field, did you mean \"acceptEnv\"?"},
      {R"({"zzzzzz": 1})", "zzzzzz: unknown field, known fields are runtimes"},
      {R"({"acceptEnv": "yes"})", "acceptEnv: must be true or false"},
      {R"({"runtimes": []})", "runtimes: must be a list"},
      {R"({"runtimes": ["bin/runc"]})",
       "runtimes: \"bin/runc\" must be a name or an absolute path"},
      {R"({"runtimes": ["/opt/bin/kgpu-runtime"]})",
       "runtimes: \"/opt/bin/kgpu-runtime\" is kgpu-runtime itself"},
      {R"({"defaultCapabilities": "cuda"})", "defaultCapabilities: driver capability \"cuda\""},
      {R"({"auditLog": "log"})", "auditLog: \"log\" must be an absolute path"},
      {R"({"acceptEnv": true, "acceptEnv": false})", "duplicate key"},
      {R"([])", "x.json: must be a map"},
      {R"({)", "x.json"},
  };
  for (const Case& one : cases) {
    EXPECT_THAT(
        ParseConfig(one.text, "x.json").status(),
        StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("x.json"), HasSubstr(one.error))))
        << one.text;
  }
}

}  // namespace
}  // namespace kgpu::shim
