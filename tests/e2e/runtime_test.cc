// kgpu runtime on a host that is a folder, from outside: what it writes there, and what it leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "testing/temp_dir.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kDaemonJson = "{\r\n\t\"log-driver\" : \"local\" ,\r\n\t\"labels\": [ ]}";

// A host with a dockerd whose version nobody can tell, which is why it gets the named runtime.
class RuntimeTest : public ::testing::Test {
 protected:
  RuntimeTest() {
    dir_.WriteFile("usr/bin/dockerd", "");
    dir_.WriteFile("srv/daemon.json", kDaemonJson);
    dir_.MakeDir("etc/docker");
    dir_.Symlink("/srv/daemon.json", "etc/docker/daemon.json");
    dir_.MakeDir("var/lib/kgpu");
    AddExecutable("usr/bin/runc");
  }

  void AddExecutable(const std::string& path) const {
    dir_.WriteFile(path, "");
    fs::permissions(dir_.At(path), fs::perms(0755));
  }

  Result Kgpu(const std::string& verb, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> argv = {"kgpu",   "runtime",     verb,       "--engine",
                                     "docker", "--host-root", dir_.path()};
    argv.insert(argv.end(), more.begin(), more.end());
    return RunProgram(std::move(argv));
  }
  // Every path below the host, with the bytes of files and what links say.
  std::map<std::string, std::string> Tree() const {
    std::map<std::string, std::string> tree;
    for (const auto& entry : fs::recursive_directory_iterator(dir_.path())) {
      const std::string path = fs::relative(entry.path(), dir_.path());
      tree[path] = entry.is_symlink()        ? fs::read_symlink(entry.path()).string()
                   : entry.is_regular_file() ? dir_.ReadFile(path)
                                             : "";
    }
    return tree;
  }

  TempDir dir_;
};

TEST_F(RuntimeTest, ADryRunTouchesNothing) {
  const auto before = Tree();
  const Result text = Kgpu("configure", {"--dry-run", "--set-default"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("+\t\"default-runtime\" : \"nvidia\""),
                              HasSubstr("# step: change /etc/docker/daemon.json")));
  EXPECT_EQ(Kgpu("configure", {"--dry-run", "-o", "json"}).code, 0);
  EXPECT_EQ(Kgpu("status").code, 0);
  EXPECT_EQ(Kgpu("check").code, 7);
  EXPECT_EQ(Tree(), before);
}

TEST_F(RuntimeTest, WhatConfigureDidIsUndoneToTheByte) {
  const auto before = Tree();
  const Result configured =
      Kgpu("configure", {"--set-default", "--insecure-registry", "registry.example:5000"});
  EXPECT_EQ(configured.code, 0) << configured.err;
  EXPECT_TRUE(fs::is_symlink(dir_.At("etc/docker/daemon.json")));
  EXPECT_THAT(dir_.ReadFile("srv/daemon.json"),
              AllOf(HasSubstr("\"path\" : \"/usr/local/bin/kgpu-runtime\""),
                    HasSubstr("registry.example:5000")));
  const auto after = Tree();
  EXPECT_EQ(Kgpu("configure", {"--set-default"}).code, 0);
  EXPECT_EQ(Tree(), after);

  const Result shown = Kgpu("revert", {"--dry-run"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_LT(shown.out.size(), 10'000U);  // no program's bytes
  EXPECT_EQ(Tree(), after);
  EXPECT_EQ(Kgpu("revert").code, 0);
  EXPECT_EQ(Tree(), before);
}

TEST_F(RuntimeTest, NvidiasRuntimeIsAdoptedByItsFlagAndItsContainersKeepTheirGpus) {
  dir_.WriteFile("srv/daemon.json",
                 R"({"default-runtime": "nvidia",
 "runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}})");
  const auto before = Tree();
  const Result refused = Kgpu("configure");
  EXPECT_EQ(refused.code, 6);
  EXPECT_THAT(refused.err, HasSubstr("--adopt"));
  EXPECT_EQ(Tree(), before);

  const Result shown = Kgpu("configure", {"--adopt", "--dry-run"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, StartsWith("# docker: adopts the runtime nvidia of /etc/docker/"));
  EXPECT_EQ(Tree(), before);

  EXPECT_EQ(Kgpu("configure", {"--adopt"}).code, 0);
  EXPECT_THAT(dir_.ReadFile("etc/kgpu/runtime.json"), HasSubstr("\"acceptEnv\": true"));
  EXPECT_EQ(Kgpu("configure").code, 0);  // it is kgpu's now
  EXPECT_EQ(Kgpu("configure", {"--accept-env=no"}).code, 0);
  EXPECT_THAT(dir_.ReadFile("etc/kgpu/runtime.json"), HasSubstr("\"acceptEnv\": false"));
}

// With --set-default no container of the host would start.
TEST_F(RuntimeTest, AHostWithoutALowLevelRuntimeIsRefused) {
  fs::remove(dir_.At("usr/bin/runc"));
  const auto before = Tree();
  for (const char* way : {"--runtime", "--set-default"}) {
    const Result refused = Kgpu("configure", {way});
    EXPECT_EQ(refused.code, 6) << refused.out;
    EXPECT_THAT(refused.err,
                AllOf(HasSubstr("docker: none of runc, crun found"), HasSubstr("install runc")));
    EXPECT_EQ(Tree(), before);
  }
}

TEST_F(RuntimeTest, TheRuntimeThatTheEngineUsesIsStartedByItsPath) {
  dir_.WriteFile("srv/daemon.json",
                 R"({"default-runtime": "mine", "runtimes": {"mine": {"path": "/opt/bin/crun"}}})");
  AddExecutable("opt/bin/crun");
  EXPECT_EQ(Kgpu("configure", {"--set-default"}).code, 0);
  EXPECT_THAT(dir_.ReadFile("etc/kgpu/runtime.json"), HasSubstr("\"/opt/bin/crun\""));
  const auto after = Tree();
  EXPECT_EQ(Kgpu("configure", {"--set-default"}).code, 0);
  EXPECT_EQ(Tree(), after);
}

// The file of an earlier run, for an engine whose runtime is nowhere that kgpu-runtime looks.
TEST_F(RuntimeTest, RuntimesThatAreNotThereAreReplaced) {
  dir_.WriteFile("etc/kgpu/runtime.json", R"({"acceptEnv": true, "runtimes": ["/gone/runc"]})");
  EXPECT_EQ(Kgpu("configure", {"--runtime"}).code, 0);
  EXPECT_THAT(dir_.ReadFile("etc/kgpu/runtime.json"),
              AllOf(HasSubstr("\"/usr/bin/runc\""), HasSubstr("\"acceptEnv\": true")));

  dir_.WriteFile("etc/kgpu/runtime.json", R"({"runtimes": ["/usr/bin/runc"]})");
  EXPECT_EQ(Kgpu("configure", {"--runtime"}).code, 0);
  EXPECT_EQ(dir_.ReadFile("etc/kgpu/runtime.json"), R"({"runtimes": ["/usr/bin/runc"]})");
}

TEST_F(RuntimeTest, ABrokenConfigurationOfTheShimIsFoundBeforeAContainerIs) {
  dir_.WriteFile("etc/kgpu/runtime.json", R"({"acceptEnvs": true})");
  const auto before = Tree();
  const Result configured = Kgpu("configure");
  EXPECT_EQ(configured.code, 2);
  EXPECT_THAT(configured.err, HasSubstr("runtime.json: acceptEnvs: unknown field, did you mean"));
  const Result checked = Kgpu("check");
  EXPECT_EQ(checked.code, 7);
  EXPECT_THAT(checked.out, AllOf(HasSubstr("kgpu-runtime: "), HasSubstr("acceptEnvs")));
  EXPECT_EQ(Tree(), before);
}

TEST_F(RuntimeTest, ADistributionOfKubernetesCanBeNamed) {
  const std::string folder = "var/lib/rancher/rke2/agent/etc/containerd";
  dir_.WriteFile("var/lib/rancher/rke2/bin/containerd", "");
  AddExecutable("var/lib/rancher/rke2/bin/runc");
  dir_.WriteFile(folder + "/config-v3.toml.tmpl", "{{ template \"base\" . }}\n");
  const Result shown = RunProgram({"kgpu", "runtime", "configure", "--engine", "rke2",
                                   "--host-root", dir_.path(), "--dry-run"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("/" + folder + "/config-v3.toml.tmpl"),
                               ::testing::Not(HasSubstr("daemon.json"))));
}

TEST_F(RuntimeTest, AWrongFlagIsNamedWithItsValueAndFix) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--cdi=maybe"}, "--cdi: \"maybe\" must be yes or no"},
      {{"--runtime=docker"}, "did you mean --engine docker?"},
      {{"--accept-env=perhaps"}, "--accept-env: \"perhaps\" must be yes or no"},
      {{"--runtime-path", "bin/x"}, "--runtime-path: \"bin/x\" must be an absolute path"},
      {{"--http-proxy", "proxy"}, "--http-proxy: \"proxy\" must be a URL"},
      {{"--insecure-registry", "a b"}, "--insecure-registry: \"a b\" must be HOST"},
      {{"-o", "xml"}, "--output: \"xml\" must be table, json or yaml"},
  };
  for (const auto& [flags, error] : cases) {
    const Result result = Kgpu("configure", flags);
    EXPECT_EQ(result.code, 2) << error;
    EXPECT_THAT(result.err, HasSubstr(error));
  }
}

Result Printed(const std::string& tool, const std::vector<std::string>& flags) {
  std::vector<std::string> argv = {"kgpu", "runtime", "configure", "--print", tool};
  argv.insert(argv.end(), flags.begin(), flags.end());
  return RunProgram(std::move(argv));
}

TEST(RuntimePrintTest, ARecipeNamesThePathOfTheRuntime) {
  const Result result = Printed("kubespray", {"--runtime", "--runtime-path", "/opt/bin/shim"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("BinaryName: /opt/bin/shim\n"), HasSubstr("path: /opt/bin/shim\n")));
  EXPECT_THAT(Printed("kubespray", {"--runtime", "--runtime-path", "bin/x"}).err,
              HasSubstr("--runtime-path: \"bin/x\" must be an absolute path"));
  EXPECT_THAT(Printed("kind", {}).err,
              HasSubstr("--print: \"kind\" must be minikube or kubespray"));
}

TEST(RuntimePrintTest, WhatNoRecipeTakesIsRefused) {
  const std::vector<std::vector<std::string>> unused = {{"--engine", "docker"},
                                                        {"--config", "/etc/x"},
                                                        {"--restart"},
                                                        {"--adopt"},
                                                        {"--accept-env", "yes"},
                                                        {"--http-proxy", "http://p:1"},
                                                        {"--https-proxy", "http://p:1"},
                                                        {"--no-proxy", "a.example"},
                                                        {"--dry-run"}};
  for (const std::vector<std::string>& flag : unused) {
    const Result result = Printed("kubespray", flag);
    EXPECT_EQ(result.code, 2) << flag.front();
    EXPECT_THAT(result.err, AllOf(HasSubstr("--print"), HasSubstr(flag.front())));
  }
}

}  // namespace
}  // namespace kgpu::e2e
