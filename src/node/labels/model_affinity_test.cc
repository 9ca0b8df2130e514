#include "src/node/labels/model_affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace kgpu::labels {
namespace {

namespace json = boost::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(ModelAffinityTest, AModelIsFoundByEitherLabel) {
  const std::vector<json::array> terms = ModelTerms("A100-SXM4-80GB", 40'960);
  ASSERT_THAT(terms, SizeIs(2));
  EXPECT_EQ(terms[0], json::parse(R"([
      {"key": "kgpu.dev/gpu.model.A100-SXM4-80GB.count", "operator": "Exists"},
      {"key": "kgpu.dev/gpu.model.A100-SXM4-80GB.memory", "operator": "Gt", "values": ["40959"]}
  ])"));
  EXPECT_THAT(json::serialize(terms[1]), HasSubstr("\"NVIDIA-A100-SXM4-80GB-SHARED\""));
  EXPECT_THAT(ProductsOf("T4"), Contains("Tesla-T4"));
}

TEST(ModelAffinityTest, NoNodeHasALabelThatKubernetesRefuses) {
  EXPECT_THAT(ModelTerms(std::string(50, 'A'), 0), SizeIs(1));
}

TEST(ModelAffinityTest, AnyModelIsJudgedByItsMemory) {
  const std::vector<json::array> terms = ModelTerms("", 1);
  ASSERT_THAT(terms, SizeIs(1));
  EXPECT_EQ(json::serialize(terms[0]),
            R"([{"key":"nvidia.com/gpu.memory","operator":"Gt","values":["0"]}])");
}

TEST(ModelAffinityTest, WeightsFallAndStayValid) {
  EXPECT_EQ(PreferredTerm({}, 0).at("weight"), 100);
  EXPECT_EQ(PreferredTerm({}, 1).at("weight"), 90);
  EXPECT_EQ(PreferredTerm({}, 255).at("weight"), 1);
}

TEST(ModelAffinityTest, WithoutTermsThereIsNoAffinity) {
  EXPECT_THAT(NodeAffinity({}, {}), IsEmpty());
  const json::object affinity = NodeAffinity({RequiredTerm({WithoutModelRule("T4")})}, {});
  EXPECT_THAT(json::serialize(affinity), HasSubstr("\"kgpu.dev/gpu.model.T4.count\""));
  EXPECT_THAT(json::serialize(affinity), Not(HasSubstr("preferred")));
}

}  // namespace
}  // namespace kgpu::labels
