#include "src/functions/build/build.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <memory>

#include "src/functions/build/test_fake_images.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;

class BuildTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_.WriteFile("host/usr/bin/apt-get", "");
    std::filesystem::permissions(dir_.At("host/usr/bin/apt-get"), std::filesystem::perms(0755));
    dir_.MakeDir("host/var/tmp");
    dir_.WriteFile("bin/kgpu-fnwatch", "program");
    dir_.WriteFile("hello/src/handler.cc",
                   "std::string Handler(const std::string r) { return r; }");
    auto host = sys::Root::Open(dir_.At("host"));
    ASSERT_OK(host);
    host_ = std::make_unique<sys::Root>(std::move(*host));
    Settle({.buildah = "/usr/bin/buildah"});
  }

  void Settle(BuilderSettings settings) {
    builder_ = std::make_unique<ImageBuilder>(images_, std::move(settings));
    bases_ = std::make_unique<BaseImages>(images_, *builder_, *host_, std::vector<std::string>{},
                                          "/var/tmp");
  }

  BuildDependencies Deps() {
    return {.builder = *builder_,
            .bases = *bases_,
            .host = *host_,
            .scratch = "/var/tmp",
            .on_step = [this](std::string_view step) { steps_.emplace_back(step); }};
  }

  StatusOr<BuildPlan> Plan() const {
    return PlanBuild({.function = function_,
                      .config_folder = dir_.At("hello"),
                      .worker = {{.path = "worker.cc", .content = "int main() {}"}},
                      .watchdog = dir_.At("bin/kgpu-fnwatch")});
  }

  StatusOr<BuiltImage> Build(bool again = false) {
    const auto plan = Plan();
    return plan.ok() ? BuildFunction(*plan, Deps(), again) : plan.status();
  }

  TempDir dir_;
  FakeImages images_;
  std::unique_ptr<sys::Root> host_;
  std::unique_ptr<ImageBuilder> builder_;
  std::unique_ptr<BaseImages> bases_;
  std::vector<std::string> steps_;
  Function function_{.name = "hello",
                     .runtime = "cpp",
                     .handler = {.dir = "./src", .file = "handler.cc", .name = "Handler"},
                     .image = "registry:5000/hello:v1"};
};

TEST_F(BuildTest, NamesTheImageByItsContentToo) {
  const auto built = Build();
  ASSERT_OK(built);
  EXPECT_TRUE(built->is_new);
  EXPECT_EQ(built->name, "registry:5000/hello:v1");
  EXPECT_THAT(built->content_name, ::testing::MatchesRegex("registry:5000/hello:[0-9a-f]{12}"));
  ASSERT_THAT(images_.images, Contains(Key(built->content_name)));
  EXPECT_THAT(images_.images, Contains(Key(built->name)));
  EXPECT_THAT(images_.images[built->name].files,
              ElementsAre("Containerfile", "build.sh", "function/src/handler.cc", "kgpu-fnwatch",
                          "worker/worker.cc"));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.At("host/var/tmp")));
  EXPECT_THAT(FindBuilt(*builder_, function_), IsOkAndHolds(built->content_name));
}

TEST_F(BuildTest, DoesNothingIfNothingChanged) {
  const auto first = Build();
  ASSERT_OK(first);
  const size_t builds = images_.Count("buildah", "build");
  const auto second = Build();
  ASSERT_OK(second);
  EXPECT_FALSE(second->is_new);
  EXPECT_EQ(second->content_name, first->content_name);
  EXPECT_EQ(images_.Count("buildah", "build"), builds);
  EXPECT_EQ(images_.Count("apt-get", "install"), 2U);  // the two base images, once
}

TEST_F(BuildTest, BuildsAgainWhenAnythingChanged) {
  const auto first = Build();
  ASSERT_OK(first);
  dir_.WriteFile("hello/src/handler.cc", "// other");
  const auto second = Build();
  ASSERT_OK(second);
  EXPECT_NE(second->content_name, first->content_name);
  dir_.WriteFile("bin/kgpu-fnwatch", "newer program");
  const auto third = Build();
  ASSERT_OK(third);
  EXPECT_NE(third->content_name, second->content_name);
  // As before: nothing of the other builds is in the way.
  dir_.WriteFile("bin/kgpu-fnwatch", "program");
  EXPECT_THAT(Build(),
              IsOkAndHolds(BuiltImage{
                  .name = second->name, .content_name = second->content_name, .is_new = false}));
}

TEST_F(BuildTest, KnowsWhetherSourcesChangedSinceTheImageWasBuilt) {
  const auto is_outdated = [&] { return IsOutdated(Plan().value(), Deps()); };
  EXPECT_THAT(is_outdated(), IsOkAndHolds(std::nullopt)) << "there is no image";
  ASSERT_OK(Build());
  const size_t builds = images_.Count("buildah", "build");
  EXPECT_THAT(is_outdated(), IsOkAndHolds(std::optional(false)));
  dir_.WriteFile("hello/src/handler.cc", "// other");
  EXPECT_THAT(is_outdated(), IsOkAndHolds(std::optional(true)));
  EXPECT_EQ(images_.Count("buildah", "build"), builds);
  ASSERT_OK(Build());
  EXPECT_THAT(is_outdated(), IsOkAndHolds(std::optional(false)));
}

TEST_F(BuildTest, TakesNewPackagesOnlyIfAsked) {
  const auto first = Build();
  ASSERT_OK(first);
  images_.package_version = "1.1";
  const auto second = Build();
  ASSERT_OK(second);
  EXPECT_EQ(second->content_name, first->content_name);
  const auto third = Build(true);
  ASSERT_OK(third);
  EXPECT_TRUE(third->is_new);
  EXPECT_NE(third->content_name, first->content_name);
}

TEST_F(BuildTest, PullsChosenImagesAgainIfAsked) {
  function_.base_image = "registry:5000/cuda:12";
  ASSERT_OK(Build());
  EXPECT_EQ(images_.Count("buildah", "pull"), 0U);
  ASSERT_OK(Build(true));
  EXPECT_EQ(images_.Count("buildah", "pull"), 2U);
  EXPECT_EQ(images_.Count("apt-get", "install"), 0U);
}

TEST_F(BuildTest, ShowsAllThatTheCompilerSaid) {
  ASSERT_OK(Build());
  images_.build_error =
      "STEP 7/8: RUN sh build.sh\n./src/handler.cc:1:7: error: no\n    1 | x\n      | ^\n"
      "subprocess exited with status 1\nError: building at STEP \"RUN\": exit status 1\n";
  dir_.WriteFile("hello/src/handler.cc", "x");
  EXPECT_THAT(Build(), StatusIs(StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("function hello"),
                                      HasSubstr("./src/handler.cc:1:7: error: no\n    1 | x\n"),
                                      Not(HasSubstr("STEP")))));
}

TEST_F(BuildTest, SaysWhatIsMissing) {
  images_.apt_error = "E: Unable to locate package g++\n";
  EXPECT_THAT(Build(), StatusIs(StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("Unable to locate package"),
                                      HasSubstr("apt-get update"), HasSubstr("baseImage"))));
  std::filesystem::remove(dir_.At("host/usr/bin/apt-get"));
  EXPECT_THAT(Build(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("baseImage")));
  Settle({.buildah = ""});
  EXPECT_THAT(Build(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("apt-get install buildah")));
}

TEST_F(BuildTest, SaysThatTheWatchdogIsMissing) {
  std::filesystem::remove(dir_.At("bin/kgpu-fnwatch"));
  EXPECT_THAT(Build(), StatusIs(StatusCode::kNotFound, HasSubstr("kgpu-fnwatch")));
}

TEST_F(BuildTest, PushesBothNamesWithTheCredentialsOfTheFile) {
  function_.registry_auth = "dXNlcjpwYXNz";
  const auto built = Build();
  ASSERT_OK(built);
  EXPECT_OK(PushFunction(function_, built->content_name, Deps(), {.is_plain_http = true}));
  EXPECT_THAT(images_.registry, Contains(Key("docker://" + built->name)));
  EXPECT_THAT(images_.registry, Contains(Key("docker://" + built->content_name)));
  EXPECT_EQ(images_.Count("buildah", "--authfile"), 2U);
  EXPECT_EQ(images_.Count("buildah", "--tls-verify=false"), 2U);
  EXPECT_TRUE(std::filesystem::is_empty(dir_.At("host/var/tmp")));
}

TEST_F(BuildTest, ExplainsWhyAPushFailed) {
  const auto built = Build();
  ASSERT_OK(built);
  const auto push = [&](std::string error) {
    images_.push_error = std::move(error);
    return PushFunction(function_, built->content_name, Deps(), {});
  };
  EXPECT_THAT(push("Error: http: server gave HTTP response to HTTPS client"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--plain-http")));
  EXPECT_THAT(push("Error: unauthorized: authentication required"),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("--authfile")));
  EXPECT_THAT(push("Error: dial tcp 127.0.0.1:1: connect: connection refused"),
              StatusIs(StatusCode::kUnavailable, HasSubstr("registry:5000/hello")));
}

TEST_F(BuildTest, AFileThatIsSavedMeanwhileIsNotBuiltUnderTheOldDigest) {
  const auto plan = Plan();
  ASSERT_OK(plan);
  BuildDependencies deps = Deps();
  deps.on_step = [this](std::string_view step) {
    if (step.starts_with("building")) {
      dir_.WriteFile("hello/src/handler.cc",
                     "std::string Handler(const std::string) { return {}; }");
    }
  };
  EXPECT_THAT(BuildFunction(*plan, deps, false),
              StatusIs(StatusCode::kUnavailable, HasSubstr("changed meanwhile: build again")));
  EXPECT_EQ(images_.Count("buildah", "registry:5000/hello:v1"), 0U);
}

TEST_F(BuildTest, PrintsWhatItWouldDo) {
  const auto plan = Plan();
  ASSERT_OK(plan);
  const std::string text = PlanText(*plan);
  EXPECT_THAT(text, HasSubstr("image registry:5000/hello:v1\n"));
  EXPECT_THAT(text, HasSubstr("  from Debian's packages coreutils, dash, g++\n"));
  EXPECT_THAT(text, HasSubstr("  src/handler.cc\n"));
  EXPECT_THAT(text, HasSubstr("\nENTRYPOINT [\"/usr/local/bin/kgpu-fnwatch\"]\n"));
  EXPECT_THAT(text, HasSubstr("\n# build.sh\nset -eu\n"));
  EXPECT_THAT(images_.argvs, IsEmpty());
}

}  // namespace
}  // namespace kgpu::functions
