#include "src/node/dra/slice_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/kube/api/json.h"

namespace kgpu::dra {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A server that takes each write.
class SlicePlanTest : public ::testing::Test {
 protected:
  static json::object Spec(std::string_view device, std::string_view taint = "") {
    json::object item = {{"name", device}};
    if (!taint.empty()) {
      item["taints"] = json::array{{{"key", taint}, {"effect", "NoSchedule"}}};
    }
    return {{"driver", kDriverName},
            {"nodeName", "n1"},
            {"pool", {{"name", "n1"}}},
            {"devices", json::array{item}}};
  }
  void Want(std::vector<json::object> specs) {
    wanted_ = NameSlices({.name = "n1", .uid = "u1"}, std::move(specs));
  }
  // "00000@1/2": the slice, its generation, the slices of the pool; "-00001": deleted.
  std::vector<std::string> Settle() {
    std::vector<std::string> writes;
    while (const auto write = NextWrite(wanted_, slices_, {}, now_)) {
      EXPECT_LT(writes.size(), 20U) << "it does not end";
      if (writes.size() == 20) {
        break;
      }
      const std::string number = write->name.substr(0, 5);
      if (write->is_delete()) {
        writes.push_back("-" + number);
        slices_.erase(write->name);
        continue;
      }
      json::value slice = write->object;
      slice.at("metadata").as_object()["uid"] = "of-" + write->name;
      const json::value& pool = slice.at("spec").at("pool");
      writes.push_back(fmt::format("{}@{}/{}", number, pool.at("generation").to_number<int>(),
                                   pool.at("resourceSliceCount").to_number<int>()));
      slices_[write->name] = std::move(slice);
    }
    return writes;
  }
  std::string TimeOf(const std::string& name) const {
    return std::string(kube::TextField(
        slices_.at(name).at("spec").at("devices").at(0).at("taints").at(0), {"timeAdded"}));
  }

  WantedSlices wanted_;
  std::map<std::string, json::value> slices_;
  WallTime now_{std::chrono::seconds(1'000'000)};
};

TEST_F(SlicePlanTest, NamesAreOrderedAndFit) {
  const WantedSlices named =
      NameSlices({.name = std::string(252, 'n') + "1"}, std::vector<json::object>(2));
  ASSERT_EQ(named.specs.size(), 2U);
  EXPECT_TRUE(named.specs.begin()->first.starts_with("00000-gpu.nvidia.com-n"));
  EXPECT_EQ(named.specs.begin()->first.size(), 253U);
}

TEST_F(SlicePlanTest, TheFirstGenerationIsOne) {
  Want({Spec("a"), Spec("b")});
  EXPECT_THAT(Settle(), ElementsAre("00000@1/2", "00001@1/2"));
  EXPECT_THAT(Settle(), IsEmpty());
}

TEST_F(SlicePlanTest, AChangeOfOneSliceIsOneWrite) {
  Want({Spec("a"), Spec("b")});
  Settle();
  Want({Spec("a"), Spec("b", "x.y/z")});
  EXPECT_THAT(Settle(), ElementsAre("00001@1/2"));
}

TEST_F(SlicePlanTest, AChangeOfSeveralIsAGeneration) {
  Want({Spec("a"), Spec("b"), Spec("c")});
  Settle();
  Want({Spec("x"), Spec("b"), Spec("z")});
  EXPECT_THAT(Settle(), ElementsAre("00000@2/3", "00001@2/3", "00002@2/3"));
}

TEST_F(SlicePlanTest, FewerAndMoreSlicesAreAGeneration) {
  Want({Spec("a"), Spec("b")});
  Settle();
  Want({Spec("a")});
  EXPECT_THAT(Settle(), ElementsAre("-00001", "00000@2/1"));
  Want({Spec("a"), Spec("b")});
  EXPECT_THAT(Settle(), ElementsAre("00000@3/2", "00001@3/2"));
}

TEST_F(SlicePlanTest, ASliceThatSomebodyRemovedComesBack) {
  Want({Spec("a"), Spec("b")});
  Settle();
  slices_.erase(slices_.begin());
  EXPECT_THAT(Settle(), ElementsAre("00000@1/2"));
}

TEST_F(SlicePlanTest, AChangeAmidAGenerationBeginsAnother) {
  Want({Spec("a"), Spec("b")});
  Settle();
  Want({Spec("x"), Spec("y")});
  const auto first = NextWrite(wanted_, slices_, {}, now_);
  slices_[first->name] = first->object;
  Want({Spec("x2"), Spec("y")});
  EXPECT_THAT(Settle(), ElementsAre("00000@3/2", "00001@3/2"));
}

TEST_F(SlicePlanTest, AnotherNodeObjectOwnsThem) {
  Want({Spec("a")});
  Settle();
  wanted_.node.uid = "u2";
  EXPECT_THAT(Settle(), ElementsAre("00000@1/1"));
  EXPECT_THAT(Settle(), IsEmpty());
}

// Of NVIDIA's driver, say, that served this node before.
TEST_F(SlicePlanTest, SlicesOfOthersGo) {
  slices_["n1-gpu.nvidia.com-x7k2p"] =
      json::parse(R"({"metadata":{"name":"n1-gpu.nvidia.com-x7k2p","uid":"u"},
          "spec":{"pool":{"generation":4,"resourceSliceCount":1}}})");
  Want({Spec("a")});
  EXPECT_THAT(Settle(), ElementsAre("-n1-gp", "00000@1/1"));
}

TEST_F(SlicePlanTest, ATaintKeepsItsTime) {
  Want({Spec("a", "x.y/z")});
  Settle();
  const std::string name = wanted_.specs.begin()->first;
  const std::string time = TimeOf(name);
  EXPECT_EQ(time, "1970-01-12T13:46:40Z");
  now_ += std::chrono::hours(1);
  EXPECT_THAT(Settle(), IsEmpty());
  json::object more = Spec("a", "x.y/z");
  more["devices"].as_array().push_back(json::object{{"name", "b"}});
  Want({more});
  EXPECT_THAT(Settle(), ElementsAre("00000@1/1"));
  EXPECT_EQ(TimeOf(name), time);
}

TEST_F(SlicePlanTest, ADroppedFieldIsNotWrittenForEver) {
  Want({Spec("a", "x.y/z")});
  const std::string sent = ContentOf(wanted_.specs.begin()->second);
  Settle();
  slices_.begin()->second.at("spec").at("devices").at(0).as_object().erase("taints");
  const std::string stored = ContentOf(slices_.begin()->second.at("spec").as_object());
  EXPECT_TRUE(NextWrite(wanted_, slices_, {}, now_));
  EXPECT_FALSE(NextWrite(wanted_, slices_, {{sent, stored}}, now_));
}

}  // namespace
}  // namespace kgpu::dra
