#include "src/diagnose/image/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "src/diagnose/image/test_tar.h"
#include "src/platform/base/strings.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::image {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Programs that print what they were given, by their command lines.
class FakePrograms final : public sys::ProgramRunner {
 public:
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    environment = request.environment;
    if (on_save && request.argv.size() == 5 && request.argv[1] == "save") {
      on_save(request.argv[3]);
      sys::RunResult saved;
      saved.exit.code = 0;
      return saved;
    }
    const auto found = answers.find(Join(request.argv, " "));
    sys::RunResult result;
    result.exit.code = found == answers.end() ? 1 : 0;
    result.err = found == answers.end() ? "no such image" : "";
    result.out = found == answers.end() ? "" : found->second;
    return result;
  }
  std::map<std::string, std::string> answers;
  std::function<void(const std::string&)> on_save;
  std::vector<std::string> environment;
};

constexpr const char* kContainerdSocket = "run/containerd/containerd.sock";

class StoreTest : public ::testing::Test {
 protected:
  void Install(const std::string& program) {
    dir_.WriteFile("usr/bin/" + program, "");
    ASSERT_EQ(chmod(dir_.At("usr/bin/" + program).c_str(), 0755), 0);
    if (program == "ctr") {
      dir_.WriteFile(kContainerdSocket, "");
    }
  }
  void Remove(const std::string& path) { ASSERT_EQ(unlink(dir_.At(path).c_str()), 0); }
  StatusOr<ImageFacts> Find(const std::string& name, const StoreOptions& options = {}) {
    auto root = sys::Root::Open(dir_.path());
    EXPECT_OK(root);
    return FindImage(*root, programs_, name, options);
  }

  TempDir dir_;
  FakePrograms programs_;
};

TEST_F(StoreTest, PodmansLayersAreReadWhereTheyAre) {
  Install("podman");
  dir_.WriteFile("store/upper/usr/lib/libcudart.so.12.4.127", "");
  dir_.WriteFile("store/lower/usr/local/cuda/compat/libcuda.so.550.54.15", "");
  programs_.answers["/usr/bin/podman image inspect x:1"] =
      R"([{"Architecture":"amd64","Config":{"Env":["CUDA_VERSION=12.4.1"]},
           "GraphDriver":{"Name":"overlay","Data":{"UpperDir":"/store/upper","LowerDir":"/store/lower"}}}])";
  const auto image = Find("x:1", {.environment = {"HOME=/root"}});
  ASSERT_OK(image);
  EXPECT_EQ(image->source, "store of podman");
  EXPECT_EQ(image->libraries.size(), 2U);
  EXPECT_TRUE(image->is_looked_into);
  EXPECT_THAT(programs_.environment, Contains("HOME=/root"));
}

TEST_F(StoreTest, LayersThatNobodyShowsAreANote) {
  Install("docker");
  programs_.answers["/usr/bin/docker image inspect x:1"] =
      R"([{"Architecture":"amd64","Config":{}}])";
  const auto image = Find("x:1");
  ASSERT_OK(image);
  EXPECT_FALSE(image->is_looked_into);
  EXPECT_THAT(image->notes, ElementsAre(HasSubstr("--save FOLDER")));
}

TEST_F(StoreTest, WhatCouldBeReadOfClosedLayersIsUsed) {
  Install("podman");
  dir_.WriteFile("store/upper/usr/lib/libcudart.so.12.4.127", "");
  programs_.answers["/usr/bin/podman image inspect x:1"] =
      R"([{"Architecture":"amd64","Config":{},
           "GraphDriver":{"Data":{"UpperDir":"/store/upper","LowerDir":"/store/gone"}}}])";
  const auto image = Find("x:1");
  ASSERT_OK(image);
  EXPECT_EQ(image->libraries.size(), 1U);
  EXPECT_FALSE(image->is_looked_into);
  EXPECT_THAT(image->notes, ElementsAre(HasSubstr("--save FOLDER")));
}

TEST_F(StoreTest, AnImageIsSavedWhereOnlyItsUserCanEnter) {
  Install("docker");
  dir_.WriteFile("tmp/save/keep", "");
  programs_.answers["/usr/bin/docker image inspect x:1"] =
      R"([{"Architecture":"amd64","Config":{}}])";
  mode_t mode = 0;
  programs_.on_save = [this, &mode](const std::string& path) {
    struct stat facts = {};
    ASSERT_EQ(stat(dir_.At(path.substr(0, path.rfind('/'))).c_str(), &facts), 0);
    mode = facts.st_mode & 07777U;
    dir_.WriteFile(path, TarFile("c.json", "{}") +
                             TarFile("manifest.json", R"([{"Config":"c.json"}])") + TarEnd());
  };
  const auto image = Find("x:1", {.save_folder = "/tmp/save"});
  ASSERT_OK(image);
  EXPECT_TRUE(image->is_looked_into);
  EXPECT_EQ(mode, 0700U);
  EXPECT_THAT(std::distance(std::filesystem::directory_iterator(dir_.At("tmp/save")), {}), 1)
      << "nothing stays behind";
}

TEST_F(StoreTest, ASignalEndsASaveWithNothingLeftBehind) {
  Install("docker");
  dir_.WriteFile("tmp/save/keep", "");
  programs_.answers["/usr/bin/docker image inspect x:1"] =
      R"([{"Architecture":"amd64","Config":{}}])";
  programs_.on_save = [this](const std::string& path) {
    dir_.WriteFile(path, "half of it");
    dir_.WriteFile(path.substr(0, path.rfind('/')) + "/.docker_temp_1", "more of it");
    (void)raise(SIGINT);
  };
  EXPECT_EXIT(
      {
        (void)Find("x:1", {.save_folder = "/tmp/save"});
        std::_Exit(0);
      },
      ::testing::KilledBySignal(SIGINT), "");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_.At("tmp/save")), {}), 1);
}

TEST_F(StoreTest, LayersThatContainerdThrewAwayAreBroughtBackByACommand) {
  Install("ctr");
  const std::string manifest = "sha256:" + std::string(64, 'a');
  const std::string config = "sha256:" + std::string(64, 'b');
  const std::string layer = "sha256:" + std::string(64, 'c');
  programs_.answers["/usr/bin/ctr --connect-timeout 2s --namespace k8s.io images list"] =
      fmt::format("REF TYPE DIGEST SIZE\nr.io/x:1 application/x {} 1 MiB\n", manifest);
  programs_.answers["/usr/bin/ctr --namespace k8s.io content get " + manifest] =
      fmt::format(R"({{"config":{{"digest":"{}"}},"layers":[{{"digest":"{}"}}]}})", config, layer);
  programs_.answers["/usr/bin/ctr --namespace k8s.io content get " + config] = "{}";
  const auto image = Find("r.io/x:1");
  ASSERT_OK(image);
  EXPECT_FALSE(image->is_looked_into);
  EXPECT_THAT(image->notes, Contains(HasSubstr("ctr --namespace k8s.io content fetch r.io/x:1")));
}

TEST_F(StoreTest, ContainerdsContentIsReadByDigest) {
  Install("ctr");
  const std::string manifest = "sha256:" + std::string(64, 'a');
  const std::string config = "sha256:" + std::string(64, 'b');
  programs_.answers["/usr/bin/ctr --connect-timeout 2s --namespace k8s.io images list"] =
      fmt::format("REF TYPE DIGEST SIZE\nr.io/x:1 application/x {} 1 MiB\n", manifest);
  programs_.answers["/usr/bin/ctr --namespace k8s.io content get " + manifest] =
      fmt::format(R"({{"config":{{"digest":"{}"}},"layers":[]}})", config);
  dir_.WriteFile(
      "var/lib/containerd/io.containerd.content.v1.content/blobs/sha256/" + std::string(64, 'b'),
      R"({"architecture":"arm64","config":{"Env":["A=1"]}})");
  const auto image = Find("r.io/x:1");
  ASSERT_OK(image);
  EXPECT_EQ(image->architecture, "arm64");
  EXPECT_EQ(image->source, "store of containerd");
}

TEST_F(StoreTest, TheCriTellsTheConfigurationOnly) {
  Install("crictl");
  programs_.answers["/usr/bin/crictl inspecti --output json x:1"] =
      R"({"info":{"imageSpec":{"architecture":"amd64","config":{"Env":["CUDA_VERSION=12.0.0"]}}}})";
  const auto image = Find("x:1");
  ASSERT_OK(image);
  EXPECT_THAT(image->env, ElementsAre("CUDA_VERSION=12.0.0"));
  EXPECT_FALSE(image->is_looked_into);
}

TEST_F(StoreTest, AnImageThatNobodyHasNamesTheCommandThatFetchesIt) {
  Install("podman");
  EXPECT_THAT(Find("x:1").status(),
              StatusIs(StatusCode::kNotFound,
                       AllOf(HasSubstr("podman pull x:1"), HasSubstr("no such image"),
                             HasSubstr("docker is not installed"))));
}

TEST_F(StoreTest, OnlyTheEnginesNamedAreAsked) {
  Install("podman");
  Install("docker");
  const Status status = Find("x:1", {.kinds = {StoreKind::kDocker}}).status();
  EXPECT_THAT(status, StatusIs(StatusCode::kNotFound, HasSubstr("docker pull")));
  EXPECT_EQ(Message(status).find("podman"), std::string_view::npos);
}

TEST_F(StoreTest, FlagsAndPathsAreNoNames) {
  for (const char* name : {"--all", "", "a b", "$(x)", "/tmp/x", "./x", "gone.tar"}) {
    EXPECT_THAT(Find(name).status(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("neither")));
  }
}

TEST(EngineEnvironmentTest, HasWhatEnginesReadAlone) {
  EXPECT_THAT(EngineEnvironment({"HOME=/h", "SECRET=x", "DOCKER_HOST=unix:///s", "HOMELY=1"}),
              ElementsAre("HOME=/h", "DOCKER_HOST=unix:///s"));
}

TEST(EngineEnvironmentTest, AddressesOfThisHostsEnginesAreNotAnothers) {
  EXPECT_THAT(EngineEnvironment({"HOME=/h", "DOCKER_HOST=tcp://127.0.0.1:2375", "DOCKER_CONTEXT=a",
                                 "CONTAINERD_ADDRESS=/s", "CONTAINERD_NAMESPACE=k8s.io"},
                                /*is_own=*/false),
              ElementsAre("HOME=/h", "CONTAINERD_NAMESPACE=k8s.io"));
}

// ctr waits ten seconds for a socket that does not exist.
TEST_F(StoreTest, DoesNotAskAContainerdThatDoesNotRun) {
  Install("ctr");
  Remove(kContainerdSocket);
  programs_.answers["/usr/bin/ctr --namespace k8s.io images list"] = "REF TYPE DIGEST\n";
  EXPECT_THAT(Find("r.io/x:1").status(),
              StatusIs(StatusCode::kNotFound,
                       HasSubstr("containerd is not running: /run/containerd/containerd.sock")));
}

}  // namespace
}  // namespace kgpu::image
