// The publisher on the stub API server, in simulated time.
#include "src/node/dra/publisher.h"

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

namespace kgpu::dra {
namespace {

namespace json = boost::json;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kSlices[] = "/apis/resource.k8s.io/v1/resourceslices";

class PublisherTest : public ::testing::Test {
 protected:
  PublisherTest() {
    SetLogSink([](LogLevel, std::string_view) {});
    Start();
  }
  ~PublisherTest() override { SetLogSink({}); }

  void Start() {
    publisher_ = std::make_unique<Publisher>(loop_, client_, random_, "n1", [] {});
  }
  static json::object Spec(std::string_view device) {
    return {{"driver", kDriverName},
            {"nodeName", "n1"},
            {"pool", {{"name", "n1"}}},
            {"devices", json::array{{{"name", device}}}}};
  }
  void Want(const std::vector<std::string>& devices) {
    std::vector<json::object> specs;
    for (const std::string& device : devices) {
      specs.push_back(Spec(device));
    }
    publisher_->SetWanted(NameSlices({.name = "n1", .uid = "u1"}, specs));
    Settle();
  }
  void Settle(std::chrono::nanoseconds time = seconds(2)) {
    loop_.RunUntilIdle();
    loop_.Advance(time);
  }
  // "gpu-0@1/2": the device of each slice, the slice's generation, the slices of the pool.
  std::vector<std::string> Slices() {
    std::vector<std::string> found;
    const auto list = api_.Do("GET", kSlices, nullptr);
    EXPECT_TRUE(list.ok()) << list.status();
    for (const json::value& slice : list->at("items").as_array()) {
      const json::value& pool = slice.at("spec").at("pool");
      found.push_back(fmt::format(
          "{}@{}/{}", kube::TextField(slice.at("spec").at("devices").at(0), {"name"}),
          pool.at("generation").to_number<int>(), pool.at("resourceSliceCount").to_number<int>()));
    }
    return found;
  }
  std::string NameOfFirst() {
    const auto list = api_.Do("GET", kSlices, nullptr);
    return std::string(kube::NameOf(list->at("items").as_array().at(0)));
  }
  void Delete(const std::string& name) {
    ASSERT_TRUE(api_.Do("DELETE", fmt::format("{}/{}", kSlices, name), nullptr).ok());
    Settle();
  }

  FakeLoop loop_;
  Random random_{1};
  apiserver::Api api_{loop_};
  apiserver::MemoryTransport transport_{loop_, api_};
  kube::TestAuthenticator authenticator_;
  kube::HttpClient client_{loop_, transport_, authenticator_, random_};
  std::unique_ptr<Publisher> publisher_;
};

TEST_F(PublisherTest, WritesWhatDiffersAndNothingElse) {
  Want({"gpu-0", "gpu-1"});
  EXPECT_THAT(Slices(), ElementsAre("gpu-0@1/2", "gpu-1@1/2"));
  EXPECT_TRUE(publisher_->state().is_published);
  EXPECT_EQ(publisher_->state().writes, 2U);
  Want({"gpu-0", "gpu-1"});
  Settle(minutes(10));
  EXPECT_EQ(publisher_->state().writes, 2U);
  Want({"gpu-0", "gpu-7"});
  EXPECT_THAT(Slices(), ElementsAre("gpu-0@1/2", "gpu-7@1/2"));
  EXPECT_EQ(publisher_->state().writes, 3U);
}

TEST_F(PublisherTest, TheNextProcessWritesNothing) {
  Want({"gpu-0", "gpu-1"});
  const std::string before = api_.Dump();
  Start();
  Want({"gpu-0", "gpu-1"});
  EXPECT_TRUE(publisher_->state().is_published);
  EXPECT_EQ(publisher_->state().writes, 0U);
  EXPECT_EQ(api_.Dump(), before);
}

// The kubelet removes all slices of its node when it starts.
TEST_F(PublisherTest, SlicesThatVanishComeBack) {
  Want({"gpu-0", "gpu-1"});
  Delete(NameOfFirst());
  EXPECT_THAT(Slices(), ElementsAre("gpu-0@1/2", "gpu-1@1/2"));
  for (int i = 0; i < 2; ++i) {
    Delete(NameOfFirst());
  }
  EXPECT_THAT(Slices(), SizeIs(2));
  EXPECT_TRUE(publisher_->state().is_published);
}

TEST_F(PublisherTest, AnotherPersonsChangeIsUndone) {
  Want({"gpu-0"});
  ASSERT_TRUE(api_.Do("PATCH", fmt::format("{}/{}", kSlices, NameOfFirst()),
                      {{"spec", {{"devices", json::array{{{"name", "gpu-9"}}}}}}})
                  .ok());
  Settle();
  EXPECT_THAT(Slices(), ElementsAre("gpu-0@1/1"));
}

TEST_F(PublisherTest, ARefusalIsReportedAndTriedAgain) {
  Want({"Not-A-Label"});
  EXPECT_FALSE(publisher_->state().is_published);
  EXPECT_THAT(publisher_->state().problem, HasSubstr("spec.devices[0].name"));
  EXPECT_THAT(Slices(), IsEmpty());
  Want({"gpu-0"});
  Settle(minutes(2));
  EXPECT_TRUE(publisher_->state().is_published);
  EXPECT_EQ(publisher_->state().problem, "");
}

TEST_F(PublisherTest, TheWatchMayLag) {
  Want({"gpu-0", "gpu-1"});
  api_.CutWatches("resourceslices");
  Want({"gpu-2", "gpu-3"});
  Settle(minutes(3));
  EXPECT_THAT(Slices(), ElementsAre("gpu-2@2/2", "gpu-3@2/2"));
  EXPECT_EQ(publisher_->state().writes, 4U);
}

TEST_F(PublisherTest, SlicesOfOtherNodesAndDriversStay) {
  for (const char* other : {R"({"driver":"gpu.nvidia.com","nodeName":"n2"})",
                            R"({"driver":"nic.example.com","nodeName":"n1"})"}) {
    json::value spec = json::parse(other);
    spec.as_object()["pool"] = {{"name", "p"}, {"generation", 1}, {"resourceSliceCount", 1}};
    spec.as_object()["devices"] = json::array{{{"name", "other"}}};
    ASSERT_TRUE(api_.Do("POST", kSlices,
                        {{"apiVersion", "resource.k8s.io/v1"},
                         {"kind", "ResourceSlice"},
                         {"metadata", {{"generateName", "other-"}}},
                         {"spec", spec}})
                    .ok());
  }
  Want({"gpu-0"});
  EXPECT_THAT(Slices(), SizeIs(3));
}

}  // namespace
}  // namespace kgpu::dra
