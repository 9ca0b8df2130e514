#include "src/node/mig/model_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::mig {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint16_t kA100With80Gb = 0x20b2;

class ModelPlanTest : public ::testing::Test {
 protected:
  ModelPlanTest() {
    auto geometry = Geometry::OfModel(kA100With80Gb);
    EXPECT_OK(geometry);
    geometry_ = std::make_shared<const Geometry>(*std::move(geometry));
  }

  static std::vector<Entry> EntriesOf(const std::string& text) {
    const auto entries = ParseEntries(text);
    EXPECT_OK(entries);
    return entries.value_or(std::vector<Entry>{});
  }

  // The first memory slices of the instances, for each way.
  std::vector<std::vector<unsigned>> StartsOf(const std::string& text) const {
    std::vector<std::vector<unsigned>> starts;
    for (const auto& way : WaysToHave(*geometry_, EntriesOf(text))) {
      starts.emplace_back();
      for (const Instance& instance : way) {
        starts.back().push_back(instance.start);
      }
    }
    return starts;
  }

  PlannedGpus BestOf(size_t count, const std::string& present, const std::string& demand) const {
    const auto demands = DemandsOf(EntriesOf(demand));
    EXPECT_OK(demands);
    auto made = PlanBestOf(geometry_, count, WaysToHave(*geometry_, EntriesOf(present)),
                           demands.value_or(std::vector<Demand>{}));
    EXPECT_OK(made);
    return made.ok() ? *std::move(made) : PlannedGpus{};
  }

  std::shared_ptr<const Geometry> geometry_;
};

TEST_F(ModelPlanTest, AnInstanceWithoutAPlaceMayBeAtAnyTheLastFirst) {
  EXPECT_THAT(StartsOf("3g.40gb"), ElementsAre(ElementsAre(4), ElementsAre(0)));
}

TEST_F(ModelPlanTest, AnInstanceWithAPlaceIsThere) {
  EXPECT_THAT(StartsOf("3g.40gb@4"), ElementsAre(ElementsAre(4)));
  // The one with a place is placed first, whatever their order.
  EXPECT_THAT(StartsOf("3g.40gb,3g.40gb@4"), ElementsAre(ElementsAre(4, 0)));
}

TEST_F(ModelPlanTest, NothingIsOneWay) {
  EXPECT_THAT(WaysToHave(*geometry_, {}), ElementsAre(IsEmpty()));
}

TEST_F(ModelPlanTest, MoreThanAGpuHoldsIsNoWay) {
  EXPECT_THAT(WaysToHave(*geometry_, EntriesOf("3x3g.40gb")), IsEmpty());
  EXPECT_THAT(WaysToHave(*geometry_, EntriesOf("3g.40gb@1")), IsEmpty());
  EXPECT_THAT(WaysToHave(*geometry_, EntriesOf("9g.999gb")), IsEmpty());
}

TEST_F(ModelPlanTest, InstancesKeepTheirUse) {
  const auto ways = WaysToHave(*geometry_, EntriesOf("7g.80gb:movable"));
  ASSERT_THAT(ways, SizeIs(1));
  ASSERT_THAT(ways[0], SizeIs(1));
  EXPECT_EQ(ways[0][0].use, Use::kMovable);
}

TEST_F(ModelPlanTest, TakesTheWayThatDestroysNothing) {
  // A 1g.10gb within the last four slices leaves room for a 4g.40gb, which must be at 0.
  const PlannedGpus made = BestOf(1, "1g.10gb", "4g.40gb");
  EXPECT_TRUE(made.plan.is_feasible);
  EXPECT_EQ(made.plan.destroyed, 0U);
  ASSERT_THAT(made.gpus, SizeIs(1));
  ASSERT_THAT(made.gpus[0].instances, SizeIs(1));
  EXPECT_GE(made.gpus[0].instances[0].start, 4U);
}

TEST_F(ModelPlanTest, OnlyTheFirstGpuHasInstances) {
  const PlannedGpus made = BestOf(2, "7g.80gb", "7g.80gb");
  EXPECT_TRUE(made.plan.is_feasible) << made.plan.reason;
  ASSERT_THAT(made.gpus, SizeIs(2));
  EXPECT_THAT(made.gpus[0].instances, SizeIs(1));
  EXPECT_THAT(made.gpus[1].instances, IsEmpty());
  ASSERT_THAT(made.plan.changes, SizeIs(1));
  EXPECT_EQ(made.plan.changes[0].gpu, 1U);
}

TEST_F(ModelPlanTest, SaysWhyNoWayIsFeasible) {
  const PlannedGpus made = BestOf(1, "7g.80gb", "1g.10gb");
  EXPECT_FALSE(made.plan.is_feasible);
  EXPECT_FALSE(made.plan.reason.empty());
}

TEST(PlanModelTest, PlansForAModelThatThisHostLacks) {
  const auto made = PlanModel({.model = "A100-80GB", .have = "3g.40gb", .profiles = "4g.40gb"});
  ASSERT_OK(made);
  EXPECT_EQ(made->model, "A100-80GB");
  EXPECT_THAT(made->planned.gpus, SizeIs(1));
  EXPECT_TRUE(made->planned.plan.is_feasible);
}

TEST(PlanModelTest, NamesTheFlagThatIsWrong) {
  for (const auto& [request, why] : std::vector<std::pair<ModelRequest, std::string>>{
           {{.model = "A100-80GB"}, "--model: give --profiles"},
           {{.model = "X", .profiles = "1g.10gb"}, "--model: "},
           {{.model = "A100-80GB", .profiles = "1g"}, "--profiles: "},
           {{.model = "A100-80GB", .profiles = "1g.18gb"},
            "A100-80GB has no profile 1g.18gb; it has "},
           {{.model = "A100-80GB", .have = "?", .profiles = "1g.10gb"}, "--have: "},
           {{.model = "A100-80GB", .have = "9x1g.10gb", .profiles = "1g.10gb"},
            "--have: no GPU of this model can have 9x1g.10gb"}}) {
    EXPECT_THAT(Message(PlanModel(request).status()), ::testing::HasSubstr(why));
  }
}

}  // namespace
}  // namespace kgpu::mig
