// kgpu cluster gpus and kgpu top --cluster beside the stub API server.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/doc/doc.h"
#include "src/platform/net/http/client.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/e2e/tmux.h"

namespace kgpu::e2e {
namespace {

using ::testing::HasSubstr;

class ClusterGpusTest : public ::testing::Test {
 protected:
  ClusterGpusTest() {
    server_ = std::make_unique<Background>(
        std::vector<std::string>{"kgpu-sim", "apiserver", "--kubeconfig-out", At("kubeconfig")});
    EXPECT_TRUE(server_->WaitFor("serving on http://"));
    const std::string& out = server_->out();
    const size_t begin = out.find("http://") + 7;
    address_ = out.substr(begin, out.find('\n', begin) - begin);
  }

  std::string At(const std::string& path) const { return dir_.At(path); }

  void Create(const std::string& path, const std::string& object) const {
    http::Request request{.method = "POST", .target = path, .body = object};
    request.headers.Add("Content-Type", "application/json");
    const auto answer = http::Fetch(address_, request);
    ASSERT_OK(answer);
    EXPECT_LT(answer->code, 300) << answer->body;
  }
  void CreateNode(const std::string& name, const char* ready = "True") const {
    Create(
        "/api/v1/nodes",
        fmt::format(
            R"({{"metadata":{{"name":"{}","labels":{{"kgpu.dev/gpu.model.T4.count":"8"}}}},)"
            R"("status":{{"capacity":{{"nvidia.com/gpu":"8"}},)"
            R"("allocatable":{{"nvidia.com/gpu":"8"}},)"
            R"("conditions":[{{"type":"GPUReady","status":"{}","reason":"DriverNoLibrary"}}]}}}})",
            name, ready));
  }
  void CreatePod(const std::string& name, const std::string& node, int gpus) const {
    Create(
        "/api/v1/namespaces/default/pods",
        fmt::format(
            R"({{"metadata":{{"name":"{}"}},"spec":{{"nodeName":"{}","containers":[)"
            R"({{"name":"c","image":"i","resources":{{"limits":{{"nvidia.com/gpu":"{}"}}}}}}]}}}})",
            name, node, gpus));
  }
  Result Gpus(std::vector<std::string> words) const {
    words.insert(words.begin(), {"kgpu", "cluster", "gpus", "--kubeconfig", At("kubeconfig")});
    return RunProgram(std::move(words));
  }

  TempDir dir_;
  std::unique_ptr<Background> server_;
  std::string address_;
};

TEST_F(ClusterGpusTest, CountsAThousandNodes) {
  constexpr int kNodes = 1000;
  for (int i = 0; i < kNodes; ++i) {
    const std::string node = fmt::format("gpu-{:04}", i);
    CreateNode(node, i == 7 ? "False" : "True");
    if (i % 2 == 0) {
      CreatePod("train-" + node, node, 3);
    }
  }
  const Result table = Gpus({"--by", "model"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(table.out,
            "MODEL  NODES  POOLS           TOTAL  USED  FREE  UNHEALTHY  CORDONED\n"
            "T4     1000   nvidia.com/gpu  8000   1500  6492  8          0\n"
            "\n"
            "1500 of 8000 used, 6492 free, 8 unhealthy\n");
  EXPECT_EQ(table.err, "");
  const Result text = Gpus({"--output", "json"});
  const auto json = doc::Parse(text.out, doc::Format::kJson, "gpus", {.bytes = 16 << 20});
  ASSERT_OK(json);
  EXPECT_EQ(json->at("groups").as_array().size(), 1000U);
  EXPECT_EQ(json->at("gpus").at("used"), 1500);
}

TEST_F(ClusterGpusTest, IsWatched) {
  if (!HasTmux()) {
    GTEST_SKIP() << "tmux is not installed here";
  }
  CreateNode("gpu-a");
  CreateNode("gpu-b", "False");
  Tmux tmux(80, 20,
            fmt::format("{} top --cluster --every 2s --kubeconfig {}", ProgramPath("kgpu"),
                        At("kubeconfig")));
  ASSERT_TRUE(tmux.WaitFor("0 of 16 used, 8 free, 8 unhealthy")) << tmux.Screen();
  CreatePod("train", "gpu-a", 2);
  ASSERT_TRUE(tmux.WaitFor("2 of 16 used, 6 free, 8 unhealthy")) << tmux.Screen();
  tmux.Press({"Enter"});
  ASSERT_TRUE(tmux.WaitFor("default/train")) << tmux.Screen();
  tmux.Press({"Down", "e"});
  ASSERT_TRUE(tmux.WaitFor("kgpu explain pod default/train")) << tmux.Screen();
  ASSERT_TRUE(tmux.WaitFor("gpu-a")) << tmux.Screen();
  tmux.Press({"q", "b", "b", "b"});
  ASSERT_TRUE(tmux.WaitFor("NAMESPACE")) << tmux.Screen();
  server_->Stop();
  ASSERT_TRUE(tmux.WaitFor("since ")) << tmux.Screen();
}

TEST_F(ClusterGpusTest, ErrorsNameTheirCause) {
  const Result by = Gpus({"--by", "pod"});
  EXPECT_EQ(by.code, 2);
  EXPECT_THAT(by.err, HasSubstr("--by: \"pod\" must be node, model, pool or namespace"));
  const Result run_dir = RunProgram({"kgpu", "top", "--model", "T4"});
  EXPECT_EQ(run_dir.code, 2);
  EXPECT_THAT(run_dir.err, HasSubstr("--cluster"));
}

}  // namespace
}  // namespace kgpu::e2e
