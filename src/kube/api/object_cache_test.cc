#include "src/kube/api/object_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "src/kube/api/json.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

json::value Object(std::string_view name, std::string_view version, std::string_view uid = "u") {
  return {{"metadata",
           {{"namespace", "ns"}, {"name", name}, {"resourceVersion", version}, {"uid", uid}}}};
}

std::vector<std::string> Texts(const std::vector<ObjectCache::Change>& changes) {
  std::vector<std::string> texts;
  for (const auto& change : changes) {
    for (const auto& [mark, object] :
         {std::pair("-", change.gone), std::pair("+", change.changed)}) {
      if (object) {
        texts.push_back(fmt::format("{}{}@{}", mark, KeyOf(*object), VersionOf(*object)));
      }
    }
  }
  return texts;
}

TEST(ObjectCacheTest, TellsWhatChanges) {
  ObjectCache cache;
  EXPECT_THAT(Texts(cache.Put(Object("a", "1"))), ElementsAre("+ns/a@1"));
  EXPECT_THAT(Texts(cache.Put(Object("a", "1"))), IsEmpty());
  EXPECT_THAT(Texts(cache.Put(Object("a", "2"))), ElementsAre("+ns/a@2"));
  // As it was before, not as the event has it.
  EXPECT_THAT(Texts(cache.Remove(Object("a", "3"))), ElementsAre("-ns/a@2"));
  EXPECT_THAT(Texts(cache.Remove(Object("a", "3"))), IsEmpty());
}

TEST(ObjectCacheTest, AnotherObjectOfTheSameNameIsAnother) {
  ObjectCache cache;
  cache.Put(Object("a", "1", "u1"));
  EXPECT_THAT(Texts(cache.Put(Object("a", "2", "u2"))), ElementsAre("-ns/a@1", "+ns/a@2"));
}

TEST(ObjectCacheTest, DerivesFromAListWhatIsGone) {
  ObjectCache cache;
  cache.Put(Object("a", "1"));
  cache.Put(Object("b", "2"));
  cache.Put(Object("c", "3"));
  std::vector<json::value> list = {Object("b", "2"), Object("c", "4"), Object("d", "5")};
  EXPECT_THAT(Texts(cache.Replace(std::move(list))), ElementsAre("+ns/c@4", "+ns/d@5", "-ns/a@1"));
  EXPECT_EQ(cache.objects().size(), 3U);
}

TEST(ObjectCacheTest, CountsItsMemory) {
  ObjectCache cache;
  json::value large = Object("a", "1");
  large.get_object()["text"] = std::string(10'000, 'x');
  cache.Put(Object("b", "1"));
  const size_t before = cache.bytes();
  EXPECT_GT(before, 100U);
  cache.Put(large);
  EXPECT_GT(cache.bytes(), before + 10'000);
  cache.Remove(large);
  EXPECT_EQ(cache.bytes(), before);
  cache.Replace({});
  EXPECT_EQ(cache.bytes(), 0U);
}

TEST(ObjectCacheTest, ObjectsWithoutANamespaceHaveTheirNames) {
  EXPECT_EQ(KeyOf({{"metadata", {{"name", "n1"}}}}), "n1");
  EXPECT_EQ(KeyOf(json::value()), "");
}

}  // namespace
}  // namespace kgpu::kube
