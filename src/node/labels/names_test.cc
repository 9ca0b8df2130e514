#include "src/node/labels/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::labels {
namespace {

TEST(NamesTest, SplitsKeysAtTheirFirstSlash) {
  EXPECT_EQ(NamespaceOf("a.io/b"), "a.io");
  EXPECT_EQ(BaseOf("a.io/b"), "b");
  EXPECT_EQ(NamespaceOf("b"), "");
  EXPECT_EQ(BaseOf("b"), "b");
  EXPECT_EQ(WholeKey("b"), "feature.node.kubernetes.io/b");
  EXPECT_EQ(WholeKey("a.io/b"), "a.io/b");
}

TEST(NamesTest, TakesTheKeysThatKubernetesTakes) {
  for (const std::string& key :
       {std::string("a"), std::string("a.io/b-c_D.9"), std::string("9/9"),
        "a.io/" + std::string(63, 'x'), std::string("my-ns.example.com/name")}) {
    EXPECT_OK(CheckKey(key)) << key;
  }
  for (const std::string& key :
       {std::string(), std::string("/"), std::string("a/"), std::string("/a"),
        std::string("A.io/b"), std::string("a..io/b"), std::string("a/b/c"), std::string("-a"),
        std::string("a-"), std::string("a b"), std::string(64, 'x'), std::string(254, 'a') + "/b",
        std::string("a_b/c"), std::string("-a/c")}) {
    EXPECT_THAT(CheckKey(key), StatusIs(StatusCode::kInvalidArgument)) << key;
  }
}

TEST(NamesTest, TakesTheLabelValuesThatKubernetesTakes) {
  for (const std::string& value :
       {std::string(), std::string("a"), std::string("1.2-3_x"), std::string(63, 'x')}) {
    EXPECT_OK(CheckLabelValue(value)) << value;
  }
  for (const std::string& value : {std::string(" "), std::string("a b"), std::string(".a"),
                                   std::string("a."), std::string("@a"), std::string(64, 'x')}) {
    EXPECT_THAT(CheckLabelValue(value), StatusIs(StatusCode::kInvalidArgument)) << value;
  }
}

TEST(NamesTest, TakesWholeQuantities) {
  for (const std::string_view text : {"0", "8", "93Mi", "1k", "2e3", "2E+3", "1.5Gi", "1.5k",
                                      "0.5Ki", "10.0", "9223372036854775807", "7Ei"}) {
    EXPECT_OK(CheckWholeQuantity(text)) << text;
  }
  for (const std::string_view text :
       {"", "-1", "1.5", "100m", "1n", "Mi", "1Q", "1e", "1e99", "a", "1.2.3", ".", "0.3Ki", "8Ei",
        "9223372036854775808", "99999999999999999999", "1 ", "0x5"}) {
    EXPECT_THAT(CheckWholeQuantity(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

TEST(NamesTest, QuantitiesAreComparedByValue) {
  struct Case {
    std::string_view a;
    std::string_view b;
    bool is_same;
  };
  // The first is what a rule says, the second how a server may keep it.
  for (const Case& c : {Case{"1000", "1k", true},
                        {"2048Mi", "2Gi", true},
                        {"1.5Gi", "1536Mi", true},
                        {"2e3", "2k", true},
                        {"08", "8", true},
                        {"8.0", "8", true},
                        {"0", "0Ki", true},
                        {"1000E", "1000E", true},
                        {"x", "x", true},
                        {"1000", "1Ki", false},
                        {"1k", "1M", false},
                        {"8", "", false},
                        {"", "0", false},
                        {"x", "y", false},
                        {"8E", "8Ei", false},
                        {"99999999999999999999", "99999999999999999998", false}}) {
    EXPECT_EQ(IsSameQuantity(c.a, c.b), c.is_same) << c.a << " and " << c.b;
  }
}

TEST(NamesTest, KnowsWhatIsReservedForKubernetes) {
  for (const std::string_view reserved : {"kubernetes.io", "node.kubernetes.io",
                                          "a.b.kubernetes.io", "xfeature.node.kubernetes.io"}) {
    EXPECT_TRUE(IsReserved(reserved, NamespaceUse::kLabel)) << reserved;
    EXPECT_TRUE(IsReserved(reserved, NamespaceUse::kOther)) << reserved;
  }
  for (const std::string_view free : {"vendor.io", "feature.node.kubernetes.io", "nvidia.com",
                                      "x.feature.node.kubernetes.io", "mykubernetes.io"}) {
    EXPECT_FALSE(IsReserved(free, NamespaceUse::kLabel)) << free;
    EXPECT_FALSE(IsReserved(free, NamespaceUse::kOther)) << free;
  }
  EXPECT_FALSE(IsReserved("profile.node.kubernetes.io", NamespaceUse::kLabel));
  EXPECT_TRUE(IsReserved("profile.node.kubernetes.io", NamespaceUse::kOther));
}

}  // namespace
}  // namespace kgpu::labels
