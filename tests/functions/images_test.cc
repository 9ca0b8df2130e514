// Images of functions, really built and run: `kgpu fn init`, `build` and `run`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "src/platform/base/strings.h"
#include "tests/functions/image_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Every byte, so that nothing that takes them for text would pass.
std::string AllBytes() {
  std::string bytes;
  for (int i = 0; i < 256 * 40; ++i) {
    bytes += static_cast<char>(i);
  }
  return bytes;
}

class FunctionImages : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = ImageHost::SkipReason(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }

  // config.yaml of a handler that is written by the test.
  std::string Write(const std::string& runtime, const std::string& file, const std::string& text,
                    const std::string& image = "") const {
    host_.dir().WriteFile("hello/src/" + file, text);
    host_.dir().WriteFile(
        "hello/config.yaml",
        fmt::format("functions:\n  hello:\n    runtime: {}\n    network: none\n    handler:\n"
                    "      dir: ./src\n      file: {}\n{}",
                    runtime, file, image.empty() ? "" : fmt::format("    image: {}\n", image)));
    return host_.dir().At("hello/config.yaml");
  }

  // The name of the image that `kgpu fn build` prints; empty if it failed.
  std::string Build(const std::string& config, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"build", "-f", config};
    words.insert(words.end(), more.begin(), more.end());
    const Result built = host_.Fn(words);
    EXPECT_EQ(built.code, 0) << built.err;
    return std::string(Trim(built.out));
  }

  ImageHost host_;
};

TEST_F(FunctionImages, PythonIsBuiltOnceCalledAndPushed) {
  const LocalRegistry registry(host_.dir());
  const bool has_registry = !LocalRegistry::Program().empty() && !registry.address().empty();
  const std::string name =
      has_registry ? registry.address() + "/team/hello:v1" : "localhost/team/hello:v1";
  const std::string config =
      Write("python3", "handler.py",
            "import sys\n"
            "def Handler(req):\n"
            "    print('said by the handler', file=sys.stderr)\n"
            "    if req.input == b'fail': raise ValueError('no such thing')\n"
            "    return req.input\n",
            name);
  const std::string image = Build(config);
  ASSERT_THAT(image, ::testing::StartsWith(name.substr(0, name.rfind(':'))));

  const Result called = host_.Fn({"run", "hello", "-f", config}, AllBytes());
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_TRUE(called.out == AllBytes()) << called.err;
  EXPECT_THAT(called.err, HasSubstr("said by the handler"));
  const Result failed = host_.Fn({"run", "-f", config}, "fail");
  EXPECT_EQ(failed.code, 7) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("no such thing"));
  EXPECT_EQ(host_.Engine("podman", {"ps", "--all", "--quiet"}).out, "");

  const Result again = host_.Fn({"build", "-f", config});
  EXPECT_EQ(Trim(again.out), image);
  EXPECT_THAT(again.err, HasSubstr("nothing changed"));
  EXPECT_THAT(again.err, Not(HasSubstr("building")));

  if (!has_registry) {
    GTEST_SKIP() << "docker-registry is missing: the image was not pushed";
  }
  EXPECT_EQ(Build(config, {"--push", "--plain-http"}), image);
  EXPECT_EQ(host_.Engine("podman", {"rmi", "--all", "--force"}).code, 0);
  const Result pulled = host_.Engine("podman", {"pull", "--quiet", "--tls-verify=false", image});
  EXPECT_EQ(pulled.code, 0) << pulled.err;
  EXPECT_EQ(host_.Engine("podman", {"tag", image, name}).code, 0);
  const Result elsewhere = host_.Fn({"run", "-f", config}, "hi");
  EXPECT_EQ(elsewhere.out, "hi") << elsewhere.err;
}

TEST_F(FunctionImages, CppIsSmallAndItsErrorsNameTheLine) {
  const std::string config = Write("cpp", "handler.cc",
                                   "#include <string>\n\n"
                                   "std::string Handler(const std::string input) {\n"
                                   "  return inptu;\n}\n");
  const Result wrong = host_.Fn({"build", "-f", config});
  EXPECT_EQ(wrong.code, 6) << wrong.err;
  EXPECT_THAT(wrong.err, HasSubstr("src/handler.cc:4:10: error:"));
  EXPECT_THAT(wrong.err, HasSubstr("did you mean"));
  EXPECT_THAT(wrong.err, Not(HasSubstr("STEP")));

  Write("cpp", "handler.cc",
        "#include <string>\nstd::string Handler(const std::string input) { return input; }\n");
  const std::string image = Build(config);
  const Result called = host_.Fn({"run", "-f", config}, AllBytes());
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_TRUE(called.out == AllBytes()) << called.err;
  const Result size = host_.Engine("podman", {"image", "inspect", "--format={{.Size}}", image});
  EXPECT_LT(ParseUint(Trim(size.out)).value_or(UINT64_MAX), 50'000'000U) << size.out;
}

// The others take minutes: with `scripts/test.sh --slow` alone.
TEST_F(FunctionImages, TemplatesOfTheOtherRuntimesEcho) {
  if (std::getenv("KGPU_TEST_SLOW") == nullptr) {  // NOLINT(concurrency-mt-unsafe): one thread
    GTEST_SKIP() << "slow: scripts/test.sh --slow runs it";
  }
  for (const char* runtime : {"nodejs", "go", "ruby", "java"}) {
    SCOPED_TRACE(runtime);
    host_.Init(runtime, runtime);
    const std::string config = host_.dir().At(fmt::format("{}.yaml", runtime));
    EXPECT_NE(Build(config), "");
    const Result called = host_.Fn({"run", "-f", config}, "hi");
    EXPECT_EQ(called.out, "hi") << called.err;
  }
}

}  // namespace
}  // namespace kgpu::e2e
