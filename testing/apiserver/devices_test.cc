// resource.k8s.io: the limits and rules of slices, claims and classes that a real server of 1.36
// showed.
#include <gmock/gmock.h>

#include <functional>

#include "testing/apiserver/api_fixture.h"
#include "testing/status_matchers.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";
constexpr const char* kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
constexpr const char* kClasses = "/apis/resource.k8s.io/v1/deviceclasses";

json::object Slice() {
  return json::parse(R"({"metadata":{"name":"s"},"spec":{"driver":"gpu.nvidia.com",
      "nodeName":"n1","pool":{"name":"n1","generation":1,"resourceSliceCount":1}}})")
      .as_object();
}

json::object Device(size_t number) {
  return {{"name", fmt::format("gpu-{}", number)}};
}

json::array Devices(size_t count, const std::function<void(json::object&)>& change = nullptr) {
  json::array devices;
  for (size_t i = 0; i < count; ++i) {
    json::object device = Device(i);
    if (change && i == 0) {
      change(device);
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

class DevicesTest : public ApiTest {
 protected:
  int PostDevices(const json::array& devices) {
    json::object slice = Slice();
    slice["metadata"].as_object()["name"] = fmt::format("s{}", ++slices_);
    slice["spec"].as_object()["devices"] = devices;
    return Post(kSlices, json::serialize(slice))->code;
  }
  // Of a slice with one device.
  int PostDevice(const std::function<void(json::object&)>& change) {
    return PostDevices(Devices(1, change));
  }

 private:
  int slices_ = 0;
};

TEST_F(DevicesTest, ASliceHas128Devices) {
  EXPECT_EQ(PostDevices(Devices(128)), 201);
  EXPECT_EQ(PostDevices(Devices(129)), 422);
}

TEST_F(DevicesTest, ATaintOrACounterHalvesThat) {
  const auto taint = [](json::object& device) {
    device["taints"] = json::parse(R"([{"key":"a/b","effect":"NoSchedule"}])");
  };
  const auto counters = [](json::object& device) {
    device["consumesCounters"] =
        json::parse(R"([{"counterSet":"c","counters":{"memory":{"value":"1"}}}])");
  };
  EXPECT_EQ(PostDevices(Devices(64, taint)), 201);
  EXPECT_EQ(PostDevices(Devices(65, taint)), 422);
  EXPECT_EQ(PostDevices(Devices(64, counters)), 201);
  EXPECT_EQ(PostDevices(Devices(65, counters)), 422);
}

TEST_F(DevicesTest, RefusesWhatA136Refuses) {
  const auto put = [](const char* field, const char* text) {
    return [=](json::object& device) { device[field] = json::parse(text); };
  };
  json::object many;
  for (int i = 0; i < 32; ++i) {
    many[fmt::format("a{}", i)] = {{"int", i}};
  }
  EXPECT_EQ(PostDevice([&](json::object& device) { device["attributes"] = many; }), 201);
  many["b"] = {{"bool", true}};
  EXPECT_EQ(PostDevice([&](json::object& device) { device["attributes"] = many; }), 422);
  EXPECT_EQ(PostDevice(put("name", R"("gpu.0")")), 422);
  EXPECT_EQ(PostDevice(put("attributes", R"({"a":{"version":"550.54.15"}})")), 201);
  EXPECT_EQ(PostDevice(put("attributes", R"({"a":{"version":"12.4"}})")), 422);
  EXPECT_EQ(PostDevice(put("attributes", R"({"a":{"version":"550.054.015"}})")), 422);
  EXPECT_EQ(PostDevice(put("attributes", R"({"a-b":{"int":1}})")), 422);
  EXPECT_EQ(PostDevice(put("attributes", R"({"a":{"int":1,"bool":true}})")), 422);
  EXPECT_EQ(PostDevice(put("taints", R"([{"key":"a","effect":"PreferNoSchedule"}])")), 422);
  EXPECT_EQ(PostDevice(put("nodeName", R"("n1")")), 422);
  EXPECT_EQ(
      PostDevice(put("consumesCounters", R"([{"counterSet":"a","counters":{"m":{"value":"1"}}},
      {"counterSet":"b","counters":{"m":{"value":"1"}}},
      {"counterSet":"c","counters":{"m":{"value":"1"}}}])")),
      422);
}

TEST_F(DevicesTest, APolicyNeedsADeviceThatIsShared) {
  const auto capacity = [](bool is_shared, const char* policy) {
    return [=](json::object& device) {
      device["allowMultipleAllocations"] = is_shared;
      device["capacity"] = {
          {"memory", {{"value", "80Gi"}, {"requestPolicy", json::parse(policy)}}}};
    };
  };
  const char* good = R"({"default":"1Gi","validRange":{"min":"1Gi","step":"1Gi"}})";
  EXPECT_EQ(PostDevice(capacity(true, good)), 201);
  EXPECT_EQ(PostDevice(capacity(false, good)), 422);
  EXPECT_EQ(PostDevice(capacity(true, R"({"validRange":{"min":"1Gi"}})")), 422);
  EXPECT_EQ(PostDevice(capacity(true, R"({"default":"81Gi","validRange":{"min":"81Gi"}})")), 422);
  EXPECT_EQ(PostDevice(capacity(true, R"({"default":"1Gi","validValues":["1Gi","2Gi"]})")), 201);
  EXPECT_EQ(PostDevice(capacity(true, R"({"default":"3Gi","validValues":["1Gi","2Gi"]})")), 422);
}

TEST_F(DevicesTest, CountersHaveASliceOfTheirOwn) {
  json::object slice = Slice();
  json::object& spec = slice["spec"].as_object();
  json::array sets;
  for (int i = 0; i < 8; ++i) {
    json::object counters;
    for (int j = 0; j < 32; ++j) {
      counters[fmt::format("c{}", j)] = {{"value", "1"}};
    }
    sets.push_back({{"name", fmt::format("gpu-{}", i)}, {"counters", counters}});
  }
  spec["sharedCounters"] = sets;
  EXPECT_EQ(Post(kSlices, json::serialize(slice))->code, 201);
  slice["metadata"].as_object()["name"] = "other";
  spec["devices"] = Devices(1);
  EXPECT_EQ(Post(kSlices, json::serialize(slice))->code, 422);
  spec.erase("devices");
  spec["sharedCounters"].as_array().push_back(sets[0]);
  EXPECT_EQ(Post(kSlices, json::serialize(slice))->code, 422);
}

TEST_F(DevicesTest, WritesOfASliceCountAndItsPlaceStays) {
  json::object slice = Slice();
  slice["spec"].as_object()["devices"] = Devices(1, [](json::object& device) {
    device["taints"] = json::parse(R"([{"key":"a","effect":"None"}])");
    device["capacity"] = {{"memory", {{"value", "1024Mi"}}}};
  });
  const json::object made = Post(kSlices, json::serialize(slice))->Json();
  EXPECT_EQ(NumberAt(made, {"metadata", "generation"}, 0), 1);
  const json::object& device = ItemsAt(made, {"spec", "devices"}).at(0).as_object();
  EXPECT_EQ(TextAt(device, {"capacity", "memory", "value"}), "1Gi");
  EXPECT_NE(TextAt(device.at("taints").as_array().at(0).as_object(), {"timeAdded"}), "");
  const std::string path = fmt::format("{}/s", kSlices);
  EXPECT_EQ(MergePatch(path, R"({"spec":{"pool":{"generation":2}}})")->code, 200);
  EXPECT_EQ(NumberAt(Get(path)->Json(), {"metadata", "generation"}, 0), 2);
  EXPECT_EQ(MergePatch(path, R"({"spec":{"nodeName":"n2"}})")->code, 422);
  const auto list = Get(fmt::format("{}?fieldSelector=spec.nodeName%3Dn1", kSlices))->Json();
  EXPECT_EQ(ListAt(list, {"items"})->size(), 1U);
}

TEST_F(DevicesTest, AClaimIsFixedAndItsStatusNamesItsDevices) {
  ASSERT_EQ(Post(kClaims, R"({"metadata":{"name":"c"},"spec":{"devices":{"requests":[
      {"name":"r","exactly":{"deviceClassName":"gpu.nvidia.com"}}]}}})")
                ->code,
            201);
  const std::string path = fmt::format("{}/c", kClaims);
  const json::object made = Get(path)->Json();
  const json::object& request = ItemsAt(made, {"spec", "devices", "requests"}).at(0).as_object();
  EXPECT_EQ(NumberAt(request, {"exactly", "count"}, 0), 1);
  EXPECT_EQ(TextAt(request, {"exactly", "allocationMode"}), "ExactCount");
  EXPECT_EQ(MergePatch(path, R"({"spec":{"devices":{"requests":[]}}})")->code, 422);
  const std::string status = fmt::format("{}/status", path);
  EXPECT_EQ(MergePatch(status, R"({"status":{"reservedFor":[{"resource":"pods","name":"p",
      "uid":"1"}]}})")
                ->code,
            422);
  EXPECT_EQ(MergePatch(status, R"({"status":{"allocation":{"devices":{"results":[
      {"request":"r","driver":"d","pool":"n1","device":"gpu-0"}]}}}})")
                ->code,
            200);
  const char* ready = R"({{"status":{{"devices":[{{"driver":"d","pool":"n1","device":"{}",
      "conditions":[]}}]}}}})";
  EXPECT_EQ(MergePatch(status, fmt::format(fmt::runtime(ready), "gpu-1"))->code, 422);
  EXPECT_EQ(MergePatch(status, fmt::format(fmt::runtime(ready), "gpu-0"))->code, 200);
  EXPECT_EQ(MergePatch(status, R"({"status":{"allocation":{"devices":{"results":[
      {"request":"r","driver":"d","pool":"n1","device":"gpu-7"}]}}}})")
                ->code,
            422);
}

TEST_F(DevicesTest, AClaimNamesItsOwnRequests) {
  const auto post = [&](const char* rest) {
    return Post(kClaims, fmt::format(R"({{"metadata":{{"generateName":"c-"}},"spec":{{"devices":
        {{"requests":[{{"name":"r","firstAvailable":[{{"name":"a","deviceClassName":"g"}}]}}],
        {}}}}}}})",
                                     rest))
        ->code;
  };
  EXPECT_EQ(post(R"("constraints":[{"requests":["r"],"matchAttribute":"a.b/c"}])"), 201);
  EXPECT_EQ(post(R"("constraints":[{"requests":["x"],"matchAttribute":"a.b/c"}])"), 422);
  EXPECT_EQ(post(R"("constraints":[{"requests":["r"],"matchAttribute":"c"}])"), 422);
  EXPECT_EQ(post(R"("config":[{"requests":["r/a"],"opaque":{"driver":"d","parameters":{}}}])"),
            201);
  EXPECT_EQ(post(R"("config":[{"requests":["r/b"],"opaque":{"driver":"d","parameters":{}}}])"),
            422);
  EXPECT_EQ(post(R"("config":[{"opaque":{"driver":"d","parameters":"x"}}])"), 422);
}

TEST_F(DevicesTest, AClassMayStandForAnExtendedResource) {
  EXPECT_EQ(Post(kClasses, R"({"metadata":{"name":"gpu.nvidia.com"},"spec":{
      "extendedResourceName":"nvidia.com/gpu",
      "selectors":[{"cel":{"expression":"device.driver == 'gpu.nvidia.com'"}}]}})")
                ->code,
            201);
  EXPECT_EQ(
      Post(kClasses, R"({"metadata":{"name":"b"},"spec":{"extendedResourceName":"cpu"}})")->code,
      422);
  EXPECT_EQ(Post(kClasses, R"({"metadata":{"name":"c"},"spec":{"selectors":[{}]}})")->code, 422);
}

}  // namespace
}  // namespace kgpu::apiserver
