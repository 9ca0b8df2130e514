#include "src/cluster/controller/class_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <memory>

#include "src/kube/api/http_client.h"
#include "src/kube/api/json.h"
#include "src/kube/api/test_transport.h"
#include "src/platform/base/log.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::controller {
namespace {

namespace json = boost::json;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kSlicesPath[] = "/apis/resource.k8s.io/v1/resourceslices";
constexpr char kClassesPath[] = "/apis/resource.k8s.io/v1/deviceclasses";

class ClassWriterTest : public ::testing::Test {
 protected:
  ClassWriterTest() {
    SetLogSink([](LogLevel, std::string_view) {});
  }
  void TearDown() override { SetLogSink({}); }

  void Start() { writer_ = std::make_unique<ClassWriter>(loop_, client_, random_); }
  // A slice of one device.
  void AddSlice(const std::string& node, const json::object& attributes,
                std::string_view driver = "gpu.nvidia.com") {
    EXPECT_OK(
        api_.Do("POST", kSlicesPath,
                {{"apiVersion", "resource.k8s.io/v1"},
                 {"kind", "ResourceSlice"},
                 {"metadata", {{"name", fmt::format("{}-{}", node, driver)}}},
                 {"spec",
                  {{"driver", driver},
                   {"nodeName", node},
                   {"pool", {{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}}},
                   {"devices", json::array{{{"name", "gpu-0"}, {"attributes", attributes}}}}}}}));
  }
  static json::object Device(std::string_view pool, std::string_view type = "gpu") {
    return {{"kgpu.dev/pool", {{"string", pool}}}, {"type", {{"string", type}}}};
  }
  void Settle(std::chrono::nanoseconds time = seconds(30)) {
    loop_.RunUntilIdle();
    loop_.Advance(time);
  }
  // "gpu.nvidia.com=nvidia.com/gpu": each class and its resource.
  std::vector<std::string> Classes() {
    std::vector<std::string> found;
    const auto list = api_.Do("GET", kClassesPath, nullptr);
    EXPECT_OK(list);
    for (const json::value& one : list->at("items").as_array()) {
      found.push_back(fmt::format("{}={}", kube::NameOf(one),
                                  kube::TextField(one, {"spec", "extendedResourceName"})));
    }
    return found;
  }
  std::string SelectorOf(const std::string& name) {
    const auto found = api_.Do("GET", fmt::format("{}/{}", kClassesPath, name), nullptr);
    EXPECT_OK(found);
    return std::string(
        kube::TextField(found->at("spec").at("selectors").at(0), {"cel", "expression"}));
  }

  FakeLoop loop_;
  Random random_{1};
  apiserver::Api api_{loop_};
  apiserver::MemoryTransport transport_{loop_, api_};
  kube::TestAuthenticator authenticator_;
  kube::HttpClient client_{loop_, transport_, authenticator_, random_};
  std::unique_ptr<ClassWriter> writer_;
};

TEST_F(ClassWriterTest, EachPoolHasAClassThatServesItsResource) {
  AddSlice("n1", Device("nvidia.com/gpu"));
  AddSlice("n2", Device("nvidia.com/gpu-20gi"));
  AddSlice("n3", Device("nvidia.com/mig-1g.10gb", "mig"));
  Start();
  Settle();
  EXPECT_THAT(
      Classes(),
      ElementsAre("gpu-20gi.nvidia.com=nvidia.com/gpu-20gi", "gpu.nvidia.com=nvidia.com/gpu",
                  "mig-1g.10gb.nvidia.com=nvidia.com/mig-1g.10gb", "mig.nvidia.com="));
  EXPECT_THAT(SelectorOf("gpu.nvidia.com"), HasSubstr(R"(.pool == "nvidia.com/gpu")"));
  EXPECT_THAT(SelectorOf("mig.nvidia.com"), HasSubstr(R"(.type == "mig")"));
}

TEST_F(ClassWriterTest, NewPoolsHaveTheirClassesSoon) {
  Start();
  Settle();
  EXPECT_THAT(Classes(), IsEmpty());
  AddSlice("n1", Device("example.com/A100_big"));
  Settle();
  EXPECT_THAT(Classes(),
              ElementsAre("a100-big.example.com=example.com/A100_big", "gpu.nvidia.com="));
  EXPECT_THAT(SelectorOf("gpu.nvidia.com"), HasSubstr(R"(.type == "gpu")"));
  EXPECT_EQ(writer_->written(), 2U);
  Settle(minutes(10));
  EXPECT_EQ(writer_->written(), 2U) << "and nothing without a change";
}

TEST_F(ClassWriterTest, DevicesOfOtherDriversHaveNone) {
  AddSlice("n1", Device("nvidia.com/gpu"), "gpu.example.com");
  Start();
  Settle();
  EXPECT_THAT(Classes(), IsEmpty());
}

TEST_F(ClassWriterTest, AClassThatSomebodyElseMadeStaysAsItIs) {
  EXPECT_OK(api_.Do("POST", kClassesPath,
                    {{"apiVersion", "resource.k8s.io/v1"},
                     {"kind", "DeviceClass"},
                     {"metadata", {{"name", "gpu.nvidia.com"}}},
                     {"spec", {{"selectors", json::array{{{"cel", {{"expression", "true"}}}}}}}}}));
  AddSlice("n1", Device("nvidia.com/gpu"));
  AddSlice("n2", Device("nvidia.com/gpu-20gi"));
  Start();
  Settle(minutes(5));
  EXPECT_THAT(Classes(), ElementsAre("gpu-20gi.nvidia.com=nvidia.com/gpu-20gi", "gpu.nvidia.com="));
  EXPECT_EQ(SelectorOf("gpu.nvidia.com"), "true");
}

TEST_F(ClassWriterTest, DevicesOfNvidiasDriverMakeTheClassOfAllGpus) {
  AddSlice("n1", {{"type", {{"string", "gpu"}}}});
  Start();
  Settle();
  EXPECT_THAT(Classes(), ElementsAre("gpu.nvidia.com="));
}

}  // namespace
}  // namespace kgpu::controller
