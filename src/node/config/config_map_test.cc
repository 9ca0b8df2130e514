#include "src/node/config/config_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::config {
namespace {

using ::testing::HasSubstr;

constexpr char kMap[] = R"(apiVersion: v1
kind: ConfigMap
metadata: {name: nvidia-device-plugin, namespace: kube-system}
data:
  default: |
    version: v1
    flags: {migStrategy: none}
  shared.json: '{"version": "v1"}'
)";

TEST(ConfigMapTest, GivesTheTextOfTheNamedKey) {
  const auto entry = ReadConfigMap(kMap, "cm.yaml", "default");
  ASSERT_OK(entry);
  ASSERT_TRUE(entry->has_value());
  EXPECT_EQ((*entry)->name, "cm.yaml: data.default");
  EXPECT_EQ((*entry)->text, "version: v1\nflags: {migStrategy: none}\n");
}

TEST(ConfigMapTest, ListsTheKeysWhereOneMustBeChosen) {
  for (const char* key : {"", "other"}) {
    EXPECT_THAT(ReadConfigMap(kMap, "cm.yaml", key).status(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("default, shared.json")));
  }
}

TEST(ConfigMapTest, TheOnlyKeyNeedsNoName) {
  const auto entry = ReadConfigMap("{kind: ConfigMap, data: {any: text}}", "cm.yaml", "");
  ASSERT_OK(entry);
  EXPECT_EQ((*entry)->text, "text");
}

TEST(ConfigMapTest, OtherTextsHaveNoKeys) {
  const auto entry = ReadConfigMap("version: v1\n", "v1.yaml", "");
  ASSERT_OK(entry);
  EXPECT_FALSE(entry->has_value());
  EXPECT_THAT(ReadConfigMap("version: v1\n", "v1.yaml", "a").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is not a ConfigMap")));
  EXPECT_THAT(ReadConfigMap("kind: ConfigMap\n", "cm.yaml", "").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is empty")));
}

}  // namespace
}  // namespace kgpu::config
